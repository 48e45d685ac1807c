//! Which words does a star stand for? Those of the index that begin so, or have this within; of very many the most frequent.
//!
//! The words of all segments are gone through together, in the order of the alphabet, so that each is met once and no more of
//! them are in memory than are wanted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use memchr::memmem::Finder;
use tantivy::schema::Field;
use tantivy::termdict::TermMerger;
use tantivy::{InvertedIndexReader, Searcher, TantivyError, Term};

use super::cut::Cut;
use super::deadline::Deadline;
use crate::error::Result;

/// Words that a star stands for at most, in one field.
const MOST_TERMS: usize = 512;
/// Words of one field that are tried for one star.
const MOST_LOOKED_AT: usize = 4_000_000;
/// After so many words somebody looks at the clock.
const LOOK_EVERY: usize = 1_024;

/// What words have in common.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern<'p> {
    /// How they begin.
    Start(&'p str),
    /// What they have within.
    Within(&'p str),
}

/// Looks for words, and stops when it has looked at enough of them, or time is up.
#[derive(Debug)]
pub(super) struct Expansion {
    deadline: Deadline,
    /// What was left out.
    pub(super) cuts: Vec<Cut>,
}

impl Expansion {
    pub(super) fn new(deadline: &Deadline) -> Expansion {
        Expansion { deadline: deadline.clone(), cuts: Vec::new() }
    }

    /// The terms of a field that fit.
    pub(super) fn terms(
        &mut self,
        searcher: &Searcher,
        field: Field,
        pattern: Pattern<'_>,
    ) -> Result<Vec<Term>> {
        let segments = searcher.segment_readers().iter().map(|segment| segment.inverted_index(field));
        let segments: Vec<Arc<InvertedIndexReader>> = segments.collect::<tantivy::Result<_>>()?;
        let mut streams = Vec::with_capacity(segments.len());
        for segment in &segments {
            let range = match pattern {
                Pattern::Start(start) => segment.terms().range().ge(start),
                Pattern::Within(_) => segment.terms().range(),
            };
            streams.push(range.into_stream().map_err(TantivyError::from)?);
        }
        let (Pattern::Start(piece) | Pattern::Within(piece)) = pattern;
        let piece = Finder::new(piece);
        let mut words = TermMerger::new(streams);
        let mut found = MostFrequent::new(MOST_TERMS);
        let mut looked_at = 0;
        while words.advance() {
            looked_at += 1;
            if looked_at > MOST_LOOKED_AT {
                self.cut(Cut::WordsTried);
                break;
            }
            if looked_at % LOOK_EVERY == 0 && self.deadline.is_over() {
                break;
            }
            match pattern {
                Pattern::Start(start) if !words.key().starts_with(start.as_bytes()) => break,
                Pattern::Within(_) if piece.find(words.key()).is_none() => continue,
                _ => {}
            }
            let infos = words.current_segment_ords_and_term_infos();
            let pages = infos.map(|(_, info)| u64::from(info.doc_freq)).sum();
            found.offer(words.key(), pages);
        }
        if found.is_cut {
            self.cut(Cut::RareWords);
        }
        let term = |term: Vec<u8>| Term::from_field_text(field, &String::from_utf8_lossy(&term));
        Ok(found.terms().map(term).collect())
    }

    fn cut(&mut self, cut: Cut) {
        if !self.cuts.contains(&cut) {
            self.cuts.push(cut);
        }
    }
}

/// The terms that most pages have, of all that are offered in the order of the alphabet; of equal ones the first.
struct MostFrequent {
    limit: usize,
    /// The rarest on top.
    kept: BinaryHeap<(Reverse<u64>, Vec<u8>)>,
    /// Whether one was left out.
    is_cut: bool,
}

impl MostFrequent {
    fn new(limit: usize) -> MostFrequent {
        MostFrequent { limit, kept: BinaryHeap::with_capacity(limit), is_cut: false }
    }

    fn offer(&mut self, term: &[u8], pages: u64) {
        if self.kept.len() == self.limit {
            self.is_cut = true;
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
        fn the_most_frequent_are_kept_in_little_memory(counts in proptest::collection::vec(0_u64..9, 0..60)) {
            let mut found = MostFrequent::new(7);
            for (term, pages) in (0_u8..).zip(&counts) {
                found.offer(&[term], *pages);
                prop_assert!(found.kept.len() <= 7);
            }
            prop_assert_eq!(found.is_cut, counts.len() > 7);
            let mut wanted: Vec<(Reverse<u64>, u8)> =
                (0..).zip(counts).map(|(term, pages)| (Reverse(pages), term)).collect();
            wanted.sort_unstable();
            wanted.truncate(7);
            let mut wanted: Vec<Vec<u8>> = wanted.into_iter().map(|(_, term)| vec![term]).collect();
            let mut kept: Vec<Vec<u8>> = found.terms().collect();
            wanted.sort_unstable();
            kept.sort_unstable();
            prop_assert_eq!(kept, wanted);
        }
    }
}
