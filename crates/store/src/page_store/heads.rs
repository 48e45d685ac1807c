//! What did servers say about pages when these were stored? Only the beginnings of records are read: a batch wants the heads of very
//! many, and the body of none.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use flate2::bufread::GzDecoder;

use super::location::file_name;
use super::{PageLocation, PageStore};
use crate::error::Result;
use crate::warc::{WarcHeader, head_bytes};

/// So much of a record is read, compressed...
const READ_BYTES: usize = 8 << 10;
/// ... and so much of it decompressed. A longer head is left alone.
const HEAD_BYTES: usize = 64 << 10;
const STEP_BYTES: usize = 2 << 10;

impl PageStore {
    /// Calls `each` with the number of a place, the fields of its record and the head of its answer. Places in their order
    /// are read from front to back. A record that cannot be read is passed over: that is for `check` to report.
    pub fn heads(
        &mut self,
        places: &[PageLocation],
        mut each: impl FnMut(usize, &WarcHeader, &[u8]),
    ) -> Result<()> {
        if let Some(current) = &mut self.current {
            current.file.write_pending()?;
        }
        let mut open: Option<(u32, Option<File>)> = None;
        let (mut raw, mut bytes) = (Vec::new(), Vec::new());
        for (number, place) in places.iter().enumerate() {
            if open.as_ref().is_none_or(|(id, _)| *id != place.file) {
                let path = self.folder.join("pages").join(file_name(place.file));
                open = Some((place.file, File::open(path).ok()));
            }
            let Some((_, Some(file))) = &open else { continue };
            if let Some(start) = read_beginning(file, place, &mut raw, &mut bytes)
                && let Ok((header, block)) = WarcHeader::parse(start)
            {
                let block = &start[block..];
                each(number, &header, &block[..head_bytes(block)]);
            }
        }
        Ok(())
    }
}

/// The beginning of a record, as far as the end of the answer's head.
fn read_beginning<'b>(
    file: &File,
    place: &PageLocation,
    raw: &mut Vec<u8>,
    bytes: &'b mut Vec<u8>,
) -> Option<&'b [u8]> {
    raw.resize((place.length as usize).min(READ_BYTES), 0);
    file.read_exact_at(raw, place.offset).ok()?;
    let mut decoder = GzDecoder::new(raw.as_slice());
    bytes.clear();
    while bytes.len() < HEAD_BYTES {
        let read = decoder.by_ref().take(STEP_BYTES as u64).read_to_end(bytes);
        // The record's own header ends with an empty line, and the head of the answer with another.
        if bytes.windows(4).filter(|four| four == b"\r\n\r\n").count() >= 2 {
            return Some(bytes);
        }
        match read {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
    }
    None
}
