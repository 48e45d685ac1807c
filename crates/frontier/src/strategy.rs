//! Which pages come first? Strategies by name, each a set of weights for [`Quality`](crate::Quality).
//!
//! A strategy fetches nothing and computes nothing: some need facts (cash, relevance, ranks) that somebody else must gather.
//! [`Strategy::weights`] tells which.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Term, Weights};

/// An order in which pages are fetched. Of equal pages, the one that was met first comes first.
///
/// Baeza-Yates, Castillo, Marin and Rodriguez compared most of them ("Crawling a country", WWW 2005): larger sites first is
/// cheap and finds important pages early, and it does not end with a few large sites that can only be asked once in a while.
/// Back-link count does poorly; it is here to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// A bit of everything that costs nothing.
    #[default]
    Wire,
    /// Fewest links away from a seed first.
    BreadthFirst,
    /// Pages of the site with the most pages waiting first.
    LargerSitesFirst,
    /// Breadth-first, and among pages equally far away those of the site with the most pages waiting.
    BfsLargerSites,
    /// Most links from known pages first.
    Backlinks,
    /// Most cash first: importance that fetched pages have passed on to the pages they link to (Abiteboul, Preda and Cobena,
    /// "Adaptive on-line page importance computation", WWW 2003).
    Opic,
    /// PageRank over the links that are known, computed anew when a tenth more pages were fetched; pages met since then have
    /// none.
    BatchPageRank,
    /// As [`Strategy::BatchPageRank`], but a page met since then is estimated once: it has what those that link to it pass on.
    PartialPageRank,
    /// What meets the driving query, or is linked from pages that do, first.
    Focused,
    /// In no order.
    Random,
}

/// For ties: a term of this weight never outweighs a level of depth of weight 1, which is 1/256 at least.
const TIE: f32 = 1.0 / 300.0;

impl Strategy {
    /// All there are.
    pub const ALL: [Strategy; 10] = [
        Strategy::Wire,
        Strategy::BreadthFirst,
        Strategy::LargerSitesFirst,
        Strategy::BfsLargerSites,
        Strategy::Backlinks,
        Strategy::Opic,
        Strategy::BatchPageRank,
        Strategy::PartialPageRank,
        Strategy::Focused,
        Strategy::Random,
    ];

