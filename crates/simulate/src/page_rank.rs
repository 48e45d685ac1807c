//! PageRank of a whole Web, and of what a crawl knows of it so far. The iteration is that of the crawl's manager.

use std::convert::Infallible;

use frontier::{JUMP, forward_rank, improve_rank};
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

/// The PageRank of what is known, as it was when it was last computed.
#[derive(Debug, Default)]
pub(crate) struct KnownRanks {
    /// By number.
    ranks: Vec<f64>,
    /// Pages that were known then; the others have what they were given since.
    ranked: usize,
    /// Pages that were fetched then.
    pub(crate) fetched: usize,
}

/// Ranks that move less than this in all put pages in the same order, but for a few.
const LEAST_CHANGE: f64 = 1e-3;

impl KnownRanks {
    /// Computes it anew, beginning with what it was.
    pub(crate) fn compute(&mut self, known: &Known<'_>) {
        self.compute_to(known, LEAST_CHANGE);
    }

    fn compute_to(&mut self, known: &Known<'_>, least_change: f64) {
        let pages = known.pages.len();
        self.ranks.truncate(self.ranked);
        self.ranks.resize(pages, 1.0 / pages as f64);
        let sum: f64 = self.ranks.iter().sum();
        self.ranks.iter_mut().for_each(|rank| *rank /= sum);
        let improved = improve_rank(&mut self.ranks, least_change, |each| {
            known.pass(each);
            Ok::<(), Infallible>(())
        });
        improved.unwrap_or_else(|never| match never {});
        (self.ranked, self.fetched) = (pages, known.sources.len());
    }

    pub(crate) fn of(&self, number: u32) -> f64 {
        self.ranks.get(number as usize).copied().unwrap_or(0.0)
    }

    /// What a page that is fetched gives to each of its links.
    pub(crate) fn gift(&self, number: u32, links: usize) -> f64 {
        (1.0 - JUMP) * self.of(number) / links.max(1) as f64
    }

    /// A page is given something; those that had a rank when it was computed have it in there already.
    pub(crate) fn give(&mut self, number: u32, gift: f64) {
        let number = number as usize;
        if number >= self.ranked {
            self.ranks.resize(self.ranks.len().max(number + 1), 0.0);
            self.ranks[number] += gift;
        }
    }
}

/// The PageRank of these pages, if they are all that was fetched, in their order.
pub(crate) fn partial_ranks(web: &Web, fetched: &[PageId]) -> Vec<f64> {
    let mut known = Known::new(web);
    fetched.iter().for_each(|page| known.fetch(*page, |_| ()));
    let mut ranks = KnownRanks::default();
    ranks.compute_to(&known, 1e-7);
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
    fn only_pages_met_since_are_given_something() {
        let web = web(&[4], &[(0, 1), (1, 2), (1, 0)]);
        let mut known = Known::new(&web);
        let mut ranks = KnownRanks::default();
        known.fetch(PageId(0), |_| ());
        ranks.compute(&known);
        let before = ranks.of(0);
        let gift = ranks.gift(1, 2);
        known.fetch(PageId(1), |target| ranks.give(target, gift));
        assert_eq!((ranks.of(0), ranks.of(2)), (before, gift));
        assert!(gift > 0.0 && ranks.of(3) == 0.0);
    }
}
