//! Identity, strategy and size of the crawl.

use std::time::Duration;

use frontier::Strategy;

use super::{DAY, MINUTE};
use crate::settings::section::section;
use crate::settings::value::{Value, choices, quoted};

section! {
    /// Identity, strategy and size of the crawl.
    "crawl", CrawlSection {
        /// Contact URL or e-mail address, sent in the User-Agent of every request. Required unless all seeds are on
        /// this machine.
        contact: String = String::new();
        /// Product token in the User-Agent and in robots.txt matching: letters, `-` and `_`.
        agent: ProductToken = ProductToken("weir".to_owned());
        /// Fetch order: "wire" (weighted sum of depth, queue size, inlinks and OPIC cash), "breadth-first",
        /// "larger-sites-first" (sites with the longest queue), "bfs-larger-sites" (breadth-first, ties by queue
        /// length), "backlinks" (most inlinks), "opic" (most OPIC cash), "batch-pagerank" and "partial-pagerank"
        /// (PageRank of the known graph), "focused" (relevance to `[focus]`) or "random".
        strategy: Strategy = Strategy::default(), wire "manager/score", reload yes;
        /// Maximum number of pages in a batch.
        max_batch_pages: u32 = 100_000, within 1..=10_000_000, wire "manager/batch/size", reload yes;
        /// Maximum number of pages of one site in a batch.
        max_batch_pages_per_site: u32 = 500, within 1..=10_000_000, wire "manager/batch/samesite", reload yes;
        /// Number of threads that fetch and parse pages; 0 = one per core.
        threads: u16 = 0, within 0..=1_024;
        /// Maximum number of concurrent requests, all threads together.
        max_connections: u32 = 1_000, within 1..=100_000, wire "harvester/nthreads/start";
        /// Stop when no page is due within this time.
        max_idle: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY);
        /// Maximum number of page requests per UTC day, all sites together; 0 = unlimited.
        max_requests_per_day: u32 = 0, reload yes;
        /// Maximum number of page requests per UTC day and site; 0 = unlimited. With a limit, no page is requested
        /// twice a day.
        max_requests_per_site_per_day: u32 = 0, reload yes;
        /// Maximum request rate of all sites together, including robots.txt and sitemaps; 0 = unlimited. The delays
        /// of `[politeness]` apply in any case.
        max_requests_per_second: f32 = 0.0, within 0.0..=100_000.0, reload yes;
    }
}

choices!(
    Strategy,
    "choice",
    Strategy::Wire = "wire",
    Strategy::BreadthFirst = "breadth-first",
    Strategy::LargerSitesFirst = "larger-sites-first",
    Strategy::BfsLargerSites = "bfs-larger-sites",
    Strategy::Backlinks = "backlinks",
    Strategy::Opic = "opic",
    Strategy::BatchPageRank = "batch-pagerank",
    Strategy::PartialPageRank = "partial-pagerank",
    Strategy::Focused = "focused",
    Strategy::Random = "random"
);

/// Product token of the crawler (RFC 9309).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProductToken(pub(crate) String);

impl Value for ProductToken {
    const KIND: &'static str = "product token";

    fn read(written: &toml::Value) -> Result<ProductToken, String> {
        let is_token = |name: &&str| {
            let letters = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
            (1..=64).contains(&name.len()) && name.bytes().all(letters)
        };
        let name = written.as_str().filter(is_token);
        let invalid =
            || format!("invalid product token {}; example: \"weir\" (letters, `-` and `_`)", quoted(written));
        name.map(|name| ProductToken(name.to_owned())).ok_or_else(invalid)
    }

    fn write(&self) -> String {
        self.0.write()
    }
}
