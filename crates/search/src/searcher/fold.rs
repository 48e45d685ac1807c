//! Which hits say nearly the same as one before? Of each group of near duplicates the first is shown, and tells of the others.

use std::collections::HashMap;

use super::best_pages::Candidate;
use super::ranks::Ranks;

/// Hits with the number of near duplicates of each that follow it.
pub(super) struct Folded(Vec<(Candidate, u32)>);

impl Folded {
    pub(super) fn of(found: &[Candidate], ranks: &Ranks, fold: bool) -> Folded {
        let mut shown: Vec<(Candidate, u32)> = Vec::with_capacity(found.len());
        let mut firsts: HashMap<u32, usize> = HashMap::new();
        for candidate in found {
            if let Some(group) = ranks.near_group(candidate.page).filter(|_| fold) {
                if let Some(first) = firsts.get(&group) {
                    shown[*first].1 += 1;
                    continue;
                }
                firsts.insert(group, shown.len());
            }
            shown.push((*candidate, 0));
        }
        Folded(shown)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (Candidate, u32)> {
        self.0.into_iter()
    }
}
