//! The table `anchors`: the most frequent anchor texts of the links to each page.
//!
//! The link table is in crawl order, and this table is ordered by target page. The link table is therefore scanned once
//! per range of targets whose links fit into memory: once for most collections.

use std::collections::HashMap;
use std::ops::Range;

use store::{AnchorRow, AnchorRows, DerivedTable, LastParses, LinkRows, PageColumn, Snapshot, TableReader};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;

/// Maximum number of different anchor texts per page, those of the most sites first.
const MAX_ANCHORS_PER_PAGE: usize = 20;
/// Longer anchor texts are truncated.
const MAX_ANCHOR_CHARS: usize = 200;
/// Maximum number of links counted per page.
const MAX_LINKS_PER_PAGE: u32 = 1_000_000;
/// Memory of a link, with a share of its text.
const LINK_BYTES: u64 = 48;

/// Size of the table `anchors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct AnchorCounts {
    /// Number of pages with anchor texts.
    pub pages: u64,
    /// Number of rows.
    pub anchors: u64,
    /// Number of links counted.
    pub links: u64,
    /// Number of links skipped, because there were too many or their texts took too much memory.
    pub links_skipped: u64,
}

/// Writes the table. `in_degrees` estimates the number of links to each page.
pub(crate) fn write_anchors(
    snapshot: &Snapshot,
    generation: u64,
    in_degrees: &[u32],
    memory_bytes: u64,
) -> Result<AnchorCounts> {
    let parses = LastParses::read(snapshot.dir(), &snapshot.manifest)?;
    let sites = sites_of_pages(snapshot)?;
    let columns = ["source_page_id", "target_page_id", "fetch_time", "anchor"];
    let links =
        TableReader::<LinkRows>::open_committed(snapshot.dir(), &snapshot.manifest)?.with_columns(&columns);
    let mut table = DerivedTable::<AnchorRows>::create(snapshot.dir(), generation)?;
    let mut counts = AnchorCounts::default();
    let max_links = memory_bytes / 2 / LINK_BYTES;
    for pages in ranges(in_degrees, max_links) {
        let mut collector = AnchorCollector::new(pages, max_links, memory_bytes / 2);
        links.for_each_row(|link| {
            if let (Some(target), Some(anchor)) = (link.target_page_id, link.anchor)
                && collector.pages.contains(&target)
                && target != link.source_page_id
                && parses.is_current(link)
            {
                let site = sites.get(link.source_page_id as usize).copied().unwrap_or(u32::MAX);
                collector.add(target, anchor.trim(), site);
            }
        })?;
        collector.write(&mut table, &mut counts)?;
    }
    table.finish()?;
    Ok(counts)
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

/// Ranges of pages with at most `max_links` links each, or one page.
fn ranges(in_degrees: &[u32], max_links: u64) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut links = u64::MAX;
    for (page, degree) in (0..).zip(in_degrees) {
        let degree = u64::from((*degree).min(MAX_LINKS_PER_PAGE));
        links = links.saturating_add(degree);
        match ranges.last_mut() {
            Some(range) if links <= max_links => range.end = page + 1,
            _ => {
                ranges.push(page..page + 1);
                links = degree;
            }
        }
    }
    ranges
}

/// Anchor texts of the links to a range of pages.
struct AnchorCollector {
    pages: Range<u32>,
    /// The target page, the hash of the anchor text, the site of the source page.
    links: Vec<(u32, u64, u32)>,
    /// Number of links per page.
    of_page: Vec<u32>,
    /// Maximum number of links in total: a page may link to another several times, so there can be more than the
    /// in-degree.
    max_links: u64,
    texts: HashMap<u64, Box<str>>,
    /// Memory left for further texts.
    text_bytes_left: u64,
    links_skipped: u64,
}

