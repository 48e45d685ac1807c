//! Who crawls, in which order, and how much at once?

use std::time::Duration;

use frontier::Strategy;

use super::{DAY, MINUTE};
use crate::settings::section::section;
use crate::settings::value::{Value, quoted, words};

section! {
    /// Who crawls, in which order, and how much at once.
    "crawl", CrawlSection {
        /// A web page or a mail address by which people can reach whoever runs this crawl. It is sent with every request.
        /// Without it only sites on this machine are crawled.
        contact: String = String::new();
        /// The name under which the crawler asks, and by which robots.txt may address it: letters, hyphens, underscores.
        agent: AgentName = AgentName("weir".to_owned());
        /// Which pages come first: "wire" (a bit of all that costs nothing: depth, pages waiting, links, cash), "breadth-first",
        /// "larger-sites-first" (of the site with most pages waiting), "bfs-larger-sites" (breadth-first, and of those the
        /// larger sites), "backlinks" (most links from known pages), "opic" (most importance passed on by fetched pages),
        /// "batch-pagerank" and "partial-pagerank" (by PageRank over the known links), "focused" (by the driving query) or
        /// "random".
        strategy: Strategy = Strategy::default(), wire "manager/score", applies at_once;
        /// How many pages a batch has.
        batch_pages: u32 = 100_000, within 1..=10_000_000, wire "manager/batch/size", applies at_once;
        /// How many of them may be of one site.
        batch_pages_per_site: u32 = 500, within 1..=10_000_000, wire "manager/batch/samesite", applies at_once;
        /// How many threads fetch and read pages; 0 stands for one for each core.
        threads: u16 = 0, within 0..=1_024;
        /// How many requests may be open at once, all threads together.
        connections: u32 = 1_000, within 1..=100_000, wire "harvester/nthreads/start";
        /// When all that is left are pages that have to wait longer than this, the crawl ends.
        longest_pause: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY);
        /// How many pages may be asked for in a day (of UTC), all sites together; 0 stands for any number.
        requests_per_day: u32 = 0, applies at_once;
        /// The same for each site; with a limit, no page is asked for twice a day.
        requests_per_site_per_day: u32 = 0, applies at_once;
        /// How many requests may begin in a second, all sites together, robots.txt and sitemaps included; 0 stands for any number.
        /// Sites are never asked sooner than is polite, however many there may be.
        requests_per_second: f32 = 0.0, within 0.0..=100_000.0, applies at_once;
    }
}

words!(
    Strategy,
    "word",
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

/// A product token, as RFC 9309 wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentName(pub(crate) String);

impl Value for AgentName {
    const KIND: &'static str = "name";

    fn read(written: &toml::Value) -> Result<AgentName, String> {
        let is_token = |name: &&str| {
            let letters = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
            (1..=64).contains(&name.len()) && name.bytes().all(letters)
        };
        let name = written.as_str().filter(is_token);
        let wrong = || {
            format!(
                "{} is no name for robots.txt; write letters, hyphens and underscores alone, such as \"weir\"",
                quoted(written)
            )
        };
        name.map(|name| AgentName(name.to_owned())).ok_or_else(wrong)
    }

    fn write(&self) -> String {
        self.0.write()
    }
}
