//! What do others call the pages of a range? The words of links to them, from the table that an analysis left.
//!
//! The table is in the order of pages, so that a range of them is a few groups of rows.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use store::{AnchorRows, TableReader};

use crate::error::Result;

/// Of one page no more bytes are taken.
const PAGE_LIMIT_BYTES: usize = 2 << 10;

/// The words of links, for reading.
pub(crate) struct Anchors {
    table: TableReader<AnchorRows>,
    /// The first and the last page of each group of rows.
    groups: Vec<(u32, u32)>,
}

impl Anchors {
    /// Those of the last analysis; `None` if there was none.
    pub(crate) fn open(folder: &Path) -> Result<Option<Anchors>> {
        let table = TableReader::derived(folder)?;
        Ok(table.map(|table| Anchors { table, groups: Vec::new() }))
    }

    /// Finds out which pages each group of rows has; before that, no words are found.
    pub(crate) fn find_groups(self) -> Result<Anchors> {
        let table = self.table.with_columns(&["page_id"]);
        let mut groups = Vec::with_capacity(table.groups());
        for group in 0..table.groups() {
            let (mut first, mut last) = (u32::MAX, 0);
            table.for_each(group, |row| (first, last) = (first.min(row.page_id), last.max(row.page_id)))?;
            groups.push((first, last));
        }
        Ok(Anchors { table: table.with_columns(&["page_id", "anchor"]), groups })
    }

    /// The commit that was analysed.
    pub(crate) fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// The words of the pages of a range, a line for each link text.
    pub(crate) fn of(&self, pages: Range<u32>) -> Result<HashMap<u32, String>> {
        let mut found: HashMap<u32, String> = HashMap::new();
        for (group, (first, last)) in self.groups.iter().enumerate() {
            if *last < pages.start || *first >= pages.end {
                continue;
            }
            self.table.for_each(group, |row| {
                if pages.contains(&row.page_id) {
                    let words = found.entry(row.page_id).or_default();
                    if words.len() + row.anchor.len() < PAGE_LIMIT_BYTES {
                        words.push_str(row.anchor);
                        words.push('\n');
                    }
                }
            })?;
        }
        Ok(found)
    }
}
