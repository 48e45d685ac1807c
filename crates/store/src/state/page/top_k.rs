//! Top-k selection with a limit per site, in memory of O(k).
//!
//! The result equals that of a full sort: pages by score, highest first (of equal scores the lower id first), and of
//! each site only the first L. Candidates are collected in a buffer; when it is full, it is pruned to the result over the
//! pages seen so far.
//!
//! Pruning is exact. A page is dropped if L better pages of its site were seen, which stays true; or if K better pages
//! exist, counting at most L of each site, and that count never decreases. For the same reason the results over parts
//! (one per core) can be merged to the result over the whole.

use std::cmp::Reverse;
use std::collections::HashMap;

use model::{PageId, SiteId};

/// Collector of the pages with the highest scores.
#[derive(Debug)]
pub struct TopK {
    k: usize,
    per_site: usize,
    candidates: Vec<Candidate>,
    /// Keys up to this one cannot be in the result.
    threshold: u64,
    /// Thresholds of sites that have reached their limit.
    site_thresholds: HashMap<u32, u64>,
}

/// Page with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredPage {
    /// Page.
    pub page: PageId,
    /// Site of the page.
    pub site: SiteId,
    /// Score.
    pub score: f32,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Orders by score, then by lower id; see [`key`].
    key: u64,
    site: u32,
}

/// Size of the buffer as a multiple of K.
const SLACK: usize = 4;
/// Minimum size of the buffer, for small K.
const MIN_CANDIDATES: usize = 1 << 12;

impl TopK {
    /// Creates a collector of the `k` best pages, with at most `per_site` of one site.
    pub fn new(k: usize, per_site: usize) -> TopK {
        TopK { k, per_site, candidates: Vec::new(), threshold: 0, site_thresholds: HashMap::new() }
    }

    /// Adds a page; NaN is ignored.
    pub fn push(&mut self, page: PageId, site: SiteId, score: f32) {
        let key = key(score, page);
        if key > self.threshold && !score.is_nan() {
            self.insert(Candidate { key, site: site.0 });
        }
    }

    /// Merges another collector.
    pub(crate) fn merge(&mut self, other: TopK) {
        for candidate in other.candidates {
            if candidate.key > self.threshold {
                self.insert(candidate);
            }
        }
    }

    /// Returns the best pages, best first.
    pub fn finish(mut self) -> Vec<ScoredPage> {
        self.prune();
        self.candidates.sort_unstable_by_key(|candidate| Reverse(candidate.key));
        let best = |candidate: &Candidate| {
            let (page, score) = unkey(candidate.key);
            ScoredPage { page, site: SiteId(candidate.site), score }
        };
        self.candidates.iter().map(best).collect()
    }

    fn insert(&mut self, candidate: Candidate) {
        if self.site_thresholds.get(&candidate.site).is_some_and(|threshold| candidate.key <= *threshold) {
            return;
        }
        self.candidates.push(candidate);
        if self.candidates.len() >= self.k.saturating_mul(SLACK).max(MIN_CANDIDATES) {
            self.prune();
        }
    }

    fn prune(&mut self) {
        self.candidates.sort_unstable_by_key(|candidate| (candidate.site, Reverse(candidate.key)));
        self.site_thresholds.clear();
        let (mut site, mut of_site) = (None, 0);
        let (per_site, site_thresholds) = (self.per_site, &mut self.site_thresholds);
        self.candidates.retain(|candidate| {
            if site != Some(candidate.site) {
                (site, of_site) = (Some(candidate.site), 0);
            }
            of_site += 1;
            if of_site == per_site {
                site_thresholds.insert(candidate.site, candidate.key);
            }
            of_site <= per_site
        });
        if self.candidates.len() > self.k {
            if let Some(last) = self.k.checked_sub(1) {
                let by_key = |candidate: &Candidate| Reverse(candidate.key);
                let (_, worst, _) = self.candidates.select_nth_unstable_by_key(last, by_key);
                self.threshold = worst.key;
            }
            self.candidates.truncate(self.k);
        }
    }
}

