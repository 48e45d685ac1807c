//! Terms to highlight in titles and snippets. They are index terms, so that all inflections of a word are highlighted.

use std::collections::HashMap;

/// Terms of a query, each with the number of its word in the query.
#[derive(Debug, Clone, Default)]
pub(super) struct HighlightTerms {
    terms: HashMap<String, usize>,
    /// Prefixes of terms.
    prefixes: Vec<(String, usize)>,
    /// Infixes of terms.
    infixes: Vec<(String, usize)>,
    word_count: usize,
}

impl HighlightTerms {
    /// Adds the terms of a word.
    pub(super) fn add_word(&mut self, terms: &[String]) {
        for term in terms {
            self.terms.entry(term.clone()).or_insert(self.word_count);
        }
        self.word_count += 1;
    }

    /// Adds a prefix.
    pub(super) fn add_prefix(&mut self, start: &str) {
        self.prefixes.push((start.to_owned(), self.word_count));
        self.word_count += 1;
    }

    /// Adds an infix.
    pub(super) fn add_infix(&mut self, piece: &str) {
        self.infixes.push((piece.to_owned(), self.word_count));
        self.word_count += 1;
    }

    /// Returns the number of the word that a term matches.
    pub(super) fn word_of(&self, term: &str) -> Option<usize> {
        let exact = self.terms.get(term).copied();
        let started = || self.prefixes.iter().find(|(start, _)| term.starts_with(start.as_str()));
        let within = || self.infixes.iter().find(|(piece, _)| term.contains(piece.as_str()));
        exact.or_else(|| started().or_else(within).map(|(_, word)| *word))
    }
}
