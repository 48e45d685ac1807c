//! Selection of the pages of a batch from the best candidates.
//!
//! A share of the batch is reserved for discovered pages, if there are enough of them; the rest is selected by priority. Failed
//! pages come after the discovered pages of their site: they may fail again, and put the site into back-off.

use std::collections::{HashMap, HashSet};

use model::{PageId, SiteId};
use store::ScoredPage;

use crate::manager::domain_budget::DomainRooms;

/// Limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchLimits {
    /// Maximum number of pages.
    pub(super) pages: usize,
    /// Pages reserved for discovered ones.
    pub(super) reserved: usize,
    /// Maximum number of pages of one site.
    pub(super) per_site: usize,
}

/// Candidates of each kind, best first.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Pages never fetched.
    pub(super) discovered: Vec<ScoredPage>,
    /// Pages fetched before.
    pub(super) fetched: Vec<ScoredPage>,
    /// Pages whose last fetch failed.
    pub(super) failed: Vec<ScoredPage>,
}

/// Selects the pages of a batch, best first. `remaining` is the number of requests left for a site; `None` is unlimited. Pages
/// without a successful fetch count against the budget of their domain.
pub(super) fn select(
    candidates: Candidates,
    limits: BatchLimits,
    remaining: impl Fn(SiteId) -> Option<usize>,
    domains: &mut DomainRooms,
) -> Vec<PageId> {
    let Candidates { discovered, mut fetched, failed } = candidates;
    let sites_with_discovered: HashSet<SiteId> = discovered.iter().map(|best| best.site).collect();
    let (last, failed): (Vec<ScoredPage>, Vec<ScoredPage>) =
        failed.into_iter().partition(|best| sites_with_discovered.contains(&best.site));
    let visited: HashSet<PageId> = fetched.iter().map(|best| best.page).collect();
    fetched.extend(failed);
    fetched.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut by_site: HashMap<SiteId, usize> = HashMap::new();
    let mut fits = |best: &ScoredPage| {
        let count = by_site.entry(best.site).or_default();
        let fits = *count < limits.per_site.min(remaining(best.site).unwrap_or(usize::MAX))
            && (visited.contains(&best.page) || domains.take(best.site));
        *count += usize::from(fits);
        fits
    };
    let mut discovered = discovered.iter().copied().peekable();
    let mut selected: Vec<ScoredPage> = Vec::new();
    while selected.len() < limits.reserved.min(limits.pages) {
        let Some(best) = discovered.next() else { break };
        selected.extend(Some(best).filter(&mut fits));
    }
    let mut fetched = fetched.iter().copied().peekable();
    while selected.len() < limits.pages {
        let better = match (discovered.peek(), fetched.peek()) {
            (Some(one), Some(other)) if one.score >= other.score => discovered.next(),
            (_, Some(_)) => fetched.next(),
            (Some(_), None) => discovered.next(),
            (None, None) => break,
        };
        selected.extend(better.filter(&mut fits));
    }
    selected.sort_by(|one, other| other.score.total_cmp(&one.score));
    let free = limits.pages.saturating_sub(selected.len());
    selected.extend(last.into_iter().filter(&mut fits).take(free));
    selected.into_iter().map(|best| best.page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(first: u32, site: u32, scores: &[f32]) -> Vec<ScoredPage> {
        let pages = scores.iter().zip(first..);
        pages
            .map(|(score, page)| ScoredPage { page: PageId(page), site: SiteId(site), score: *score })
            .collect()
    }

    fn numbers(limits: (usize, usize, usize), new: &[ScoredPage], seen: &[ScoredPage]) -> Vec<u32> {
        let (pages, reserved, per_site) = limits;
        let candidates = Candidates { discovered: new.to_vec(), fetched: seen.to_vec(), failed: Vec::new() };
        let selected = select(
            candidates,
            BatchLimits { pages, reserved, per_site },
            |_| None,
            &mut DomainRooms::default(),
        );
        selected.into_iter().map(|page| page.0).collect()
    }

    #[test]
    fn pages_are_selected_by_priority_with_a_reserved_share() {
        let (new, seen) = (list(0, 1, &[0.5, 0.2, 0.1]), list(10, 2, &[0.9, 0.8, 0.3]));
        assert_eq!(numbers((3, 0, 9), &new, &seen), [10, 11, 0]);
        assert_eq!(numbers((3, 2, 9), &new, &seen), [10, 0, 1]);
        assert_eq!(numbers((4, 4, 9), &new, &seen), [10, 0, 1, 2]);
        // Slots that one kind does not use go to the other.
        assert_eq!(numbers((9, 9, 9), &[], &seen), [10, 11, 12]);
        assert_eq!(numbers((9, 0, 9), &new, &[]), [0, 1, 2]);
        assert_eq!(numbers((9, 1, 2), &new, &seen), [10, 11, 0, 1]);
    }

    #[test]
    fn a_site_gets_no_more_than_its_remaining_requests() {
        let (new, seen) = (list(0, 1, &[0.5, 0.2, 0.1]), list(10, 1, &[0.9, 0.8, 0.3]));
        let limits = BatchLimits { pages: 9, reserved: 1, per_site: 9 };
        let candidates = Candidates { discovered: new, fetched: seen, failed: Vec::new() };
        let selected = select(candidates, limits, |_| Some(2), &mut DomainRooms::default());
        assert_eq!(selected, [PageId(10), PageId(0)]);
    }

    #[test]
    fn failed_pages_come_after_the_discovered_pages_of_their_site_but_compete_with_revisits() {
        let limits = BatchLimits { pages: 4, reserved: 0, per_site: 9 };
        let of = |new: Vec<ScoredPage>, seen: Vec<ScoredPage>| {
            let mut failed = list(20, 1, &[0.6]);
            failed.extend(list(30, 2, &[0.4]));
            let candidates = Candidates { discovered: new, fetched: seen, failed };
            let selected = select(candidates, limits, |_| None, &mut DomainRooms::default());
            selected.into_iter().map(|page| page.0).collect::<Vec<u32>>()
        };
        assert_eq!(of(list(0, 1, &[0.5, 0.1]), list(10, 3, &[0.9])), [10, 0, 30, 1]);
        assert_eq!(of(list(0, 1, &[0.5]), list(10, 3, &[0.9])), [10, 0, 30, 20]);
        assert_eq!(of(Vec::new(), list(10, 3, &[0.9, 0.3, 0.2, 0.1])), [10, 20, 30, 11]);
    }
}
