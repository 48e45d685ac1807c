//! Which of the pages that nobody has fetched are worth a visit first?
//!
//! The score is computed for every page of the collection when a batch is chosen, from what the scan has at hand. Choosing
//! the best of them, with a limit for each site, is the store's task. Scores of different strategies cannot be compared.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// An order in which pages are fetched. Of equal scores, the page that was met first comes first.
///
/// Baeza-Yates, Castillo, Marin and Rodriguez compared them ("Crawling a country", WWW 2005): larger sites first is cheap and
/// finds important pages early, and it does not end with a few large sites that can only be asked once in a while.
/// Back-link count does poorly; it is here to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// Fewest links away from a seed first.
    BreadthFirst,
    /// Most links from known pages first.
    BackLinkCount,
    /// Pages of the site with the most pages waiting first.
    LargerSitesFirst,
    /// Breadth-first, and among pages equally far away those of the site with the most pages waiting.
    #[default]
    BfsLargerSites,
}

impl Strategy {
    /// All there are.
    pub const ALL: [Strategy; 4] = [
        Strategy::BreadthFirst,
        Strategy::BackLinkCount,
        Strategy::LargerSitesFirst,
        Strategy::BfsLargerSites,
    ];

    /// Its name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::BreadthFirst => "breadth-first",
            Strategy::BackLinkCount => "back-link-count",
            Strategy::LargerSitesFirst => "larger-sites-first",
            Strategy::BfsLargerSites => "bfs-larger-sites",
        }
    }

    /// What a visit to a page is worth, more being better: by its links away from a seed, the links to it, and the pages
    /// of its site that were not fetched yet.
    pub fn score(self, depth: u8, in_links: u32, site_pending: u32) -> f32 {
        match self {
            Strategy::BreadthFirst => -f32::from(depth),
            Strategy::BackLinkCount => in_links as f32,
            Strategy::LargerSitesFirst => site_pending as f32,
            // The part for the site stays below 1, so that it never outweighs a level.
            Strategy::BfsLargerSites => (site_pending as f32).ln_1p() / 23.0 - f32::from(depth),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Strategy, Error> {
        let named = Strategy::ALL.into_iter().find(|strategy| strategy.as_str() == name);
        named.ok_or_else(|| Error::UnknownStrategy { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_the_error_lists_them() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.as_str().parse(), Ok(strategy));
        }
        let error = "depth-first".parse::<Strategy>().unwrap_err().to_string();
        assert!(error.contains("depth-first"));
        assert!(Strategy::ALL.iter().all(|strategy| error.contains(strategy.as_str())), "{error}");
    }

    #[test]
    fn each_strategy_prefers_what_its_name_says() {
        // Depth, links, pending pages of the site: the first is better than the second.
        let cases = [
            (Strategy::BreadthFirst, (1, 0, 0), (2, 9, 9)),
            (Strategy::BackLinkCount, (9, 2, 0), (1, 1, 9)),
            (Strategy::LargerSitesFirst, (9, 0, 2), (1, 9, 1)),
            (Strategy::BfsLargerSites, (1, 0, 0), (2, 9, u32::MAX)),
            (Strategy::BfsLargerSites, (254, 0, 0), (255, 9, u32::MAX)),
            (Strategy::BfsLargerSites, (2, 0, 501), (2, 9, 500)),
            (Strategy::BfsLargerSites, (0, 0, 25_000), (0, 9, 24_000)),
        ];
        for (strategy, better, worse) in cases {
            let score = |(depth, in_links, pending)| strategy.score(depth, in_links, pending);
            assert!(score(better) > score(worse), "{strategy}: {better:?} {worse:?}");
        }
    }
}
