//! PageRank of a whole Web, and of what a crawl knows of it so far. The iteration is that of the crawl's manager.

use std::convert::Infallible;

use frontier::{JUMP, forward_rank};
use model::PageId;

use crate::known::Known;
use crate::web::Web;

/// The PageRank of every page of a Web: the sum is 1.
pub fn page_ranks(web: &Web) -> Vec<f64> {
    let ranks = forward_rank(web.pages.len(), |each| {
        (0..web.pages.len() as u32).for_each(|page| each(PageId(page), web.links(PageId(page))));
        Ok::<(), Infallible>(())
    });
    ranks.unwrap_or_else(|never| match never {})
}

/// The PageRank of what is known, as the manager of the crawl has it: computed when a tenth more pages were fetched than the
/// last time.
#[derive(Debug, Default)]
pub(crate) struct KnownRanks {
    /// By number; pages that were met since have none.
    ranks: Vec<f64>,
    /// Pages that were fetched when it was computed.
    fetched: Option<usize>,
}

/// It is computed again when so much more pages are fetched: 1/10, as in the crawl.
const GROWTH: usize = 10;

impl KnownRanks {
    /// Brings it up to date before a choice. If it is not computed anew, and `estimates` is set, pages that have none are
    /// given what others pass on to them now, once and for all until then.
    pub(crate) fn refresh(&mut self, known: &Known<'_>, estimates: bool) {
        let fetched = known.sources.len();
        if self.fetched.is_none_or(|before| fetched > before + before / GROWTH) {
            self.compute(known);
        } else if estimates {
            self.estimate(known);
        }
    }

    fn compute(&mut self, known: &Known<'_>) {
        let ranks = forward_rank(known.pages.len(), |each| {
            known.pass(each);
            Ok::<(), Infallible>(())
        });
        self.ranks = ranks.unwrap_or_else(|never| match never {});
        self.fetched = Some(known.sources.len());
    }

    fn estimate(&mut self, known: &Known<'_>) {
        let (ranked, pages) = (self.ranks.len(), known.pages.len());
        let mut new = vec![JUMP / pages.max(1) as f64; pages.saturating_sub(ranked)];
        known.pass(&mut |source, targets| {
            let share = (1.0 - JUMP) * self.of(source.0) / targets.len() as f64;
            for target in targets {
                if let Some(new) = target.index().checked_sub(ranked).and_then(|index| new.get_mut(index)) {
                    *new += share;
                }
            }
        });
        self.ranks.extend(new);
    }

    pub(crate) fn of(&self, number: u32) -> f64 {
        self.ranks.get(number as usize).copied().unwrap_or(0.0)
    }
}

/// The PageRank of these pages, if they are all that was fetched, in their order.
pub(crate) fn partial_ranks(web: &Web, fetched: &[PageId]) -> Vec<f64> {
    let mut known = Known::new(web);
    fetched.iter().for_each(|page| known.fetch(*page));
    let mut ranks = KnownRanks::default();
    ranks.compute(&known);
    fetched.iter().map(|page| ranks.of(known.number(*page))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::tests::web;

    #[test]
    fn ranks_of_a_whole_web_are_those_of_a_finished_crawl() {
        let web = web(&[4], &[(0, 1), (1, 2), (2, 0), (0, 3), (3, 0), (3, 1)]);
        let all: Vec<PageId> = (0..4).map(PageId).collect();
        let (whole, crawled) = (page_ranks(&web), partial_ranks(&web, &all));
        let differ = whole.iter().zip(&crawled).any(|(a, b)| (a - b).abs() > 1e-6);
        assert!(!differ, "{whole:?} {crawled:?}");
        assert!((whole.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn pages_met_since_have_what_is_passed_on_to_them_until_a_tenth_more_is_fetched() {
        // Page 0 links to ten pages, each of which links back and to one more.
        let links: Vec<(u32, u32)> =
            (1..=20).flat_map(|page| [(0, page), (page, 0), (page, page + 20), (1, 41)]).collect();
        let web = web(&[42], &links);
        for estimates in [false, true] {
            let mut known = Known::new(&web);
            let mut ranks = KnownRanks::default();
            (0..=10).for_each(|page| known.fetch(PageId(page)));
            ranks.refresh(&known, estimates);
            let before = ranks.ranks.clone();
            assert!((before.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            known.fetch(PageId(11));
            ranks.refresh(&known, estimates);
            let source = known.number(PageId(11));
            let expected = 0.15 / (before.len() + 1) as f64 + 0.85 * before[source as usize] / 2.0;
            let met = if estimates { vec![expected] } else { Vec::new() };
            assert_eq!(ranks.ranks, [&before[..], &met].concat(), "one more of eleven is not a tenth more");
            known.fetch(PageId(12));
            ranks.refresh(&known, estimates);
            assert_eq!(ranks.ranks.len(), before.len() + 2);
            assert!((ranks.ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9, "all are computed anew");
        }
    }
}
