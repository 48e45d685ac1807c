//! Document frequencies for BM25, shared by all fields and stems of a word: the sum over its stems, in the field where it is highest.
//! With separate frequencies, a page whose language was detected wrongly would have a rare stem and rank first.

use std::collections::HashMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// Statistics of the index and the words of a query.
pub(crate) struct TermStatistics {
    searcher: Searcher,
    page_count: u64,
    /// Document frequency of the word of each term.
    doc_freqs: HashMap<Term, u64>,
}

impl TermStatistics {
    pub(crate) fn new(searcher: &Searcher) -> tantivy::Result<TermStatistics> {
        let page_count = Bm25StatisticsProvider::total_num_docs(searcher)?;
        Ok(TermStatistics { searcher: searcher.clone(), page_count, doc_freqs: HashMap::new() })
    }

    /// Adds a word: its terms by field, and the number of pages in whose language it is a stop word. Returns the terms that are in the
    /// index.
    pub(crate) fn add_word(
        &mut self,
        by_field: Vec<Vec<Term>>,
        stop_word_pages: u64,
    ) -> tantivy::Result<Vec<Vec<Term>>> {
        let mut known = Vec::with_capacity(by_field.len());
        let mut max_doc_freq = 0;
        for terms in by_field {
            let mut pages = 0;
            let mut present = Vec::with_capacity(terms.len());
            for term in terms {
                let pages_with = self.searcher.doc_freq(&term)?;
                if pages_with > 0 {
                    pages += pages_with;
                    present.push(term);
                }
            }
            max_doc_freq = max_doc_freq.max(pages);
            known.push(present);
        }
        let max_doc_freq = (max_doc_freq + stop_word_pages).min(self.page_count);
        for term in known.iter().flatten() {
            let pages_with = self.doc_freqs.entry(term.clone()).or_default();
            *pages_with = max_doc_freq.max(*pages_with);
        }
        Ok(known)
    }
}

impl Bm25StatisticsProvider for TermStatistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_tokens(&self.searcher, field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.page_count)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.doc_freqs.get(term) {
            Some(pages) => Ok(*pages),
            None => self.searcher.doc_freq(term),
        }
    }
}
