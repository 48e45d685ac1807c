//! What was made of each page when it was last looked at? By this the next run knows what is new, has changed or is gone.
//!
//! One row per page id, in files of [`PART_PAGES`] rows; a run writes those anew in which something has changed.

use std::path::Path;

use crate::error::{Error, Result};
use crate::left_out::LeftOut;
use crate::text_folder::{read_whole, write_whole};

/// So many pages share a file.
pub(crate) const PART_PAGES: usize = 1 << 18;

const ROW_BYTES: usize = 17;

/// One page, as it was seen last; the default is a page that was never looked at, or that is not in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    /// A hash of its content.
    pub(crate) content: u32,
    /// A hash of the words by which others link to it; 0 for none.
    pub(crate) anchors: u32,
    /// The length of its record in the page store: that changes with each visit that brought content, the same or another.
    pub(crate) record_bytes: u32,
    /// When it asks not to be found any more, in Unix seconds; 0 for never.
    pub(crate) until_s: u32,
    /// What came of it.
    pub(crate) state: State,
}

/// What came of a look at a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub(crate) enum State {
    /// It is not in the index, and was not read.
    #[default]
    Absent = 0,
    /// It is in the index.
    Indexed = 1,
    /// It was read and asks not to be found.
    Noindex = 2,
    /// It was read and is no text.
    NotText = 3,
    /// What is stored of it cannot be read.
    Damaged = 4,
}

impl State {
    /// Why it is not in the index, if it was read.
    pub(crate) fn left_out(self) -> Option<LeftOut> {
        match self {
            State::Absent | State::Indexed => None,
            State::Noindex => Some(LeftOut::Noindex),
            State::NotText => Some(LeftOut::NotText),
            State::Damaged => Some(LeftOut::Damaged),
        }
    }

    fn from_byte(byte: u8) -> State {
        match byte {
            1 => State::Indexed,
            2 => State::Noindex,
            3 => State::NotText,
            4 => State::Damaged,
            _ => State::Absent,
        }
    }
}

impl Seen {
    /// Whether it is in the index, and asked to be found until a moment that is over.
    pub(crate) fn is_over(&self, now_s: i64) -> bool {
        self.state == State::Indexed && self.until_s != 0 && i64::from(self.until_s) <= now_s
    }

    fn to_bytes(self) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        bytes[..4].copy_from_slice(&self.content.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.anchors.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.record_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.until_s.to_le_bytes());
        bytes[16] = self.state as u8;
        bytes
    }

    fn from_bytes(bytes: &[u8; ROW_BYTES]) -> Seen {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Seen {
            content: number(0),
            anchors: number(4),
            record_bytes: number(8),
            until_s: number(12),
            state: State::from_byte(bytes[16]),
        }
    }
}

/// The earlier of two moments, each of which may be none: 0.
pub(crate) fn earlier(one_s: u32, other_s: u32) -> u32 {
    if one_s == 0 || other_s == 0 { one_s.max(other_s) } else { one_s.min(other_s) }
}

/// The rows of a part.
pub(crate) fn read_part(path: &Path) -> Result<Vec<Seen>> {
    let bytes = read_whole(path)?;
    let (rows, rest) = bytes.as_chunks::<ROW_BYTES>();
    if !rest.is_empty() || rows.len() > PART_PAGES {
        return Err(Error::Unreadable { what: format!("{} has another length", path.display()) });
    }
    Ok(rows.iter().map(Seen::from_bytes).collect())
}

/// Writes the rows of a part.
pub(crate) fn write_part(path: &Path, rows: &[Seen]) -> Result<()> {
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_bytes()).collect();
    write_whole(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages");
        let states = [State::Absent, State::Indexed, State::Noindex, State::NotText, State::Damaged];
        let row = |n: u32| Seen {
            content: n,
            anchors: n * 3,
            record_bytes: n * 7,
            until_s: n * 11,
            state: states[n as usize % 5],
        };
        let rows: Vec<Seen> = (0..400).map(row).collect();
        write_part(&path, &rows).unwrap();
        assert_eq!(read_part(&path).unwrap(), rows);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[77] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(read_part(&path), Err(Error::Unreadable { .. })));
        std::fs::write(&path, b"").unwrap();
        assert!(matches!(read_part(&path), Err(Error::Unreadable { .. })));
    }
}
