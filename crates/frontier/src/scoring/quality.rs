//! Quality of a page: weighted mean of scores that can be computed without fetching it.
//!
//! quality = Σ weight · score / Σ weight, which lies between 0 and 1 like the scores. Facts become scores as follows:
//!
//! - depth: (max − (depth − 1)) / max, with depths counted from 1 as in WIRE; the deepest page still has 1/max;
//! - counts (links, unfetched pages): ln(1 + x) / ln(1 + max). Counts follow power laws: divided by the maximum alone, all
//!   but a few pages would have a score near 0;
//! - cash and ranks, which have no unit: the same, as multiples of the mean over the pages that have any;
//! - URL score and topic relevance unchanged; static pages 1 and dynamic pages 0; random: a hash of the page id.
//!
//! Every score grows with its fact, so a single term orders pages like the fact itself. Staleness is not part of the quality;
//! see [`PriorityModel`](crate::PriorityModel).

use crate::scoring::page_facts::{FactMaxima, PageFacts};
use crate::scoring::term::{QualityTerm, Weights};

/// Weights, scaled to the pages of one collection.
#[derive(Debug, Clone)]
pub struct Quality {
    weights: Weights,
    scales: Scales,
    /// Weight of each term divided by the sum of weights.
    normalized_weights: [f32; QualityTerm::ALL.len()],
}

/// Contribution of one term to the quality of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermContribution {
    /// Term.
    pub term: QualityTerm,
    /// Score of the page, from 0 to 1.
    pub score: f32,
    /// Weight as configured.
    pub weight: f32,
    /// Contribution; the sum over all terms is the quality.
    pub value: f32,
}

/// Factors of the facts, precomputed so that evaluating a page needs no division.
#[derive(Debug, Clone, Copy)]
struct Scales {
    depths: f32,
    inlinks: f32,
    site_inlinks: f32,
    site_unfetched_pages: f32,
    cash: Scale,
    ranks: [Scale; QualityTerm::RANKS.len()],
}

/// Factors for values without a unit: to multiples of the mean, and from logarithms to 0..1.
#[derive(Debug, Clone, Copy)]
struct Scale {
    per_mean: f32,
    per_log: f32,
}

impl Quality {
    /// Creates the evaluator for a collection with these maxima.
    pub fn new(weights: Weights, maxima: &FactMaxima) -> Quality {
        let sum = weights.sum();
        let normalized_weights =
            QualityTerm::ALL.map(|term| if sum > 0.0 { weights[term] / sum } else { 0.0 });
        Quality { weights, scales: Scales::new(maxima), normalized_weights }
    }

    /// Quality of a page, from 0 to 1.
    pub fn evaluate(&self, facts: &PageFacts) -> f32 {
        let value = |term: QualityTerm| match self.normalized_weights[term.index()] {
            0.0 => 0.0,
            weight => weight * self.scales.score(term, facts),
        };
        // Each term by name, so that the compiler resolves the match: a loop takes twice as long.
        let own = value(QualityTerm::Depth)
            + value(QualityTerm::Static)
            + value(QualityTerm::UrlScore)
            + value(QualityTerm::Random);
        let links =
            value(QualityTerm::Inlinks) + value(QualityTerm::Cash) + value(QualityTerm::TopicRelevance);
        let site =
            value(QualityTerm::SiteInlinks) + value(QualityTerm::SiteQueue) + value(QualityTerm::SiteRank);
        let ranks = value(QualityTerm::PageRank)
            + value(QualityTerm::Hub)
            + value(QualityTerm::Authority)
            + value(QualityTerm::LinkRank);
        // Rounding may lift the sum slightly above 1.
        (own + links + site + ranks).min(1.0)
    }

    /// Contribution of each term with a positive weight, in the order of [`QualityTerm::ALL`].
    pub fn explain(&self, facts: &PageFacts) -> Vec<TermContribution> {
        let contribution = |(term, weight): (QualityTerm, f32)| {
            let score = self.scales.score(term, facts);
            TermContribution { term, score, weight, value: self.normalized_weights[term.index()] * score }
        };
        self.weights.iter().map(contribution).collect()
    }
}

impl Scales {
    fn new(maxima: &FactMaxima) -> Scales {
        Scales {
            depths: f32::from(maxima.depth) + 1.0,
            inlinks: per_log(maxima.inlinks as f32),
            site_inlinks: per_log(maxima.site_inlinks as f32),
            site_unfetched_pages: per_log(maxima.site_unfetched_pages as f32),
            cash: Scale::new(maxima.cash.max, maxima.cash.mean()),
            ranks: maxima.ranks.map(|stat| Scale::new(stat.max, stat.mean())),
        }
    }

    #[inline(always)]
    fn score(&self, term: QualityTerm, facts: &PageFacts) -> f32 {
        let rank = |index: usize| self.ranks[index].score(facts.ranks[index]);
        let score = match term {
            QualityTerm::Depth => 1.0 - f32::from(facts.depth) / self.depths,
            QualityTerm::Static => f32::from(u8::from(!facts.is_dynamic)),
            QualityTerm::Inlinks => log(facts.inlinks as f32) * self.inlinks,
            QualityTerm::SiteInlinks => log(facts.site_inlinks as f32) * self.site_inlinks,
            QualityTerm::SiteQueue => log(facts.site_unfetched_pages as f32) * self.site_unfetched_pages,
            QualityTerm::Cash => self.cash.score(facts.cash),
            QualityTerm::UrlScore => facts.url_score,
            QualityTerm::TopicRelevance => facts.topic_relevance,
            QualityTerm::Random => random_score(facts.page.0),
            QualityTerm::PageRank => rank(0),
            QualityTerm::Hub => rank(1),
            QualityTerm::Authority => rank(2),
            QualityTerm::LinkRank => rank(3),
            QualityTerm::SiteRank => rank(4),
        };
        // NaN becomes 0. A page may exceed the maxima if it changed after the scan.
        if score > 0.0 { score.min(1.0) } else { 0.0 }
    }
}

