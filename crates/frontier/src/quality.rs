//! How good is a page, as far as one can tell without fetching it?
//!
//! quality = Σ weight · score / Σ weight, so that it lies between 0 and 1 like its scores. How facts become scores:
//!
//! - depth: (max − (depth − 1)) / max, with depths counted from 1 as WIRE does; the deepest page still has 1/max;
//! - counts (links, pages waiting): ln(1 + x) / ln(1 + max). They follow power laws: divided by the largest alone, all but a
//!   few pages would have about 0;
//! - cash and ranks, which have no unit: the same, counted in means over the pages that have any;
//! - shares (location, relevance) as they are; static pages 1 and dynamic pages 0; random: drawn from the page's id.
//!
//! Every score grows with its fact, so a single term orders pages as the bare fact would. It judges pages; how stale they are
//! is in [`Profit`](crate::Profit).

use crate::{Most, PageFacts, Term, Weights};

/// Weights applied to the pages of one collection.
#[derive(Debug, Clone)]
pub struct Quality {
    weights: Weights,
    scales: Scales,
    /// Each term's part of all weights.
    parts: [f32; Term::ALL.len()],
}

/// What a term adds to a page's quality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// Which term.
    pub term: Term,
    /// Its score, from 0 to 1.
    pub score: f32,
    /// Its weight, as it was set.
    pub weight: f32,
    /// What it adds; all values together are the quality.
    pub value: f32,
}

/// What facts are multiplied by, so that no division is left for the pages.
#[derive(Debug, Clone, Copy)]
struct Scales {
    depths: f32,
    in_links: f32,
    site_in_links: f32,
    site_pending: f32,
    cash: Scale,
    ranks: [Scale; Term::RANKS.len()],
}

/// For numbers without a unit: what makes them multiples of the mean, and what brings their logarithms to 0..1.
#[derive(Debug, Clone, Copy)]
struct Scale {
    per_mean: f32,
    per_log: f32,
}

impl Quality {
    /// For a collection whose pages were looked through.
    pub fn new(weights: Weights, most: &Most) -> Quality {
        let sum = weights.sum();
        let parts = Term::ALL.map(|term| if sum > 0.0 { weights[term] / sum } else { 0.0 });
        Quality { weights, scales: Scales::new(most), parts }
    }

    /// A page's quality, from 0 to 1.
    pub fn of(&self, facts: &PageFacts) -> f32 {
        let value = |term: Term| match self.parts[term.index()] {
            0.0 => 0.0,
            part => part * self.scales.score(term, facts),
        };
        // By name, so that the choice between terms is made by the compiler: a loop takes twice as long.
        let own = value(Term::Depth) + value(Term::Static) + value(Term::Location) + value(Term::Random);
        let links = value(Term::InLinks) + value(Term::Cash) + value(Term::Relevance);
        let site = value(Term::SiteInLinks) + value(Term::SitePending) + value(Term::SiteRank);
        let ranks = value(Term::PageRank) + value(Term::Hub) + value(Term::Authority) + value(Term::LinkRank);
        // Rounded parts may add up to a hair more than 1.
        (own + links + site + ranks).min(1.0)
    }

    /// What each term that counts adds to it, in the order of [`Term::ALL`].
    pub fn explain(&self, facts: &PageFacts) -> Vec<Contribution> {
        let contribution = |(term, weight): (Term, f32)| {
            let score = self.scales.score(term, facts);
            Contribution { term, score, weight, value: self.parts[term.index()] * score }
        };
        self.weights.iter().map(contribution).collect()
    }
}

impl Scales {
    fn new(most: &Most) -> Scales {
        Scales {
            depths: f32::from(most.depth) + 1.0,
            in_links: per_log(most.in_links as f32),
            site_in_links: per_log(most.site_in_links as f32),
            site_pending: per_log(most.site_pending as f32),
            cash: Scale::new(most.cash.most, most.cash.mean()),
            ranks: most.ranks.map(|spread| Scale::new(spread.most, spread.mean())),
        }
    }

    #[inline(always)]
    fn score(&self, term: Term, facts: &PageFacts) -> f32 {
        let rank = |index: usize| self.ranks[index].score(facts.ranks[index]);
        let score = match term {
            Term::Depth => 1.0 - f32::from(facts.depth) / self.depths,
            Term::Static => f32::from(u8::from(!facts.dynamic)),
            Term::InLinks => log(facts.in_links as f32) * self.in_links,
            Term::SiteInLinks => log(facts.site_in_links as f32) * self.site_in_links,
            Term::SitePending => log(facts.site_pending as f32) * self.site_pending,
            Term::Cash => self.cash.score(facts.cash),
            Term::Location => facts.location,
            Term::Relevance => facts.relevance,
            Term::Random => drawn(facts.page.0),
            Term::PageRank => rank(0),
            Term::Hub => rank(1),
            Term::Authority => rank(2),
            Term::LinkRank => rank(3),
            Term::SiteRank => rank(4),
        };
        // What is not a number is 0. A page may have more than was seen in the scan.
        if score > 0.0 { score.min(1.0) } else { 0.0 }
    }
}

impl Scale {
    fn new(most: f32, mean: f32) -> Scale {
        // Below this no number has an inverse.
        if mean < f32::MIN_POSITIVE {
            return Scale { per_mean: 0.0, per_log: 0.0 };
        }
        Scale { per_mean: 1.0 / mean, per_log: per_log(most / mean) }
    }