    /// Its name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Wire => "wire",
            Strategy::BreadthFirst => "breadth-first",
            Strategy::LargerSitesFirst => "larger-sites-first",
            Strategy::BfsLargerSites => "bfs-larger-sites",
            Strategy::Backlinks => "backlinks",
            Strategy::Opic => "opic",
            Strategy::BatchPageRank => "batch-pagerank",
            Strategy::PartialPageRank => "partial-pagerank",
            Strategy::Focused => "focused",
            Strategy::Random => "random",
        }
    }

    /// How much each term counts.
    pub fn weights(self) -> Weights {
        let weights: &[(Term, f32)] = match self {
            // Weighed in the laboratory (docs/scheduling.md): as good as the best order that knows no ranks, with terms that
            // still tell pages apart when all of a site were fetched.
            Strategy::Wire => {
                &[(Term::Depth, 0.7), (Term::InLinks, 0.05), (Term::SitePending, 0.2), (Term::Cash, 0.05)]
            }
            Strategy::BreadthFirst => &[(Term::Depth, 1.0)],
            Strategy::LargerSitesFirst => &[(Term::SitePending, 1.0)],
            Strategy::BfsLargerSites => &[(Term::Depth, 1.0), (Term::SitePending, TIE)],
            Strategy::Backlinks => &[(Term::InLinks, 1.0)],
            Strategy::Opic => &[(Term::Cash, 1.0)],
            Strategy::BatchPageRank | Strategy::PartialPageRank => &[(Term::PageRank, 1.0)],
            Strategy::Focused => &[(Term::Relevance, 1.0), (Term::Location, 0.2), (Term::Depth, 0.05)],
            Strategy::Random => &[(Term::Random, 1.0)],
        };
        weights.iter().copied().collect()
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
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
    use proptest::{prop_assert, proptest};

    use super::*;
    use crate::{Most, PageFacts, Quality};

    #[test]
    fn names_come_back_and_the_error_lists_them() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.as_str().parse(), Ok(strategy));
        }
        let error = "depth-first".parse::<Strategy>().unwrap_err().to_string();
        assert!(error.contains("depth-first"));
        assert!(Strategy::ALL.iter().all(|strategy| error.contains(strategy.as_str())), "{error}");
    }

    /// Depth, links, pending pages of the site.
    fn facts((depth, in_links, site_pending): (u8, u32, u32)) -> PageFacts {
        PageFacts { depth, in_links, site_pending, ..PageFacts::default() }
    }

    /// Whether the first comes before the second in a collection that holds both, and pages as extreme as can be.
    fn prefers(strategy: Strategy, better: &PageFacts, worse: &PageFacts) -> bool {
        let mut most = Most::default();
        [better, worse, &facts((255, u32::MAX, u32::MAX))].into_iter().for_each(|facts| most.see(facts));
        let quality = Quality::new(strategy.weights(), &most);
        quality.of(better) > quality.of(worse)
    }

    #[test]
    fn each_strategy_prefers_what_its_name_says() {
        let cases = [
            (Strategy::BreadthFirst, (1, 0, 0), (2, 9, 9)),
            (Strategy::Backlinks, (9, 2, 0), (1, 1, 9)),
            (Strategy::LargerSitesFirst, (9, 0, 2), (1, 9, 1)),
            (Strategy::BfsLargerSites, (2, 0, 501), (2, 9, 500)),
            (Strategy::BfsLargerSites, (0, 0, 25_000), (0, 9, 24_000)),
            (Strategy::Wire, (1, 5, 7), (2, 5, 7)),
            (Strategy::Wire, (1, 6, 7), (1, 5, 7)),
        ];
        for (strategy, better, worse) in cases {
            assert!(prefers(strategy, &facts(better), &facts(worse)), "{strategy}: {better:?} {worse:?}");
        }
        let ranked = |rank| PageFacts { ranks: [rank, 0.0, 0.0, 0.0, 0.0], ..PageFacts::default() };
        let rich = |cash| PageFacts { cash, ..PageFacts::default() };
        let relevant = |relevance| PageFacts { relevance, ..PageFacts::default() };
        assert!(prefers(Strategy::Opic, &rich(2e-7), &rich(1e-7)));
        assert!(prefers(Strategy::BatchPageRank, &ranked(2e-7), &ranked(1e-7)));
        assert!(prefers(Strategy::PartialPageRank, &ranked(2e-7), &ranked(0.0)));
        assert!(prefers(Strategy::Focused, &relevant(0.5), &relevant(0.4)));
    }

    proptest! {
        #[test]
        fn no_site_outweighs_a_level_of_depth(depth in 0u8..255, deepest: u8, pending: u32, other: u32) {
            let (near, far) = (facts((depth, 0, pending)), facts((depth + 1, 0, other)));
            let mut most = Most::default();
            [near, far, facts((deepest, 0, 0))].iter().for_each(|facts| most.see(facts));
            let quality = Quality::new(Strategy::BfsLargerSites.weights(), &most);
            prop_assert!(quality.of(&near) > quality.of(&far));
        }
    }

    #[test]
    fn random_is_spread_evenly_and_the_same_each_time() {
        let quality = Quality::new(Strategy::Random.weights(), &Most::default());
        let mut tenths = [0; 10];
        for number in 0..10_000 {
            let drawn = quality.of(&PageFacts { page: model::PageId(number), ..PageFacts::default() });
            assert!((0.0..1.0).contains(&drawn));
            tenths[(drawn * 10.0) as usize] += 1;
        }
        // A thousand each, give or take four standard deviations of 30.
        assert!(tenths.iter().all(|count| (880..1120).contains(count)), "{tenths:?}");
    }
}
