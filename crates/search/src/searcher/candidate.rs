//! Candidate hit: a matching page with its score.

use tantivy::{DocId, Score, SegmentOrdinal};

/// Candidate hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// Sort key, descending.
    pub(super) key: f64,
    pub(super) score: f32,
    pub(super) page: u32,
    pub(super) segment: SegmentOrdinal,
    pub(super) doc: DocId,
    /// Whether the score has the bonus for adjacent words.
    pub(super) is_rescored: bool,
}

impl Candidate {
    /// Adds to the score, in the order of relevance.
    pub(super) fn add(&mut self, score: Score) {
        self.score += score;
        self.key = f64::from(self.score);
    }

    /// Descending key, then ascending page id.
    pub(super) fn order(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
        b.key.total_cmp(&a.key).then(a.page.cmp(&b.page))
    }
}
