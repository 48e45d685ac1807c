//! What has changed since the last checkpoint: a growing file of frames (see [`crate::frames`]), at least one for each
//! commit that changed something. A later frame overrules an earlier one.
//!
//! The payload of a frame:
//!
//! ```text
//! u8       1, the version of this format
//! u32      number of records, at most 65,536
//! u32      length of the rest before compression
//! zstd     the numbers of the records in ascending order, each as a varint: the first itself, then differences;
//!          then column after column the values of these records
//! ```
//!
//! Whole records are logged, changed fields or not: a fetch changes most of them, and those that are still zero cost
//! next to nothing once the columns are compressed.

use std::collections::BTreeMap;

use super::{GROUP_RECORDS, Schema};
use crate::error::{Error, Result};
use crate::frames::append_frame;
use crate::growing::GrowingFile;
use crate::varint;

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 9;
/// The log is written once and read after a crash: speed counts.
const ZSTD_LEVEL: i32 = 1;

/// Appends the records of `numbers`, which ascend and are all in `rows`, as one frame.
pub(super) fn append<const N: usize>(
    file: &mut GrowingFile,
    numbers: &[u32],
    rows: &BTreeMap<u32, [u8; N]>,
    schema: &Schema,
) -> Result<()> {
    let rows: Vec<(u32, &[u8; N])> =
        numbers.iter().filter_map(|number| Some((*number, rows.get(number)?))).collect();
    debug_assert!(rows.len() == numbers.len() && rows.len() <= GROUP_RECORDS);
    let mut body = Vec::with_capacity(rows.len() * (N + 2));
    let mut last = 0;
    for (number, _) in &rows {
        varint::put(&mut body, u64::from(number - last));
        last = *number;
    }
    for column in 0..schema.column_bytes.len() {
        let range = schema.column_range(column);
        rows.iter().for_each(|(_, row)| body.extend_from_slice(&row[range.clone()]));
    }
    let compressed = zstd::bulk::compress(&body, ZSTD_LEVEL).map_err(|source| Error::Io {
        operation: "compress for",
        path: file.path().to_owned(),
        source,
    })?;
    let mut payload = Vec::with_capacity(HEADER_BYTES + compressed.len());
    payload.push(VERSION);
    payload.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
    payload.extend_from_slice(&compressed);
    append_frame(file, &payload)?;
    Ok(())
}

/// The records of a frame by ascending number; the error says what is wrong with it.
pub(super) fn decode<const N: usize>(
    payload: &[u8],
    schema: &Schema,
) -> std::result::Result<Vec<(u32, [u8; N])>, String> {
    let (header, compressed) = payload.split_at_checked(HEADER_BYTES).ok_or("it is too short")?;
    let [version, c0, c1, c2, c3, l0, l1, l2, l3] = *header else { return Err("it is too short".to_owned()) };
    if version != VERSION {
        return Err(format!("it has version {version}, and this program knows {VERSION}"));
    }
    let count = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if count > GROUP_RECORDS || length > count * (N + varint::MAX_BYTES) {
        return Err(format!("it claims {count} records in {length} bytes"));
    }
    let body = zstd::bulk::decompress(compressed, length).map_err(|error| error.to_string())?;
    let mut rest = &body[..];
    let mut entries = Vec::with_capacity(count);
    let mut number = 0u32;
    for _ in 0..count {
        let step = varint::take(&mut rest).and_then(|step| u32::try_from(step).ok());
        number = step.and_then(|step| number.checked_add(step)).ok_or("a record's number is too large")?;
        entries.push((number, [0; N]));
    }
    if rest.len() != count * N {
        return Err(format!("it has {} bytes for {count} records", rest.len()));
    }
    for (column, width) in schema.column_bytes.iter().enumerate() {
        let range = schema.column_range(column);
        let (values, later) = rest.split_at(count * width);
        for ((_, row), value) in entries.iter_mut().zip(values.chunks_exact(*width)) {
            row[range.clone()].copy_from_slice(value);
        }
        rest = later;
    }
    Ok(entries)
}