/// Sort key: larger for a higher score, and for a lower id if scores are equal; never 0.
fn key(score: f32, page: PageId) -> u64 {
    // Adding zero turns -0.0 into 0.0.
    let bits = (score + 0.0).to_bits();
    // IEEE 754 floats order like integers after the bits of negative ones are inverted.
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u64::from(ordered) << 32 | u64::from(!page.0)
}

fn unkey(key: u64) -> (PageId, f32) {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered };
    (PageId(!(key as u32)), f32::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Page = (u32, f32);

    fn by_full_sort(pages: &[Page], k: usize, per_site: usize) -> Vec<(PageId, f32)> {
        let mut sorted: Vec<(u32, Page)> = (0..).zip(pages.iter().copied()).collect();
        sorted.retain(|(_, (_, score))| !score.is_nan());
        sorted.sort_by(|a, b| b.1.1.partial_cmp(&a.1.1).unwrap().then(a.0.cmp(&b.0)));
        let mut of_site: HashMap<u32, usize> = HashMap::new();
        let selected = sorted.into_iter().filter(|(_, (site, _))| {
            let count = of_site.entry(*site).or_default();
            *count += 1;
            *count <= per_site
        });
        selected.take(k).map(|(page, (_, score))| (PageId(page), score)).collect()
    }

    fn by_parts(pages: &[Page], k: usize, per_site: usize, parts: usize) -> Vec<(PageId, f32)> {
        let mut tops: Vec<TopK> = (0..parts).map(|_| TopK::new(k, per_site)).collect();
        for (page, (site, score)) in (0..).zip(pages) {
            tops[page as usize % parts].push(PageId(page), SiteId(*site), *score);
        }
        let mut all = TopK::new(k, per_site);
        tops.into_iter().for_each(|top| all.merge(top));
        all.finish().into_iter().map(|best| (best.page, best.score)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_result_equals_that_of_a_full_sort(
            // Few sites and few scores: many ties, many sites at their limit.
            pages in prop::collection::vec((0u32..20, prop::sample::select(vec![-1.5f32, -0.0, 0.0, 0.25, 1.0, f32::NAN, 7.0, f32::INFINITY])), 0..20_000),
            k in 0usize..2_000, per_site in 0usize..300, parts in 1usize..4,
        ) {
            prop_assert_eq!(by_parts(&pages, k, per_site, parts), by_full_sort(&pages, k, per_site));
        }

        #[test]
        fn the_result_equals_that_of_a_full_sort_for_any_scores(
            pages in prop::collection::vec((0u32..2_000, -1e3f32..1e3), 0..20_000), k in 0usize..5_000, per_site in 1usize..9,
        ) {
            prop_assert_eq!(by_parts(&pages, k, per_site, 2), by_full_sort(&pages, k, per_site));
        }
    }

    #[test]
    fn a_site_with_all_the_best_pages_gets_its_limit() {
        // Site 0 has nine of ten pages, and each of them beats all others; its best come last.
        let pages: Vec<Page> = (0..300_000u32)
            .map(|page| if page % 10 == 0 { (page / 10, 0.5) } else { (0, page as f32) })
            .collect();
        let top = by_parts(&pages, 1_000, 500, 2);
        assert_eq!(top, by_full_sort(&pages, 1_000, 500));
        assert_eq!(top[0].0, PageId(299_999));
        assert_eq!(top.iter().filter(|(page, _)| page.0 % 10 != 0).count(), 500);
    }

    #[test]
    fn memory_stays_within_a_few_times_k() {
        let mut top = TopK::new(10_000, 1);
        for page in 0..1_000_000 {
            top.push(PageId(page), SiteId(page), page as f32);
        }
        assert!(top.candidates.capacity() <= 2 * SLACK * 10_000, "{}", top.candidates.capacity());
        assert!(top.site_thresholds.len() <= SLACK * 10_000);
    }
}
