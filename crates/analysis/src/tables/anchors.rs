//! The table `anchors`: the most frequent anchor texts of the links to each page.
//!
//! The link table is in crawl order, and this table is ordered by target page. The links are therefore sorted, on disk if they
//! do not fit into memory.

use std::cmp::Reverse;
use std::path::Path;

use store::{AnchorRow, AnchorRows, DerivedTable, LastParses, LinkRows, PageColumn, Snapshot, TableReader};

use crate::error::Result;
use crate::tables::anchor_runs::{AnchorLinks, AnchorMerger, AnchorSorter};

/// Maximum number of different anchor texts per page, those of the most sites first.
const MAX_ANCHORS_PER_PAGE: usize = 20;
/// Longer anchor texts are truncated.
const MAX_ANCHOR_CHARS: usize = 200;

/// Size of the table `anchors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct AnchorCounts {
    /// Number of pages with anchor texts.
    pub pages: u64,
    /// Number of rows.
    pub anchors: u64,
    /// Number of links with an anchor text.
    pub links: u64,
}

/// Writes the table. `scratch` is a new directory for links that do not fit into memory.
pub(crate) fn write_anchors(
    snapshot: &Snapshot,
    generation: u64,
    scratch: &Path,
    memory_bytes: u64,
) -> Result<AnchorCounts> {
    let parses = LastParses::read(snapshot.dir(), &snapshot.manifest)?;
    let sites = sites_of_pages(snapshot)?;
    let columns = ["source_page_id", "target_page_id", "fetch_time", "anchor"];
    let links =
        TableReader::<LinkRows>::open_committed(snapshot.dir(), &snapshot.manifest)?.with_columns(&columns);
    let mut sorter = AnchorSorter::create(scratch, memory_bytes)?;
    let mut failed = None;
    links.for_each_row(|link| {
        if let (Some(target), Some(anchor)) = (link.target_page_id, link.anchor)
            && target != link.source_page_id
            && parses.is_current(link)
            && failed.is_none()
        {
            let site = sites.get(link.source_page_id as usize).copied().unwrap_or(u32::MAX);
            let anchor = truncated(anchor.trim());
            if !anchor.is_empty() {
                failed = sorter.push(target, anchor, site).err();
            }
        }
    })?;
    failed.map_or(Ok(()), Err)?;
    drop((parses, sites));
    let (links, _scratch) = sorter.into_merger()?;
    let mut table = DerivedTable::<AnchorRows>::create(snapshot.dir(), generation)?;
    let counts = write_rows(links, &mut table)?;
    table.finish()?;
    Ok(counts)
}

fn truncated(anchor: &str) -> &str {
    let end = anchor.char_indices().nth(MAX_ANCHOR_CHARS).map_or(anchor.len(), |(end, _)| end);
    &anchor[..end]
}

/// Site of each page.
fn sites_of_pages(snapshot: &Snapshot) -> Result<Vec<u32>> {
    let parts = snapshot.page_state.scan(&[PageColumn::Site], |part: &mut Vec<(u32, u32)>, row| {
        part.push((row.page.0, row.site.0));
    })?;
    let mut sites = vec![0; snapshot.page_state.pages() as usize];
    parts.into_iter().flatten().for_each(|(page, site)| sites[page as usize] = site);
    Ok(sites)
}

/// Anchor text of a page. The order is that of the table: the texts of the most sites first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Anchor {
    sites: Reverse<i64>,
    links: Reverse<i64>,
    text: Vec<u8>,
}

/// Writes the first anchor texts of each page; `links` are sorted by page, text and site.
fn write_rows(mut links: AnchorMerger, table: &mut DerivedTable<AnchorRows>) -> Result<AnchorCounts> {
    let mut counts = AnchorCounts::default();
    let mut item = AnchorLinks::default();
    let mut has_item = links.next(&mut item)?;
    // Of one page; at most one more than are written.
    let mut anchors: Vec<Anchor> = Vec::new();
    while has_item {
        let page = item.target;
        while has_item && item.target == page {
            let mut anchor = Anchor { sites: Reverse(0), links: Reverse(0), text: item.text.clone() };
            let mut last_site = None;
            while has_item && item.target == page && item.text == anchor.text {
                anchor.links.0 += i64::from(item.links);
                anchor.sites.0 += i64::from(last_site != Some(item.site));
                last_site = Some(item.site);
                has_item = links.next(&mut item)?;
            }
            counts.links += anchor.links.0.unsigned_abs();
            let at = anchors.partition_point(|better| *better < anchor);
            anchors.insert(at, anchor);
            anchors.truncate(MAX_ANCHORS_PER_PAGE);
        }
        counts.pages += 1;
        for Anchor { sites, links, text } in anchors.drain(..) {
            let anchor = str::from_utf8(&text).unwrap_or_default();
            table.push(&AnchorRow { page_id: page, anchor, link_count: links.0, site_count: sites.0 })?;
            counts.anchors += 1;
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_most_sites_come_first_and_their_number_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let mut sorter = AnchorSorter::create(&dir.path().join("scratch"), 1_000).unwrap();
        for site in 0..30 {
            sorter.push(7, "the weir", site).unwrap();
            sorter.push(7, "here", 1).unwrap();
            sorter.push(7, &format!("text {site}"), site).unwrap();
        }
        sorter.push(9, truncated(&"ä".repeat(300)), 0).unwrap();
        let mut table = DerivedTable::create(dir.path(), 3).unwrap();
        let (links, _scratch) = sorter.into_merger().unwrap();
        let counts = write_rows(links, &mut table).unwrap();
        table.finish().unwrap();
        assert_eq!(counts, AnchorCounts { pages: 2, anchors: 21, links: 91 });
        let mut rows = Vec::new();
        let reader = TableReader::<AnchorRows>::open_derived(dir.path()).unwrap().unwrap();
        reader
            .for_each_row(|row| {
                rows.push((row.page_id, row.anchor.to_owned(), row.link_count, row.site_count));
            })
            .unwrap();
        assert_eq!(rows[0], (7, "the weir".to_owned(), 30, 30));
        assert_eq!(rows[1], (7, "here".to_owned(), 30, 1));
        assert_eq!((rows[20].0, rows[20].1.chars().count()), (9, MAX_ANCHOR_CHARS));
    }
}
