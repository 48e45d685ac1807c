//! How are many records read by few reads? Those that lie near to each other are fetched together.

use std::ops::Range;

use super::cursor::PageRef;
use crate::error::Result;
use crate::pages::{PageStoreReader, RecordLocation};

/// So much is fetched by one read, if a record is not longer itself.
const CHUNK_BYTES: u64 = 256 << 10;

/// A gap of this size is read along rather than jumped over.
const GAP_BYTES: u64 = 16 << 10;

/// A piece of a file.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    file: u32,
    from: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// Where in [`ReadAhead::bytes`] the member of the first of these places lies; with the others in mind, it is read.
    pub(super) fn read_member(
        &mut self,
        bodies: &PageStoreReader,
        places: &[PageRef],
    ) -> Result<Range<usize>> {
        let Some(PageRef { location, .. }) = places.first() else { return Ok(0..0) };
        if let Some(range) = self.find(location) {
            return Ok(range);
        }
        // What was read before is gone even if this fails.
        (self.file, self.from) = (location.file, location.offset);
        let whole = bodies.read_chunk(location, piece_bytes(places), &mut self.bytes);
        if whole.is_err() {
            self.bytes.clear();
            // It may be one of the others that cannot be read.
            bodies.read_chunk(location, location.length as usize, &mut self.bytes)?;
        }
        Ok(0..location.length as usize)
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    fn find(&self, location: &RecordLocation) -> Option<Range<usize>> {
        let start = usize::try_from(location.offset.checked_sub(self.from)?).ok()?;
        let end = start.checked_add(location.length as usize)?;
        (location.file == self.file && end <= self.bytes.len()).then_some(start..end)
    }
}

/// From the start of the first record to the end of the last that is near enough.
fn piece_bytes(places: &[PageRef]) -> usize {
    let Some((first, others)) = places.split_first() else { return 0 };
    let end_of = |location: &RecordLocation| location.offset + u64::from(location.length);
    let mut end = end_of(&first.location);
    for PageRef { location, .. } in others {
        let near = location.file == first.location.file
            && location.offset >= end
            && location.offset - end <= GAP_BYTES
            && end_of(location) - first.location.offset <= CHUNK_BYTES;
        if !near {
            break;
        }
        end = end_of(location);
    }
    (end - first.location.offset) as usize
}
