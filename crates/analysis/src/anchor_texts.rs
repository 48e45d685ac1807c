//! What do others call each page? The most frequent words of the links to it, as a table for search.
//!
//! The table of links is in the order of the crawl, and wanted is the order of the pages that links lead to. So it is gone through as
//! often as needed, each time for so many of these pages that their links fit into memory: once, for most collections.

use std::collections::HashMap;
use std::ops::Range;

use store::{AnchorRow, AnchorRows, Column, DerivedTable, LastParses, LinkRows, Snapshot, TableReader};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;

/// Of one page so many different words are kept, those of most sites first.
const MOST_OF_A_PAGE: usize = 20;
/// Longer words are cut.
const MOST_CHARS: usize = 200;
/// Of a page that more links lead to, the words of about so many will do.
const MOST_LINKS: u32 = 1_000_000;
/// What a link takes, and a share of its words.
const LINK_BYTES: u64 = 48;

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub(crate) struct AnchorCounts {
    /// Pages with words.
    pub(crate) pages: u64,
    /// Rows of the table.
    pub(crate) anchors: u64,
    /// Links whose words were looked at.
    pub(crate) links: u64,
    /// Links that were left out, since there were too many or their words took too much memory.
    pub(crate) left_out: u64,
}

/// Writes the table. `in_degrees` tells about how many links lead to each page.
pub(crate) fn write_anchors(
    snapshot: &Snapshot,
    generation: u64,
    in_degrees: &[u32],
    memory_bytes: u64,
) -> Result<AnchorCounts> {
    let parses = LastParses::read(snapshot.folder(), &snapshot.manifest)?;
    let sites = sites_of_pages(snapshot)?;
    let columns = ["source_page_id", "target_page_id", "fetch_time", "anchor"];
    let links =
        TableReader::<LinkRows>::committed(snapshot.folder(), &snapshot.manifest)?.with_columns(&columns);
    let mut table = DerivedTable::<AnchorRows>::create(snapshot.folder(), generation)?;
    let mut counts = AnchorCounts::default();
    let most_links = memory_bytes / 2 / LINK_BYTES;
    for pages in ranges(in_degrees, most_links) {
        let mut found = Found::new(pages, most_links, memory_bytes / 2);
        links.for_each_row(|link| {
            if let (Some(target), Some(anchor)) = (link.target_page_id, link.anchor)
                && found.pages.contains(&target)
                && target != link.source_page_id
                && parses.has(link)
            {
                let site = sites.get(link.source_page_id as usize).copied().unwrap_or(u32::MAX);
                found.add(target, anchor.trim(), site);
            }
        })?;
        found.write(&mut table, &mut counts)?;
    }
    table.finish()?;
    Ok(counts)
}

/// The site of each page.
fn sites_of_pages(snapshot: &Snapshot) -> Result<Vec<u32>> {
    let parts = snapshot.pages.scan(&[Column::Site], |part: &mut Vec<(u32, u32)>, row| {
        part.push((row.page.0, row.site.0));
    })?;
    let mut sites = vec![0; snapshot.pages.pages() as usize];
    parts.into_iter().flatten().for_each(|(page, site)| sites[page as usize] = site);
    Ok(sites)
}

/// Ranges of pages, each with no more links than the limit, unless it is one page.
fn ranges(in_degrees: &[u32], most_links: u64) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    let mut links = u64::MAX;
    for (page, degree) in (0..).zip(in_degrees) {
        let degree = u64::from((*degree).min(MOST_LINKS));
        links = links.saturating_add(degree);
        match ranges.last_mut() {
            Some(range) if links <= most_links => range.end = page + 1,
            _ => {
                ranges.push(page..page + 1);
                links = degree;
            }
        }
    }
    ranges
}

/// The links to some pages.
struct Found {
    pages: Range<u32>,
    /// The page, the hash of the words, the site that they come from.
    links: Vec<(u32, u64, u32)>,
    /// How many of each page.
    of_page: Vec<u32>,
    /// How many there may be in all: pages may link to a page many times, so that there are more than its in-degree.
    most_links: u64,
    words: HashMap<u64, Box<str>>,
    /// What more words may take.
    words_bytes_left: u64,
    left_out: u64,
}

