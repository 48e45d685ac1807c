//! Log of the changes since the last checkpoint: an append-only file of frames (see [`crate::file::frames`]), at least one
//! for each commit with changes. A later frame overrides an earlier one.
//!
//! The payload of a frame:
//!
//! ```text
//! u8       1, the version of this format
//! u32      number of records, at most 65,536
//! u32      length of the rest before compression
//! zstd     the ids of the records in ascending order, each as a varint: the first itself, then differences;
//!          then column after column the values of these records
//! ```
//!
//! Whole records are logged: a fetch changes most fields, and fields that are still zero compress to almost nothing.

use std::collections::BTreeMap;

use super::{GROUP_RECORDS, Schema};
use crate::error::{Error, Result};
use crate::file::append_file::AppendFile;
use crate::file::frames::append_frame;
use crate::file::varint;

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 9;
/// The log is rarely read, so speed matters more than size.
const ZSTD_LEVEL: i32 = 1;

/// Appends the records of `ids`, which ascend and are all in `rows`, as one frame.
pub(crate) fn append<const N: usize>(
    file: &mut AppendFile,
    ids: &[u32],
    rows: &BTreeMap<u32, [u8; N]>,
    schema: &Schema,
) -> Result<()> {
    let rows: Vec<(u32, &[u8; N])> = ids.iter().filter_map(|id| Some((*id, rows.get(id)?))).collect();
    debug_assert!(rows.len() == ids.len() && rows.len() <= GROUP_RECORDS);
    let mut body = Vec::with_capacity(rows.len() * (N + 2));
    let mut last = 0;
    for (id, _) in &rows {
        varint::put(&mut body, u64::from(id - last));
        last = *id;
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

/// Decodes the records of a frame by ascending id; the error is the cause.
pub(crate) fn decode<const N: usize>(
    payload: &[u8],
    schema: &Schema,
) -> std::result::Result<Vec<(u32, [u8; N])>, String> {
    let (header, compressed) = payload.split_at_checked(HEADER_BYTES).ok_or("truncated frame")?;
    let [version, c0, c1, c2, c3, l0, l1, l2, l3] = *header else { return Err("truncated frame".to_owned()) };
    if version != VERSION {
        return Err(format!("version {version}, expected {VERSION}"));
    }
    let count = u32::from_le_bytes([c0, c1, c2, c3]) as usize;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if count > GROUP_RECORDS || length > count * (N + varint::MAX_BYTES) {
        return Err(format!("impossible size: {count} records in {length} bytes"));
    }
    let body = zstd::bulk::decompress(compressed, length).map_err(|error| error.to_string())?;
    let mut rest = &body[..];
    let mut entries = Vec::with_capacity(count);
    let mut id = 0u32;
    for _ in 0..count {
        let step = varint::take(&mut rest).and_then(|step| u32::try_from(step).ok());
        id = step.and_then(|step| id.checked_add(step)).ok_or("invalid record id")?;
        entries.push((id, [0; N]));
    }
    if rest.len() != count * N {
        return Err(format!("{} bytes for {count} records", rest.len()));
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
