//! Reader of stored response heads, without the bodies. The manager needs the heads of many pages, for conditional requests.

use std::io::Read;
use std::os::unix::fs::FileExt;

use flate2::bufread::GzDecoder;

use super::location::file_name;
use super::{PageStore, RecordLocation};
use crate::disk::File;
use crate::error::Result;
use warc::{WarcHeader, head_bytes};

/// Compressed bytes read of each record.
const READ_BYTES: usize = 8 << 10;
/// Maximum size of the decompressed headers; longer ones are skipped.
const MAX_HEAD_BYTES: usize = 64 << 10;
const STEP_BYTES: usize = 2 << 10;

impl PageStore {
    /// Calls `visit` with the index of a location, the header of its record and the head of the response. Sorted
    /// locations are read sequentially. A record that cannot be read is skipped; `weir check` reports it.
    pub fn read_response_heads(
        &mut self,
        locations: &[RecordLocation],
        mut visit: impl FnMut(usize, &WarcHeader, &[u8]),
    ) -> Result<()> {
        if let Some(current) = &mut self.current {
            current.file.write_pending()?;
        }
        let mut open: Option<(u32, Option<File>)> = None;
        let (mut raw, mut bytes) = (Vec::new(), Vec::new());
        for (index, location) in locations.iter().enumerate() {
            if open.as_ref().is_none_or(|(id, _)| *id != location.file) {
                let path = self.dir.join("pages").join(file_name(location.file));
                open = Some((location.file, File::open(&path).ok()));
            }
            let Some((_, Some(file))) = &open else { continue };
            if let Some(start) = read_beginning(file, location, &mut raw, &mut bytes)
                && let Ok((header, block)) = WarcHeader::parse(start)
            {
                let block = &start[block..];
                visit(index, &header, &block[..head_bytes(block)]);
            }
        }
        Ok(())
    }
}

/// Reads the start of a record, up to the end of the response head.
fn read_beginning<'b>(
    file: &File,
    location: &RecordLocation,
    raw: &mut Vec<u8>,
    bytes: &'b mut Vec<u8>,
) -> Option<&'b [u8]> {
    raw.resize((location.length as usize).min(READ_BYTES), 0);
    file.read_exact_at(raw, location.offset).ok()?;
    let mut decoder = GzDecoder::new(raw.as_slice());
    bytes.clear();
    while bytes.len() < MAX_HEAD_BYTES {
        let read = decoder.by_ref().take(STEP_BYTES as u64).read_to_end(bytes);
        // One empty line ends the header of the record, a second one the head of the response.
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