impl Found {
    fn new(pages: Range<u32>, most_links: u64, words_bytes: u64) -> Found {
        Found {
            links: Vec::new(),
            of_page: vec![0; pages.len()],
            most_links: most_links.max(MOST_LINKS.into()),
            words: HashMap::new(),
            words_bytes_left: words_bytes,
            left_out: 0,
            pages,
        }
    }

    fn add(&mut self, target: u32, anchor: &str, site: u32) {
        let end = anchor.char_indices().nth(MOST_CHARS).map_or(anchor.len(), |(end, _)| end);
        let anchor = &anchor[..end];
        if anchor.is_empty() {
            return;
        }
        let hash = xxh3_64(anchor.as_bytes());
        let is_known = self.words.contains_key(&hash);
        let bytes = anchor.len() as u64 + LINK_BYTES;
        let of_page = &mut self.of_page[(target - self.pages.start) as usize];
        let is_full = *of_page >= MOST_LINKS || self.links.len() as u64 >= self.most_links;
        if is_full || (!is_known && self.words_bytes_left < bytes) {
            self.left_out += 1;
            return;
        }
        if !is_known {
            self.words_bytes_left -= bytes;
            self.words.insert(hash, anchor.into());
        }
        *of_page += 1;
        self.links.push((target, hash, site));
    }

    fn write(mut self, table: &mut DerivedTable<AnchorRows>, counts: &mut AnchorCounts) -> Result<()> {
        counts.links += self.links.len() as u64;
        counts.left_out += self.left_out;
        self.links.sort_unstable();
        for of_page in self.links.chunk_by(|one, other| one.0 == other.0) {
            let words = |run: &[(u32, u64, u32)]| {
                let sites = run.chunk_by(|one, other| one.2 == other.2).count();
                (sites, run.len(), self.words.get(&run[0].1).map_or("", |words| &**words))
            };
            let mut anchors: Vec<(usize, usize, &str)> =
                of_page.chunk_by(|one, other| one.1 == other.1).map(words).collect();
            anchors.sort_unstable_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
            counts.pages += 1;
            for (sites, links, anchor) in anchors.into_iter().take(MOST_OF_A_PAGE) {
                let (links, sites) = (links as i64, sites as i64);
                table.push(&AnchorRow { page_id: of_page[0].0, anchor, links, sites })?;
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
    fn words_of_most_sites_come_first_and_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let mut found = Found::new(5..10, 0, 1 << 20);
        for site in 0..30 {
            found.add(7, "the weir", site);
            found.add(7, "here", 1);
            found.add(7, &format!("words {site}"), site);
            found.add(7, "", site);
        }
        found.add(9, &"ä".repeat(300), 0);
        let mut table = DerivedTable::create(folder.path(), 3).unwrap();
        let mut counts = AnchorCounts::default();
        found.write(&mut table, &mut counts).unwrap();
        table.finish().unwrap();
        assert_eq!(counts, AnchorCounts { pages: 2, anchors: 21, links: 91, left_out: 0 });
        let mut rows = Vec::new();
        let reader = TableReader::<AnchorRows>::derived(folder.path()).unwrap().unwrap();
        reader
            .for_each_row(|row| rows.push((row.page_id, row.anchor.to_owned(), row.links, row.sites)))
            .unwrap();
        assert_eq!(rows[0], (7, "the weir".to_owned(), 30, 30));
        assert_eq!(rows[1], (7, "here".to_owned(), 30, 1));
        assert_eq!((rows[20].0, rows[20].1.chars().count()), (9, MOST_CHARS));
    }

    #[test]
    fn memory_is_bounded_whatever_the_words() {
        let mut found = Found::new(0..1, 0, 10_000);
        (0..10_000).for_each(|number| found.add(0, &format!("words that nobody else has {number}"), 0));
        assert!(found.words.len() < 200 && found.left_out > 9_000, "{}", found.left_out);
    }
}
