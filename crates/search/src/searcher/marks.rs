//! Which words of a text did somebody ask for? Terms as the index has them, so that all forms of a word are marked.

use std::collections::HashMap;

/// The terms that a query asks for, each with the number of the word that it is a form of.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    terms: HashMap<String, usize>,
    /// Beginnings of terms.
    starts: Vec<(String, usize)>,
    /// Pieces of terms.
    pieces: Vec<(String, usize)>,
    words: usize,
}

impl Marks {
    /// Adds a word with its forms.
    pub(super) fn add_word(&mut self, terms: &[String]) {
        for term in terms {
            self.terms.entry(term.clone()).or_insert(self.words);
        }
        self.words += 1;
    }

    /// Adds all words that begin so.
    pub(super) fn add_start(&mut self, start: &str) {
        self.starts.push((start.to_owned(), self.words));
        self.words += 1;
    }

    /// Adds all words that have this within.
    pub(super) fn add_piece(&mut self, piece: &str) {
        self.pieces.push((piece.to_owned(), self.words));
        self.words += 1;
    }

    /// The number of the word that a term is a form of.
    pub(super) fn word_of(&self, term: &str) -> Option<usize> {
        let exact = self.terms.get(term).copied();
        let started = || self.starts.iter().find(|(start, _)| term.starts_with(start.as_str()));
        let within = || self.pieces.iter().find(|(piece, _)| term.contains(piece.as_str()));
        exact.or_else(|| started().or_else(within).map(|(_, word)| *word))
    }
}
