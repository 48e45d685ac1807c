//! Strategies: named fetch orders, each a set of weights for [`Quality`](crate::Quality).
//!
//! Some strategies need facts (cash, relevance, ranks) that the caller must compute; [`Strategy::weights`] shows which.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::scoring::term::{QualityTerm, Weights};

/// Order in which pages are fetched. Among equal pages, the one discovered first comes first.
///
/// Baeza-Yates, Castillo, Marin and Rodriguez compared most of them ("Crawling a country", WWW 2005): larger sites first is
/// cheap, finds important pages early, and does not leave a few large sites to the end, whose delays would slow the crawl
/// down. Back-link count performs poorly; it is included as a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// Weighted sum of the terms that need no analysis: depth, links, unfetched pages of the site, cash.
    #[default]
    Wire,
    /// Smallest link distance from a seed first.
    BreadthFirst,
    /// Pages of the site with the most unfetched pages first.
    LargerSitesFirst,
    /// Breadth-first; at the same distance, the site with the most unfetched pages first.
    BfsLargerSites,
    /// Most links from fetched pages first.
    Backlinks,
    /// Most cash first: importance that fetched pages distribute to their targets (Abiteboul, Preda and Cobena, "Adaptive
    /// on-line page importance computation", WWW 2003).
    Opic,
    /// PageRank over the known links, recomputed when a tenth more pages were fetched; pages discovered since then have
    /// rank 0.
    BatchPageRank,
    /// As [`Strategy::BatchPageRank`], but the rank of a page discovered since then is estimated from the pages that link to
    /// it.
    PartialPageRank,
    /// Pages relevant to the topic, or linked from such pages, first.
    Focused,
    /// Random order.
    Random,
}

/// Weight of a tie-breaker: below 1/256, the score of one level of depth at weight 1.
const TIE_BREAK_WEIGHT: f32 = 1.0 / 300.0;

impl Strategy {
    /// All strategies.
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

    /// Name in the settings.
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

    /// Weights of the terms.
    pub fn weights(self) -> Weights {
        let weights: &[(QualityTerm, f32)] = match self {
            // Chosen by simulation (docs/scheduling.md): as good as the best order without ranks, with terms that still
            // distinguish pages after all pages of a site were fetched.
            Strategy::Wire => &[
                (QualityTerm::Depth, 0.7),
                (QualityTerm::Inlinks, 0.05),
                (QualityTerm::SiteQueue, 0.2),
                (QualityTerm::Cash, 0.05),
            ],
            Strategy::BreadthFirst => &[(QualityTerm::Depth, 1.0)],
            Strategy::LargerSitesFirst => &[(QualityTerm::SiteQueue, 1.0)],
            Strategy::BfsLargerSites => {
                &[(QualityTerm::Depth, 1.0), (QualityTerm::SiteQueue, TIE_BREAK_WEIGHT)]
            }
            Strategy::Backlinks => &[(QualityTerm::Inlinks, 1.0)],
            Strategy::Opic => &[(QualityTerm::Cash, 1.0)],
            Strategy::BatchPageRank | Strategy::PartialPageRank => &[(QualityTerm::PageRank, 1.0)],
            Strategy::Focused => &[
                (QualityTerm::TopicRelevance, 1.0),
                (QualityTerm::UrlScore, 0.2),
                (QualityTerm::Depth, 0.05),
            ],
            Strategy::Random => &[(QualityTerm::Random, 1.0)],
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
        named.ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
            known: Strategy::ALL.map(Strategy::as_str).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;
    use crate::{FactMaxima, PageFacts, Quality};

    #[test]
    fn names_are_parsed_and_the_error_lists_them() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.as_str().parse(), Ok(strategy));
        }
        let error = "depth-first".parse::<Strategy>().unwrap_err().to_string();
        assert!(error.contains("depth-first"));
        assert!(Strategy::ALL.iter().all(|strategy| error.contains(strategy.as_str())), "{error}");
    }

    /// Facts from depth, links and unfetched pages of the site.
    fn facts((depth, inlinks, site_unfetched_pages): (u8, u32, u32)) -> PageFacts {
        PageFacts { depth, inlinks, site_unfetched_pages, ..PageFacts::default() }
    }

    /// Whether the strategy prefers the first page to the second. A third page has the maximum of every fact, so that
    /// both are scored relative to it.
    fn prefers(strategy: Strategy, better: &PageFacts, worse: &PageFacts) -> bool {
        let mut maxima = FactMaxima::default();
        [better, worse, &facts((255, u32::MAX, u32::MAX))]
            .into_iter()
            .for_each(|facts| maxima.observe(facts));
        let quality = Quality::new(strategy.weights(), &maxima);
        quality.evaluate(better) > quality.evaluate(worse)
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
        let relevant = |topic_relevance| PageFacts { topic_relevance, ..PageFacts::default() };
        assert!(prefers(Strategy::Opic, &rich(2e-7), &rich(1e-7)));
        assert!(prefers(Strategy::BatchPageRank, &ranked(2e-7), &ranked(1e-7)));
        assert!(prefers(Strategy::PartialPageRank, &ranked(2e-7), &ranked(0.0)));
        assert!(prefers(Strategy::Focused, &relevant(0.5), &relevant(0.4)));
    }

    proptest! {
        #[test]
        fn a_tie_breaker_never_outweighs_a_level_of_depth(depth in 0u8..255, deepest: u8, pending: u32, other: u32) {
            let (near, far) = (facts((depth, 0, pending)), facts((depth + 1, 0, other)));
            let mut maxima = FactMaxima::default();
            [near, far, facts((deepest, 0, 0))].iter().for_each(|facts| maxima.observe(facts));
            let quality = Quality::new(Strategy::BfsLargerSites.weights(), &maxima);
            prop_assert!(quality.evaluate(&near) > quality.evaluate(&far));
        }
    }

    #[test]
    fn random_scores_are_uniform() {
        let quality = Quality::new(Strategy::Random.weights(), &FactMaxima::default());
        let mut tenths = [0; 10];
        for number in 0..10_000 {
            let score = quality.evaluate(&PageFacts { page: model::PageId(number), ..PageFacts::default() });
            assert!((0.0..1.0).contains(&score));
            tenths[(score * 10.0) as usize] += 1;
        }
        // 1,000 each, within four standard deviations of 30.
        assert!(tenths.iter().all(|count| (880..1120).contains(count)), "{tenths:?}");
    }
}
