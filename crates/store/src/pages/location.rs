//! Location of a record in the page store: file, offset and length; one read fetches the record.

use serde::{Deserialize, Serialize};

use crate::manifest::{FileEntry, Manifest};

/// Location of a record; ordered as crawled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RecordLocation {
    /// File: its number, and in the lowest ten bits how often it was rewritten.
    pub file: u32,
    /// Start of the gzip member of the record.
    pub offset: u64,
    /// Compressed size of the member.
    pub length: u32,
}

const REWRITE_BITS: u32 = 10;
const REWRITE_MASK: u32 = (1 << REWRITE_BITS) - 1;

/// Maximum number of a file.
pub(crate) const MAX_NUMBER: u32 = u32::MAX >> REWRITE_BITS;

impl RecordLocation {
    /// Start of the file with this number that was never rewritten.
    pub fn in_numbered_file(number: u32) -> RecordLocation {
        RecordLocation { file: numbered_file(number), offset: 0, length: 0 }
    }

    /// Name of the file below `pages/`.
    pub fn file_name(&self) -> String {
        file_name(self.file)
    }

    pub(crate) fn parse(file_name: &str, offset: u64, length: u32) -> Result<RecordLocation, String> {
        let file = parse_file_name(file_name)
            .ok_or_else(|| format!("`{file_name}` is not the name of a page file"))?;
        Ok(RecordLocation { file, offset, length })
    }
}

/// File with a number, not yet rewritten.
pub(crate) fn numbered_file(number: u32) -> u32 {
    number << REWRITE_BITS
}

/// Number of a file.
pub(crate) fn number_of(file: u32) -> u32 {
    file >> REWRITE_BITS
}

/// Whether a file was written by a crawl, not by a compaction.
pub(crate) fn is_first_writing(file: u32) -> bool {
    file & REWRITE_MASK == 0
}

/// File that replaces this one; `None` if it was rewritten too often.
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

/// WARC files of a manifest, in crawl order.
pub(crate) fn warc_files(manifest: &Manifest) -> impl Iterator<Item = (u32, FileEntry)> {
    manifest
        .files_in("pages")
        .filter_map(|entry| Some((parse_file_name(entry.name.strip_prefix("pages/")?)?, entry.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_formatted_and_parsed() {
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
    fn a_rewritten_file_keeps_its_position_in_crawl_order() {
        let [a, b] = [numbered_file(1), numbered_file(2)];
        assert!(a < rewritten(a).unwrap() && rewritten(a).unwrap() < b);
    }
}
