//! Terms to highlight in titles and snippets. They are index terms, so that all inflections of a word are highlighted.

use std::collections::HashMap;

use crate::text::wildcard::WildcardPattern;

/// Terms of a query, each with the number of its word in the query.
#[derive(Debug, Clone, Default)]
pub(super) struct HighlightTerms {
    terms: HashMap<String, usize>,
    /// Patterns of terms.
    patterns: Vec<(WildcardPattern, usize)>,
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

    /// Adds a wildcard with its further terms.
    pub(super) fn add_pattern(&mut self, pattern: &WildcardPattern, terms: &[String]) {
        self.patterns.push((pattern.clone(), self.word_count));
        self.add_word(terms);
    }

    /// Returns the number of the word that a term matches.
    pub(super) fn word_of(&self, term: &str) -> Option<usize> {
        let exact = self.terms.get(term).copied();
        let matching = || self.patterns.iter().find(|(pattern, _)| pattern.matches(term.as_bytes()));
        exact.or_else(|| matching().map(|(_, word)| *word))
    }
}
