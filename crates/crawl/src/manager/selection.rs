//! Which of the best make the batch? Pages that nobody has tried have a part of it to themselves, if there are enough of them;
//! the rest goes by profit. Pages that failed come after those of their site that nobody has tried: they may fail again, and
//! their site with them.

use std::collections::{HashMap, HashSet};

use model::{PageId, SiteId};
use store::Best;

/// What bounds a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Most pages.
    pub(super) pages: usize,
    /// Of those, reserved for pages that nobody has seen.
    pub(super) reserved: usize,
    /// Most pages of one site.
    pub(super) per_site: usize,
}

/// The best pages of each kind, best first.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Pages that nobody has tried.
    pub(super) new: Vec<Best>,
    /// Pages that were fetched before.
    pub(super) seen: Vec<Best>,
    /// Pages that failed when they were last tried.
    pub(super) failed: Vec<Best>,
}

/// The pages of a batch, best first. `left` tells how many pages of a site may be asked for; nothing stands for any number.
pub(super) fn select(
    candidates: Candidates,
    room: Room,
    left: impl Fn(SiteId) -> Option<usize>,
) -> Vec<PageId> {
    let Candidates { new, mut seen, failed } = candidates;
    let sites_with_new: HashSet<SiteId> = new.iter().map(|best| best.site).collect();
    let (last, failed): (Vec<Best>, Vec<Best>) =
        failed.into_iter().partition(|best| sites_with_new.contains(&best.site));
    seen.extend(failed);
    seen.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut of_site: HashMap<SiteId, usize> = HashMap::new();
    let mut fits = |best: &Best| {
        let taken = of_site.entry(best.site).or_default();
        let fits = *taken < room.per_site.min(left(best.site).unwrap_or(usize::MAX));
        *taken += usize::from(fits);
        fits
    };
    let mut new = new.iter().copied().peekable();
    let mut chosen: Vec<Best> = Vec::new();
    while chosen.len() < room.reserved.min(room.pages) {
        let Some(best) = new.next() else { break };
        chosen.extend(Some(best).filter(&mut fits));
    }
    let mut seen = seen.iter().copied().peekable();
    while chosen.len() < room.pages {
        let better = match (new.peek(), seen.peek()) {
            (Some(one), Some(other)) if one.score >= other.score => new.next(),
            (_, Some(_)) => seen.next(),
            (Some(_), None) => new.next(),
            (None, None) => break,
        };
        chosen.extend(better.filter(&mut fits));
    }
    chosen.sort_by(|one, other| other.score.total_cmp(&one.score));
    let room_left = room.pages.saturating_sub(chosen.len());
    chosen.extend(last.into_iter().filter(&mut fits).take(room_left));
    chosen.into_iter().map(|best| best.page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(first: u32, site: u32, scores: &[f32]) -> Vec<Best> {
        let pages = scores.iter().zip(first..);
        pages.map(|(score, page)| Best { page: PageId(page), site: SiteId(site), score: *score }).collect()
    }

    fn numbers(room: (usize, usize, usize), new: &[Best], seen: &[Best]) -> Vec<u32> {
        let (pages, reserved, per_site) = room;
        let candidates = Candidates { new: new.to_vec(), seen: seen.to_vec(), failed: Vec::new() };
        let chosen = select(candidates, Room { pages, reserved, per_site }, |_| None);
        chosen.into_iter().map(|page| page.0).collect()
    }

    #[test]
    fn profit_decides_and_a_part_is_reserved() {
        let (new, seen) = (list(0, 1, &[0.5, 0.2, 0.1]), list(10, 2, &[0.9, 0.8, 0.3]));
        assert_eq!(numbers((3, 0, 9), &new, &seen), [10, 11, 0]);
        assert_eq!(numbers((3, 2, 9), &new, &seen), [10, 0, 1]);
        assert_eq!(numbers((4, 4, 9), &new, &seen), [10, 0, 1, 2]);
        // Whoever has too few leaves the room to the other.
        assert_eq!(numbers((9, 9, 9), &[], &seen), [10, 11, 12]);
        assert_eq!(numbers((9, 0, 9), &new, &[]), [0, 1, 2]);
        assert_eq!(numbers((9, 1, 2), &new, &seen), [10, 11, 0, 1]);
    }

    #[test]
    fn a_site_gets_what_it_has_left() {
        let (new, seen) = (list(0, 1, &[0.5, 0.2, 0.1]), list(10, 1, &[0.9, 0.8, 0.3]));
        let room = Room { pages: 9, reserved: 1, per_site: 9 };
        let chosen = select(Candidates { new, seen, failed: Vec::new() }, room, |_| Some(2));
        assert_eq!(chosen, [PageId(10), PageId(0)]);
    }

    #[test]
    fn what_failed_comes_after_what_nobody_tried_of_its_site_but_not_after_all_visits() {
        let room = Room { pages: 4, reserved: 0, per_site: 9 };
        let of = |new: Vec<Best>, seen: Vec<Best>| {
            let mut failed = list(20, 1, &[0.6]);
            failed.extend(list(30, 2, &[0.4]));
            let chosen = select(Candidates { new, seen, failed }, room, |_| None);
            chosen.into_iter().map(|page| page.0).collect::<Vec<u32>>()
        };
        assert_eq!(of(list(0, 1, &[0.5, 0.1]), list(10, 3, &[0.9])), [10, 0, 30, 1]);
        assert_eq!(of(list(0, 1, &[0.5]), list(10, 3, &[0.9])), [10, 0, 30, 20]);
        assert_eq!(of(Vec::new(), list(10, 3, &[0.9, 0.3, 0.2, 0.1])), [10, 20, 30, 11]);
    }
}
