//! Reader of the anchor texts of the last analysis (table `anchors`).
//!
//! The table is sorted by page, so that a range of pages is in a few row groups.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use store::{AnchorRows, TableReader};

use crate::error::Result;

/// Maximum size of the anchor texts of one page.
const MAX_ANCHOR_BYTES: usize = 2 << 10;

/// Open table of anchor texts.
pub(crate) struct AnchorReader {
    table: TableReader<AnchorRows>,
    /// First and last page of each row group.
    row_groups: Vec<(u32, u32)>,
}

impl AnchorReader {
    /// Opens the table of the last analysis; `None` if there is none.
    pub(crate) fn open(dir: &Path) -> Result<Option<AnchorReader>> {
        let table = TableReader::open_derived(dir)?;
        Ok(table.map(|table| AnchorReader { table, row_groups: Vec::new() }))
    }

    /// Reads the page range of each row group; required before [`AnchorReader::read`].
    pub(crate) fn load_row_groups(self) -> Result<AnchorReader> {
        let table = self.table.with_columns(&["page_id"]);
        let mut row_groups = Vec::with_capacity(table.groups());
        for group in 0..table.groups() {
            let (mut first, mut last) = (u32::MAX, 0);
            table.for_each(group, |row| (first, last) = (first.min(row.page_id), last.max(row.page_id)))?;
            row_groups.push((first, last));
        }
        Ok(AnchorReader { table: table.with_columns(&["page_id", "anchor", "link_count"]), row_groups })
    }

    /// The analysed commit.
    pub(crate) fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// Returns the anchor texts of a range of pages, one per line. A text is repeated by the logarithm of the number of its links, so that
    /// the name by which most links call a page has the highest frequency.
    pub(crate) fn read(&self, pages: Range<u32>) -> Result<HashMap<u32, String>> {
        let mut found: HashMap<u32, String> = HashMap::new();
        for (group, (first, last)) in self.row_groups.iter().enumerate() {
            if *last < pages.start || *first >= pages.end {
                continue;
            }
            self.table.for_each(group, |row| {
                if pages.contains(&row.page_id) {
                    let texts = found.entry(row.page_id).or_default();
                    for _ in 0..repetitions(row.link_count) {
                        if texts.len() + row.anchor.len() < MAX_ANCHOR_BYTES {
                            texts.push_str(row.anchor);
                            texts.push('\n');
                        }
                    }
                }
            })?;
        }
        Ok(found)
    }
}

/// Number of repetitions of the text of some links: one for each doubling.
fn repetitions(link_count: i64) -> u32 {
    link_count.max(1).ilog2() + 1
}
