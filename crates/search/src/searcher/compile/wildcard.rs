//! Expansion of wildcards to the most frequent matching terms of the index.
//!
//! The term dictionaries of all segments are merged in order, so that each term is visited once and only the top terms are in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::schema::Field;
use tantivy::termdict::TermMerger;
use tantivy::{InvertedIndexReader, Searcher, TantivyError, Term};

use crate::error::Result;
use crate::searcher::deadline::Deadline;
use crate::searcher::limit_hit::{LimitHit, MAX_EXPANDED_TERMS, MAX_SCANNED_TERMS};
use crate::text::wildcard::WildcardPattern;

/// Number of terms between two checks of the deadline.
const DEADLINE_CHECK_INTERVAL: usize = 1_024;

/// Expands wildcards within the limits on terms and time.
#[derive(Debug)]
pub(crate) struct WildcardExpander {
    deadline: Deadline,
    /// Limits hit so far.
    pub(crate) limits_hit: Vec<LimitHit>,
}

impl WildcardExpander {
    pub(crate) fn new(deadline: &Deadline) -> WildcardExpander {
        WildcardExpander { deadline: deadline.clone(), limits_hit: Vec::new() }
    }

    /// Returns the matching terms of a field.
    pub(crate) fn terms(
        &mut self,
        searcher: &Searcher,
        field: Field,
        pattern: &WildcardPattern,
    ) -> Result<Vec<Term>> {
        let segments = searcher.segment_readers().iter().map(|segment| segment.inverted_index(field));
        let segments: Vec<Arc<InvertedIndexReader>> = segments.collect::<tantivy::Result<_>>()?;
        let mut streams = Vec::with_capacity(segments.len());
        for segment in &segments {
            let range = segment.terms().range().ge(pattern.start());
            streams.push(range.into_stream().map_err(TantivyError::from)?);
        }
        let mut words = TermMerger::new(streams);
        let mut found = TopTerms::new(MAX_EXPANDED_TERMS);
        let mut scanned = 0;
        while words.advance() {
            scanned += 1;
            if scanned > MAX_SCANNED_TERMS {
                self.record_limit(LimitHit::WildcardScan);
                break;
            }
            if scanned % DEADLINE_CHECK_INTERVAL == 0 && self.deadline.is_expired() {
                break;
            }
            if !words.key().starts_with(pattern.start().as_bytes()) {
                break;
            }
            if !pattern.matches(words.key()) {
                continue;
            }
            let infos = words.current_segment_ords_and_term_infos();
            let pages = infos.map(|(_, info)| u64::from(info.doc_freq)).sum();
            found.offer(words.key(), pages);
        }
        if found.is_truncated {
            self.record_limit(LimitHit::WildcardExpansion);
        }
        let term = |term: Vec<u8>| Term::from_field_text(field, &String::from_utf8_lossy(&term));
        Ok(found.terms().map(term).collect())
    }

    fn record_limit(&mut self, limit: LimitHit) {
        if !self.limits_hit.contains(&limit) {
            self.limits_hit.push(limit);
        }
    }
}

/// The most frequent of all offered terms; terms have to be offered in order, and of equally frequent ones the first are kept.
struct TopTerms {
    limit: usize,
    /// The rarest on top of the heap.
    kept: BinaryHeap<(Reverse<u64>, Vec<u8>)>,
    /// Whether a term was dropped.
    is_truncated: bool,
}

impl TopTerms {
    fn new(limit: usize) -> TopTerms {
        TopTerms { limit, kept: BinaryHeap::with_capacity(limit), is_truncated: false }
    }

    fn offer(&mut self, term: &[u8], pages: u64) {
        if self.kept.len() == self.limit {
            self.is_truncated = true;
            if self.kept.peek().is_some_and(|(Reverse(least), _)| pages <= *least) {
                return;
            }
            self.kept.pop();
        }
        self.kept.push((Reverse(pages), term.to_vec()));
    }

    fn terms(self) -> impl Iterator<Item = Vec<u8>> {
        self.kept.into_iter().map(|(_, term)| term)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_most_frequent_terms_are_kept(counts in proptest::collection::vec(0_u64..9, 0..60)) {
            let mut found = TopTerms::new(7);
            for (term, pages) in (0_u8..).zip(&counts) {
                found.offer(&[term], *pages);
                prop_assert!(found.kept.len() <= 7);
            }
            prop_assert_eq!(found.is_truncated, counts.len() > 7);
            let mut expected: Vec<(Reverse<u64>, u8)> =
                (0..).zip(counts).map(|(term, pages)| (Reverse(pages), term)).collect();
            expected.sort_unstable();
            expected.truncate(7);
            let mut expected: Vec<Vec<u8>> = expected.into_iter().map(|(_, term)| vec![term]).collect();
            let mut kept: Vec<Vec<u8>> = found.terms().collect();
            expected.sort_unstable();
            kept.sort_unstable();
            prop_assert_eq!(kept, expected);
        }
    }
}
