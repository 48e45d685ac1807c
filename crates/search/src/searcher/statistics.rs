//! How rare is a word? As rare as all its forms are together, in the field where it is least rare: one number for every
//! field and every form. Otherwise a page whose language was mistaken, and which has a form that few pages have, would come
//! first.

use std::collections::HashMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// What BM25 has to know of an index and of the words of a query.
pub(super) struct WordStatistics {
    searcher: Searcher,
    pages: u64,
    /// Pages with the word of a term.
    pages_with: HashMap<Term, u64>,
}

impl WordStatistics {
    pub(super) fn new(searcher: &Searcher) -> tantivy::Result<WordStatistics> {
        let pages = Bm25StatisticsProvider::total_num_docs(searcher)?;
        Ok(WordStatistics { searcher: searcher.clone(), pages, pages_with: HashMap::new() })
    }

    /// Takes the terms of a word, by field, and how many pages leave it out though they will have it; gives back the terms that
    /// the index has.
    pub(super) fn add_word(
        &mut self,
        by_field: Vec<Vec<Term>>,
        left_out: u64,
    ) -> tantivy::Result<Vec<Vec<Term>>> {
        let mut known = Vec::with_capacity(by_field.len());
        let mut most = 0;
        for terms in by_field {
            let mut pages = 0;
            let mut there = Vec::with_capacity(terms.len());
            for term in terms {
                let pages_with = self.searcher.doc_freq(&term)?;
                if pages_with > 0 {
                    pages += pages_with;
                    there.push(term);
                }
            }
            most = most.max(pages);
            known.push(there);
        }
        let most = (most + left_out).min(self.pages);
        for term in known.iter().flatten() {
            let pages_with = self.pages_with.entry(term.clone()).or_default();
            *pages_with = most.max(*pages_with);
        }
        Ok(known)
    }
}

impl Bm25StatisticsProvider for WordStatistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_tokens(&self.searcher, field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.pages)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.pages_with.get(term) {
            Some(pages) => Ok(*pages),
            None => self.searcher.doc_freq(term),
        }
    }
}