    fn score(self, value: f32) -> f32 {
        log(value.max(0.0) * self.per_mean) * self.per_log
    }
}

/// By what logarithms of numbers up to this one are brought to 0..1.
fn per_log(most: f32) -> f32 {
    if most > 0.0 { 1.0 / log(most) } else { 0.0 }
}

/// As good here as `ln_1p`, and several times as fast.
fn log(value: f32) -> f32 {
    (1.0 + value).ln()
}

/// A number from 0 to 1 that depends on the page alone: the finish of MurmurHash3.
fn drawn(page: u32) -> f32 {
    let mut hash = page.wrapping_add(0x9e37_79b9);
    for (shift, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
        hash = (hash ^ hash >> shift).wrapping_mul(factor);
    }
    ((hash ^ hash >> 16) >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use model::PageId;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scores_are_what_the_head_of_this_file_says() {
        let facts = PageFacts {
            depth: 3,
            dynamic: true,
            in_links: 9,
            site_in_links: 1,
            site_pending: 99,
            cash: 1.0,
            location: 0.25,
            relevance: 0.5,
            ranks: [1.0, 0.0, 3.0, 0.0, 0.0],
            ..PageFacts::default()
        };
        let most = PageFacts {
            depth: 4,
            in_links: 99,
            site_in_links: 1,
            site_pending: 999,
            cash: 3.0,
            ranks: [3.0, 0.0, 1.0, 0.0, 0.0],
            ..PageFacts::default()
        };
        let mut seen = Most::default();
        [facts, most].iter().for_each(|facts| seen.see(facts));
        let quality = Quality::new(Term::ALL.into_iter().map(|term| (term, 2.0)).collect(), &seen);
        // Cash and PageRank: of 1 and 3 the mean is 2, and the score ln(1 + 1/2) / ln(1 + 3/2).
        let half_mean = 1.5_f32.ln() / 2.5_f32.ln();
        let expected = [
            (Term::Depth, 0.4),
            (Term::Static, 0.0),
            (Term::InLinks, 0.5),
            (Term::SiteInLinks, 1.0),
            (Term::SitePending, 2.0 / 3.0),
            (Term::Cash, half_mean),
            (Term::Location, 0.25),
            (Term::Relevance, 0.5),
            (Term::Random, drawn(0)),
            (Term::PageRank, half_mean),
            (Term::Hub, 0.0),
            (Term::Authority, 1.0),
            (Term::LinkRank, 0.0),
            (Term::SiteRank, 0.0),
        ];
        let found = quality.explain(&facts);
        assert_eq!(found.len(), expected.len());
        for (found, (term, score)) in found.iter().zip(expected) {
            assert_eq!((found.term, found.weight), (term, 2.0));
            assert!((found.score - score).abs() < 1e-6, "{term}: {} {score}", found.score);
            assert!((found.value - score / 14.0).abs() < 1e-6, "{term}");
        }
    }

    #[test]
    fn without_weights_or_facts_a_page_has_no_quality() {
        assert_eq!(Quality::new(Weights::default(), &Most::default()).of(&PageFacts::default()), 0.0);
        let links = Weights::default().with(Term::InLinks, 1.0).with(Term::PageRank, 1.0);
        assert_eq!(Quality::new(links, &Most::default()).of(&PageFacts::default()), 0.0);
    }

    fn any_facts() -> impl Strategy<Value = PageFacts> {
        let counts = (any::<u32>(), any::<u32>(), any::<u32>());
        let shares = (any::<f32>(), any::<f32>(), any::<f32>());
        (any::<u32>(), any::<u8>(), any::<bool>(), counts, shares, any::<[f32; 5]>()).prop_map(
            |(
                page,
                depth,
                dynamic,
                (in_links, site_in_links, site_pending),
                (cash, location, relevance),
                ranks,
            )| {
                let page = PageId(page);
                PageFacts {
                    page,
                    depth,
                    dynamic,
                    in_links,
                    site_in_links,
                    site_pending,
                    cash,
                    location,
                    relevance,
                    ranks,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn quality_lies_between_0_and_1_whatever_comes(
            seen in prop::collection::vec(any_facts(), 0..4), facts in any_facts(), weights in any::<[f32; 14]>(),
        ) {
            let mut most = Most::default();
            seen.iter().for_each(|facts| most.see(facts));
            let quality = Quality::new(Term::ALL.into_iter().zip(weights).collect(), &most);
            let found = quality.of(&facts);
            prop_assert!((0.0..=1.0).contains(&found), "{found}");
            let sum: f32 = quality.explain(&facts).iter().map(|part| part.value).sum();
            prop_assert!((sum - found).abs() < 1e-5, "{sum} {found}");
        }

        #[test]
        fn more_of_a_good_thing_is_never_worse(facts in any_facts(), weights in any::<[f32; 14]>()) {
            let better = PageFacts {
                depth: facts.depth / 2,
                dynamic: false,
                in_links: facts.in_links.saturating_mul(2),
                cash: facts.cash.abs() * 2.0,
                ..facts
            };
            let mut most = Most::default();
            [facts, better].iter().for_each(|facts| most.see(facts));
            let quality = Quality::new(Term::ALL.into_iter().zip(weights).collect(), &most);
            prop_assert!(quality.of(&better) >= quality.of(&facts) - 1e-6);
        }
    }
}
