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
        let Some(pages) = TableReader::<AnchorRows>::derived(folder)? else { return Ok(None) };
        let pages = pages.with_columns(&["page_id"]);
        let mut groups = Vec::with_capacity(pages.groups());
        for group in 0..pages.groups() {
            let (mut first, mut last) = (u32::MAX, 0);
            pages.for_each(group, |row| (first, last) = (first.min(row.page_id), last.max(row.page_id)))?;
            groups.push((first, last));
        }
        let table = pages.with_columns(&["page_id", "anchor"]);
        Ok(Some(Anchors { table, groups }))
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
