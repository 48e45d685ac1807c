//! Who crawls, in which order, and how much at once?

use crate::settings::section::section;
use crate::settings::value::words;

section! {
    /// Who crawls, in which order, and how much at once.
    "crawl", CrawlSection {
        /// A web page or a mail address by which people can reach whoever runs this crawl. It is sent with every request.
        /// Without it only sites on this machine are crawled.
        contact: String = String::new();
        /// The name under which the crawler asks, and which robots.txt may address: letters, hyphens and underscores.
        agent: String = "weir".to_owned();
        /// Which pages come first: "breadth-first", "larger-sites-first" (sites with most pages left) or
        /// "breadth-first-larger-sites" (near pages first, among those sites with most pages left).
        strategy: Strategy = Strategy::BreadthFirstLargerSites, wire "manager/score", applies at_once;
        /// How many pages a batch has.
        batch_pages: u32 = 100_000, within 1..=10_000_000, wire "manager/batch/size", applies at_once;
        /// How many of them may be of one site.
        batch_pages_per_site: u32 = 500, within 1..=10_000_000, wire "manager/batch/samesite", applies at_once;
        /// How many batches may be under way at once, so that a slow site does not hold up all others.
        open_batches: u32 = 2, within 1..=16;
        /// How many threads fetch and read pages; "none" stands for one for each core.
        threads: Option<u32> = None, within Some(1)..=Some(1_024);
        /// How many requests may be open at once, all threads together.
        connections: u32 = 300, within 1..=100_000, wire "harvester/nthreads/start";
    }
}

/// Which pages come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    BreadthFirst,
    LargerSitesFirst,
    BreadthFirstLargerSites,
}

words!(
    Strategy,
    "word",
    Strategy::BreadthFirst = "breadth-first",
    Strategy::LargerSitesFirst = "larger-sites-first",
    Strategy::BreadthFirstLargerSites = "breadth-first-larger-sites"
);