impl AnchorCollector {
    fn new(pages: Range<u32>, max_links: u64, text_bytes: u64) -> AnchorCollector {
        AnchorCollector {
            links: Vec::new(),
            of_page: vec![0; pages.len()],
            max_links: max_links.max(MAX_LINKS_PER_PAGE.into()),
            texts: HashMap::new(),
            text_bytes_left: text_bytes,
            links_skipped: 0,
            pages,
        }
    }

    fn add(&mut self, target: u32, anchor: &str, site: u32) {
        let end = anchor.char_indices().nth(MAX_ANCHOR_CHARS).map_or(anchor.len(), |(end, _)| end);
        let anchor = &anchor[..end];
        if anchor.is_empty() {
            return;
        }
        let hash = xxh3_64(anchor.as_bytes());
        let is_known = self.texts.contains_key(&hash);
        let bytes = anchor.len() as u64 + LINK_BYTES;
        let of_page = &mut self.of_page[(target - self.pages.start) as usize];
        let is_full = *of_page >= MAX_LINKS_PER_PAGE || self.links.len() as u64 >= self.max_links;
        if is_full || (!is_known && self.text_bytes_left < bytes) {
            self.links_skipped += 1;
            return;
        }
        if !is_known {
            self.text_bytes_left -= bytes;
            self.texts.insert(hash, anchor.into());
        }
        *of_page += 1;
        self.links.push((target, hash, site));
    }

    fn write(mut self, table: &mut DerivedTable<AnchorRows>, counts: &mut AnchorCounts) -> Result<()> {
        counts.links += self.links.len() as u64;
        counts.links_skipped += self.links_skipped;
        self.links.sort_unstable();
        for of_page in self.links.chunk_by(|one, other| one.0 == other.0) {
            let anchor = |run: &[(u32, u64, u32)]| {
                let sites = run.chunk_by(|one, other| one.2 == other.2).count();
                (sites, run.len(), self.texts.get(&run[0].1).map_or("", |text| &**text))
            };
            let mut anchors: Vec<(usize, usize, &str)> =
                of_page.chunk_by(|one, other| one.1 == other.1).map(anchor).collect();
            anchors.sort_unstable_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
            counts.pages += 1;
            for (sites, links, anchor) in anchors.into_iter().take(MAX_ANCHORS_PER_PAGE) {
                let (links, sites) = (links as i64, sites as i64);
                table.push(&AnchorRow {
                    page_id: of_page[0].0,
                    anchor,
                    link_count: links,
                    site_count: sites,
                })?;
                counts.anchors += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_all_pages_and_no_more_links_than_fit() {
        assert_eq!(ranges(&[], 10), []);
        assert_eq!(ranges(&[3, 4, 5, 20, 1, 0, 9], 10), [0..2, 2..3, 3..4, 4..7]);
        assert_eq!(ranges(&[1, 1], 0), [0..1, 1..2]);
    }

    #[test]
    fn texts_of_the_most_sites_come_first_and_their_number_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let mut collector = AnchorCollector::new(5..10, 0, 1 << 20);
        for site in 0..30 {
            collector.add(7, "the weir", site);
            collector.add(7, "here", 1);
            collector.add(7, &format!("text {site}"), site);
            collector.add(7, "", site);
        }
        collector.add(9, &"ä".repeat(300), 0);
        let mut table = DerivedTable::create(dir.path(), 3).unwrap();
        let mut counts = AnchorCounts::default();
        collector.write(&mut table, &mut counts).unwrap();
        table.finish().unwrap();
        assert_eq!(counts, AnchorCounts { pages: 2, anchors: 21, links: 91, links_skipped: 0 });
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

    #[test]
    fn memory_is_bounded_for_any_texts() {
        let mut collector = AnchorCollector::new(0..1, 0, 10_000);
        (0..10_000).for_each(|number| collector.add(0, &format!("a text of one link, {number}"), 0));
        assert!(
            collector.texts.len() < 200 && collector.links_skipped > 9_000,
            "{}",
            collector.links_skipped
        );
    }
}
