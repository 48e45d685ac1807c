//! Which words does a star stand for? Those of the index that begin so, or have this within; of very many the most frequent.

use std::cmp::Reverse;
use std::collections::HashMap;

use memchr::memmem::Finder;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::error::Result;

/// Words that a star stands for at most, in one field.
const MOST_TERMS: usize = 512;
/// Words of the index that one query looks at.
const MOST_LOOKED_AT: usize = 4_000_000;

/// What words have in common.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern<'p> {
    /// How they begin.
    Start(&'p str),
    /// What they have within.
    Within(&'p str),
}

/// Looks for words, and stops when it has looked at enough of them.
#[derive(Debug)]
pub(super) struct Expansion {
    left: usize,
    /// Whether something was left out.
    pub(super) is_cut: bool,
}

impl Expansion {
    pub(super) fn new() -> Expansion {
        Expansion { left: MOST_LOOKED_AT, is_cut: false }
    }

    /// The terms of a field that fit.
    pub(super) fn terms(
        &mut self,
        searcher: &Searcher,
        field: Field,
        pattern: Pattern<'_>,
    ) -> Result<Vec<Term>> {
        let mut found: HashMap<Vec<u8>, u32> = HashMap::new();
        let piece = match pattern {
            Pattern::Start(piece) | Pattern::Within(piece) => Finder::new(piece),
        };
        for segment in searcher.segment_readers() {
            let terms = segment.inverted_index(field)?;
            let range = match pattern {
                Pattern::Start(start) => terms.terms().range().ge(start),
                Pattern::Within(_) => terms.terms().range(),
            };
            let mut stream = range.into_stream().map_err(tantivy::TantivyError::from)?;
            while let Some((term, info)) = stream.next() {
                if self.left == 0 {
                    self.is_cut = true;
                    break;
                }
                self.left -= 1;
                match pattern {
                    Pattern::Start(start) if !term.starts_with(start.as_bytes()) => break,
                    Pattern::Within(_) if piece.find(term).is_none() => continue,
                    _ => *found.entry(term.to_vec()).or_default() += info.doc_freq,
                }
            }
        }
        let mut found: Vec<(Vec<u8>, u32)> = found.into_iter().collect();
        if found.len() > MOST_TERMS {
            self.is_cut = true;
            found.sort_unstable_by_key(|(_, pages)| Reverse(*pages));
            found.truncate(MOST_TERMS);
        }
        let term = |(term, _): (Vec<u8>, u32)| Term::from_field_text(field, &String::from_utf8_lossy(&term));
        Ok(found.into_iter().map(term).collect())
    }
}
