//! Where does a record lie? In a file, from a byte on, so many bytes: one read fetches it.

use serde::{Deserialize, Serialize};

/// A place in the page store. Places are in crawl order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct PageLocation {
    /// Which file: its number, and in the lowest ten bits how often it was rewritten.
    pub file: u32,
    /// Where the record's gzip member starts.
    pub offset: u64,
    /// How long the member is.
    pub length: u32,
}

const REWRITE_BITS: u32 = 10;
const REWRITE_MASK: u32 = (1 << REWRITE_BITS) - 1;

/// Files are numbered below this.
pub(crate) const MAX_NUMBER: u32 = u32::MAX >> REWRITE_BITS;

impl PageLocation {
    /// The start of a file of this number that was never rewritten.
    pub fn in_numbered_file(number: u32) -> PageLocation {
        PageLocation { file: numbered_file(number), offset: 0, length: 0 }
    }

    /// Name of the file in the folder `pages`.
    pub fn file_name(&self) -> String {
        file_name(self.file)
    }

    pub(crate) fn parse(file_name: &str, offset: &str, length: &str) -> Result<PageLocation, String> {
        let file = parse_file_name(file_name).ok_or_else(|| format!("`{file_name}` is no name of a file"))?;
        match (offset.parse(), length.parse()) {
            (Ok(offset), Ok(length)) => Ok(PageLocation { file, offset, length }),
            _ => Err(format!("`{offset}`, `{length}` are no place")),
        }
    }
}

/// The file with this number, not yet rewritten.
pub(crate) fn numbered_file(number: u32) -> u32 {
    number << REWRITE_BITS
}

/// The number of a file.
pub(crate) fn number_of(file: u32) -> u32 {
    file >> REWRITE_BITS
}

/// Whether it was written by a crawl, and not by a compaction.
pub(crate) fn is_first_writing(file: u32) -> bool {
    file & REWRITE_MASK == 0
}

/// The file that takes the place of this one, unless it was rewritten too often.
pub(crate) fn rewritten(file: u32) -> Option<u32> {
    (file & REWRITE_MASK < REWRITE_MASK).then(|| file + 1)
}

pub(crate) fn file_name(file: u32) -> String {
    let number = number_of(file);
    match file & REWRITE_MASK {
        0 => format!("weir-{number:06}.warc.gz"),
        rewrite => format!("weir-{number:06}-r{rewrite}.warc.gz"),
    }
}

pub(crate) fn parse_file_name(name: &str) -> Option<u32> {
    let stem = name.strip_prefix("weir-")?.strip_suffix(".warc.gz")?;
    let (number, rewrite) = stem.split_once("-r").unwrap_or((stem, "0"));
    let (number, rewrite): (u32, u32) = (number.parse().ok()?, rewrite.parse().ok()?);
    (number <= MAX_NUMBER && rewrite <= REWRITE_MASK).then_some(number << REWRITE_BITS | rewrite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_go_together() {
        let first = numbered_file(7);
        let second = rewritten(first).unwrap();
        assert_eq!(file_name(first), "weir-000007.warc.gz");
        assert_eq!(file_name(second), "weir-000007-r1.warc.gz");
        for file in [first, second, numbered_file(MAX_NUMBER), u32::MAX] {
            assert_eq!(parse_file_name(&file_name(file)), Some(file));
        }
        assert_eq!(rewritten(u32::MAX), None);
        for name in ["", "weir-.warc.gz", "weir-1-r1024.warc.gz", "weir-4194304.warc.gz", "other-1.warc.gz"] {
            assert_eq!(parse_file_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_rewritten_file_stays_at_its_place_in_crawl_order() {
        let [a, b] = [numbered_file(1), numbered_file(2)];
        assert!(a < rewritten(a).unwrap() && rewritten(a).unwrap() < b);
    }
}
