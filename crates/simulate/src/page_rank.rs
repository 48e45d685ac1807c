//! PageRank of a whole Web model, and of the known part during a crawl. The iteration is that of the crawl's manager.

use std::convert::Infallible;

use frontier::{TELEPORT_PROBABILITY, streaming_pagerank};
use model::PageId;

use crate::crawl_state::CrawlState;
use crate::web_model::WebModel;

/// PageRank of all pages of a Web model; the sum is 1.
pub fn page_ranks(web: &WebModel) -> Vec<f64> {
    let ranks = streaming_pagerank(web.pages.len(), |f| {
        (0..web.pages.len() as u32).for_each(|page| f(PageId(page), web.links(PageId(page))));
        Ok::<(), Infallible>(())
    });
    ranks.unwrap_or_else(|never| match never {})
}

/// PageRank of the known pages as in the crawl's manager: recomputed when the number of fetched pages has grown by a
/// tenth.
#[derive(Debug, Default)]
pub(crate) struct PeriodicPageRank {
    /// Ranks by id; pages discovered since have none.
    ranks: Vec<f64>,
    /// Number of fetched pages at the last computation.
    fetched: Option<usize>,
}

/// Growth for the next computation: 1/10, as in the crawl.
const GROWTH_DIVISOR: usize = 10;

impl PeriodicPageRank {
    /// Updates the ranks before a selection. If they are not recomputed and `estimates` is set, pages without a rank
    /// get what other pages pass on to them now, until the next computation.
    pub(crate) fn refresh(&mut self, state: &CrawlState<'_>, estimates: bool) {
        let fetched = state.sources.len();
        if self.fetched.is_none_or(|before| fetched > before + before / GROWTH_DIVISOR) {
            self.compute(state);
        } else if estimates {
            self.estimate(state);
        }
    }

    fn compute(&mut self, state: &CrawlState<'_>) {
        let ranks = streaming_pagerank(state.pages.len(), |f| {
            state.for_each_source(f);
            Ok::<(), Infallible>(())
        });
        self.ranks = ranks.unwrap_or_else(|never| match never {});
        self.fetched = Some(state.sources.len());
    }

    fn estimate(&mut self, state: &CrawlState<'_>) {
        let (ranked, pages) = (self.ranks.len(), state.pages.len());
        let mut new = vec![TELEPORT_PROBABILITY / pages.max(1) as f64; pages.saturating_sub(ranked)];
        state.for_each_source(&mut |source, targets| {
            let others = targets.iter().filter(|target| **target != source);
            let count = others.clone().count();
            let share = (1.0 - TELEPORT_PROBABILITY) * self.get(source.0) / count as f64;
            for target in others {
                if let Some(new) = target.index().checked_sub(ranked).and_then(|index| new.get_mut(index)) {
                    *new += share;
                }
            }
        });
        self.ranks.extend(new);
    }

    pub(crate) fn get(&self, number: u32) -> f64 {
        self.ranks.get(number as usize).copied().unwrap_or(0.0)
    }
}

/// PageRank of these pages if they are the only fetched ones, in their order.
pub(crate) fn partial_ranks(web: &WebModel, fetched: &[PageId]) -> Vec<f64> {
    let mut state = CrawlState::new(web);
    fetched.iter().for_each(|page| state.fetch(*page));
    let mut ranks = PeriodicPageRank::default();
    ranks.compute(&state);
    fetched.iter().map(|page| ranks.get(state.id_of(*page))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web_model::tests::web;

    #[test]
    fn ranks_of_a_whole_web_equal_those_of_a_finished_crawl() {
        let web = web(&[4], &[(0, 1), (1, 2), (2, 0), (0, 3), (3, 0), (3, 1)]);
        let all: Vec<PageId> = (0..4).map(PageId).collect();
        let (whole, crawled) = (page_ranks(&web), partial_ranks(&web, &all));
        let differ = whole.iter().zip(&crawled).any(|(a, b)| (a - b).abs() > 1e-6);
        assert!(!differ, "{whole:?} {crawled:?}");
        assert!((whole.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn new_pages_get_estimates_until_a_tenth_more_is_fetched() {
        // Page 0 links to ten pages, each of which links back and to one more.
        let links: Vec<(u32, u32)> =
            (1..=20).flat_map(|page| [(0, page), (page, 0), (page, page + 20), (1, 41)]).collect();
        let web = web(&[42], &links);
        for estimates in [false, true] {
            let mut state = CrawlState::new(&web);
            let mut ranks = PeriodicPageRank::default();
            (0..=10).for_each(|page| state.fetch(PageId(page)));
            ranks.refresh(&state, estimates);
            let before = ranks.ranks.clone();
            assert!((before.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            state.fetch(PageId(11));
            ranks.refresh(&state, estimates);
            let source = state.id_of(PageId(11));
            let expected = 0.15 / (before.len() + 1) as f64 + 0.85 * before[source as usize] / 2.0;
            let new = if estimates { vec![expected] } else { Vec::new() };
            assert_eq!(ranks.ranks, [&before[..], &new].concat(), "one more of eleven is not a tenth more");
            state.fetch(PageId(12));
            ranks.refresh(&state, estimates);
            assert_eq!(ranks.ranks.len(), before.len() + 2);
            assert!((ranks.ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9, "all ranks are recomputed");
        }
    }
}
