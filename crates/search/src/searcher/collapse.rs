//! Collapsing of near duplicates: of each cluster only the best hit is returned, with the number of the others.

use std::collections::HashMap;

use super::candidate::Candidate;
use super::rank_cache::RankSnapshot;

/// Hits, each with the number of its collapsed near duplicates.
pub(super) struct CollapsedHits(Vec<(Candidate, u32)>);

impl CollapsedHits {
    pub(super) fn new(found: &[Candidate], ranks: &RankSnapshot, collapse: bool) -> CollapsedHits {
        let mut hits: Vec<(Candidate, u32)> = Vec::with_capacity(found.len());
        let mut firsts: HashMap<u32, usize> = HashMap::new();
        for candidate in found {
            if let Some(group) = ranks.near_group(candidate.page).filter(|_| collapse) {
                if let Some(first) = firsts.get(&group) {
                    hits[*first].1 += 1;
                    continue;
                }
                firsts.insert(group, hits.len());
            }
            hits.push((*candidate, 0));
        }
        CollapsedHits(hits)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (Candidate, u32)> {
        self.0.into_iter()
    }
}
