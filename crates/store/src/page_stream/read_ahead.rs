//! Read-ahead of records: records close to each other are read together.

use std::ops::Range;

use super::cursor::PageRef;
use crate::error::Result;
use crate::pages::{PageStoreReader, RecordLocation};

/// Maximum size of one read, unless a single record is larger.
const CHUNK_BYTES: u64 = 256 << 10;

/// Maximum gap between records in one read; reading it is cheaper than another read.
const GAP_BYTES: u64 = 16 << 10;

/// Part of a file in memory.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    file: u32,
    start: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// Reads the gzip member of the first page, together with the following ones if they are close. Returns its range in
    /// [`ReadAhead::bytes`].
    pub(super) fn read_member(
        &mut self,
        page_store: &PageStoreReader,
        pages: &[PageRef],
    ) -> Result<Range<usize>> {
        let Some(PageRef { location, .. }) = pages.first() else { return Ok(0..0) };
        if let Some(range) = self.find(location) {
            return Ok(range);
        }
        // Set before the read: the previous content is lost even if it fails.
        (self.file, self.start) = (location.file, location.offset);
        let chunk = page_store.read_chunk(location, chunk_bytes(pages), &mut self.bytes);
        if chunk.is_err() {
            self.bytes.clear();
            // Another record of the chunk may be unreadable: read this one alone.
            page_store.read_chunk(location, location.length as usize, &mut self.bytes)?;
        }
        Ok(0..location.length as usize)
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    fn find(&self, location: &RecordLocation) -> Option<Range<usize>> {
        let start = usize::try_from(location.offset.checked_sub(self.start)?).ok()?;
        let end = start.checked_add(location.length as usize)?;
        (location.file == self.file && end <= self.bytes.len()).then_some(start..end)
    }
}

/// Size from the start of the first record to the end of the last that is close enough.
fn chunk_bytes(pages: &[PageRef]) -> usize {
    let Some((first, others)) = pages.split_first() else { return 0 };
    let end_of = |location: &RecordLocation| location.offset + u64::from(location.length);
    let mut end = end_of(&first.location);
    for PageRef { location, .. } in others {
        let is_close = location.file == first.location.file
            && location.offset >= end
            && location.offset - end <= GAP_BYTES
            && end_of(location) - first.location.offset <= CHUNK_BYTES;
        if !is_close {
            break;
        }
        end = end_of(location);
    }
    (end - first.location.offset) as usize
}