impl Scale {
    fn new(max: f32, mean: f32) -> Scale {
        // A smaller number has no finite inverse.
        if mean < f32::MIN_POSITIVE {
            return Scale { per_mean: 0.0, per_log: 0.0 };
        }
        Scale { per_mean: 1.0 / mean, per_log: per_log(max / mean) }
    }

    fn score(self, value: f32) -> f32 {
        log(value.max(0.0) * self.per_mean) * self.per_log
    }
}

/// Factor that maps logarithms of numbers up to `max` to 0..1.
fn per_log(max: f32) -> f32 {
    if max > 0.0 { 1.0 / log(max) } else { 0.0 }
}

/// Accurate enough here, and several times as fast as `ln_1p`.
fn log(value: f32) -> f32 {
    (1.0 + value).ln()
}

/// Pseudo-random number from 0 to 1 that depends only on the page: the finalizer of MurmurHash3.
fn random_score(page: u32) -> f32 {
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
    fn scores_follow_the_definitions_of_this_module() {
        let facts = PageFacts {
            depth: 3,
            is_dynamic: true,
            inlinks: 9,
            site_inlinks: 1,
            site_unfetched_pages: 99,
            cash: 1.0,
            url_score: 0.25,
            topic_relevance: 0.5,
            ranks: [1.0, 0.0, 3.0, 0.0, 0.0],
            ..PageFacts::default()
        };
        let extreme = PageFacts {
            depth: 4,
            inlinks: 99,
            site_inlinks: 1,
            site_unfetched_pages: 999,
            cash: 3.0,
            ranks: [3.0, 0.0, 1.0, 0.0, 0.0],
            ..PageFacts::default()
        };
        let mut seen = FactMaxima::default();
        [facts, extreme].iter().for_each(|facts| seen.observe(facts));
        let quality = Quality::new(QualityTerm::ALL.into_iter().map(|term| (term, 2.0)).collect(), &seen);
        // Cash and PageRank: of 1 and 3 the mean is 2, and the score ln(1 + 1/2) / ln(1 + 3/2).
        let half_mean = 1.5_f32.ln() / 2.5_f32.ln();
        let expected = [
            (QualityTerm::Depth, 0.4),
            (QualityTerm::Static, 0.0),
            (QualityTerm::Inlinks, 0.5),
            (QualityTerm::SiteInlinks, 1.0),
            (QualityTerm::SiteQueue, 2.0 / 3.0),
            (QualityTerm::Cash, half_mean),
            (QualityTerm::UrlScore, 0.25),
            (QualityTerm::TopicRelevance, 0.5),
            (QualityTerm::Random, random_score(0)),
            (QualityTerm::PageRank, half_mean),
            (QualityTerm::Hub, 0.0),
            (QualityTerm::Authority, 1.0),
            (QualityTerm::LinkRank, 0.0),
            (QualityTerm::SiteRank, 0.0),
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
        assert_eq!(
            Quality::new(Weights::default(), &FactMaxima::default()).evaluate(&PageFacts::default()),
            0.0
        );
        let links = Weights::default().with(QualityTerm::Inlinks, 1.0).with(QualityTerm::PageRank, 1.0);
        assert_eq!(Quality::new(links, &FactMaxima::default()).evaluate(&PageFacts::default()), 0.0);
    }

    fn any_facts() -> impl Strategy<Value = PageFacts> {
        let counts = (any::<u32>(), any::<u32>(), any::<u32>());
        let shares = (any::<f32>(), any::<f32>(), any::<f32>());
        (any::<u32>(), any::<u8>(), any::<bool>(), counts, shares, any::<[f32; 5]>()).prop_map(
            |(
                page,
                depth,
                is_dynamic,
                (inlinks, site_inlinks, site_unfetched_pages),
                (cash, url_score, topic_relevance),
                ranks,
            )| {
                let page = PageId(page);
                PageFacts {
                    page,
                    depth,
                    is_dynamic,
                    inlinks,
                    site_inlinks,
                    site_unfetched_pages,
                    cash,
                    url_score,
                    topic_relevance,
                    ranks,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn quality_lies_between_0_and_1_for_every_input(
            seen in prop::collection::vec(any_facts(), 0..4), facts in any_facts(), weights in any::<[f32; 14]>(),
        ) {
            let mut maxima = FactMaxima::default();
            seen.iter().for_each(|facts| maxima.observe(facts));
            let quality = Quality::new(QualityTerm::ALL.into_iter().zip(weights).collect(), &maxima);
            let found = quality.evaluate(&facts);
            prop_assert!((0.0..=1.0).contains(&found), "{found}");
            let sum: f32 = quality.explain(&facts).iter().map(|part| part.value).sum();
            prop_assert!((sum - found).abs() < 1e-5, "{sum} {found}");
        }

        #[test]
        fn quality_never_falls_when_a_fact_improves(facts in any_facts(), weights in any::<[f32; 14]>()) {
            let better = PageFacts {
                depth: facts.depth / 2,
                is_dynamic: false,
                inlinks: facts.inlinks.saturating_mul(2),
                cash: facts.cash.abs() * 2.0,
                ..facts
            };
            let mut maxima = FactMaxima::default();
            [facts, better].iter().for_each(|facts| maxima.observe(facts));
            let quality = Quality::new(QualityTerm::ALL.into_iter().zip(weights).collect(), &maxima);
            prop_assert!(quality.evaluate(&better) >= quality.evaluate(&facts) - 1e-6);
        }
    }
}
