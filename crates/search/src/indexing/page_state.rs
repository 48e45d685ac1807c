//! State of each page at its last indexing, by which the next run finds new, changed and removed pages.
//!
//! One row per page id, in files of [`RANGE_PAGES`] rows; a run rewrites the files with changes.

use std::path::Path;

use crate::error::{Error, Result};
use crate::index::exclusion::Exclusion;
use crate::index::index_dir::{read_checksummed, write_checksummed};

/// Number of pages per file.
pub(crate) const RANGE_PAGES: usize = 1 << 18;

const ROW_BYTES: usize = 17;

/// State of one page; the default is a page that was never read and is not in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexedState {
    /// Hash of the content.
    pub(crate) content_hash: u32,
    /// Hash of the anchor texts of its inlinks; 0 for none.
    pub(crate) anchor_hash: u32,
    /// Length of its WARC record, which reveals a new record with the same content.
    pub(crate) record_bytes: u32,
    /// `unavailable_after`, in Unix seconds; 0 for none.
    pub(crate) expires_s: u32,
    /// Outcome of the last run.
    pub(crate) status: PageStatus,
}

/// Outcome of indexing a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum PageStatus {
    /// Not in the index, and not read.
    #[default]
    Absent = 0,
    /// In the index.
    Indexed = 1,
    /// Excluded by noindex.
    Noindex = 2,
    /// Neither HTML nor plain text.
    NotText = 3,
    /// The stored record cannot be read.
    Damaged = 4,
}

impl PageStatus {
    /// Reason of the exclusion, if the page was read.
    pub(crate) fn exclusion(self) -> Option<Exclusion> {
        match self {
            PageStatus::Absent | PageStatus::Indexed => None,
            PageStatus::Noindex => Some(Exclusion::Noindex),
            PageStatus::NotText => Some(Exclusion::NotText),
            PageStatus::Damaged => Some(Exclusion::Damaged),
        }
    }

    fn from_byte(byte: u8) -> PageStatus {
        match byte {
            1 => PageStatus::Indexed,
            2 => PageStatus::Noindex,
            3 => PageStatus::NotText,
            4 => PageStatus::Damaged,
            _ => PageStatus::Absent,
        }
    }
}

impl IndexedState {
    /// Whether the page is in the index and its `unavailable_after` has passed.
    pub(crate) fn is_expired(&self, now_s: i64) -> bool {
        self.status == PageStatus::Indexed && self.expires_s != 0 && i64::from(self.expires_s) <= now_s
    }

    fn to_bytes(self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        bytes[..4].copy_from_slice(&self.content_hash.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.anchor_hash.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.record_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.expires_s.to_le_bytes());
        bytes[16] = self.status as u8;
        bytes
    }

    fn from_bytes(bytes: &[u8; ROW_BYTES]) -> IndexedState {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        IndexedState {
            content_hash: number(0),
            anchor_hash: number(4),
            record_bytes: number(8),
            expires_s: number(12),
            status: PageStatus::from_byte(bytes[16]),
        }
    }
}

/// The earlier of two times; 0 means none.
pub(crate) fn earliest_expiry(one_s: u32, other_s: u32) -> u32 {
    if one_s == 0 || other_s == 0 { one_s.max(other_s) } else { one_s.min(other_s) }
}

/// Reads the rows of a range.
pub(crate) fn read_range(path: &Path) -> Result<Vec<IndexedState>> {
    let bytes = read_checksummed(path, RANGE_PAGES * ROW_BYTES)?;
    let (rows, rest) = bytes.as_chunks::<ROW_BYTES>();
    if !rest.is_empty() || rows.len() > RANGE_PAGES {
        return Err(Error::Unreadable { reason: format!("{} has an invalid length", path.display()) });
    }
    Ok(rows.iter().map(IndexedState::from_bytes).collect())
}

/// Writes the rows of a range.
pub(crate) fn write_range(path: &Path, rows: &[IndexedState]) -> Result<()> {
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_bytes()).collect();
    write_checksummed(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_back_and_damage_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pages");
        let statuses = [
            PageStatus::Absent,
            PageStatus::Indexed,
            PageStatus::Noindex,
            PageStatus::NotText,
            PageStatus::Damaged,
        ];
        let row = |n: u32| IndexedState {
            content_hash: n,
            anchor_hash: n * 3,
            record_bytes: n * 7,
            expires_s: n * 11,
            status: statuses[n as usize % 5],
        };
        let rows: Vec<IndexedState> = (0..400).map(row).collect();
        write_range(&path, &rows).unwrap();
        assert_eq!(read_range(&path).unwrap(), rows);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[77] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(read_range(&path), Err(Error::Unreadable { .. })));
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(read_range(&path), Err(Error::Unreadable { .. })));
    }
}
