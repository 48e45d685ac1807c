//! Finds the words of a query in other texts than hits, such as a cached page.

use std::collections::HashSet;
use std::ops::Range;

use crate::query::{Condition, Query, WordPattern};
use crate::text::query_terms::{split_query, term_variants};
use crate::text::wildcard::WildcardPattern;

/// Words of a query, in all their inflections.
#[derive(Debug, Clone, Default)]
pub struct Highlighter {
    languages: Vec<String>,
    terms: HashSet<String>,
    patterns: Vec<WildcardPattern>,
}

impl Highlighter {
    /// Creates a highlighter for the words of a query that pages have to match, with the stems of some languages, given by code.
    pub fn new(query: &Query, languages: Vec<String>) -> Highlighter {
        let mut highlighter = Highlighter { languages, ..Highlighter::default() };
        highlighter.add(query.condition());
        highlighter
    }

    /// Byte ranges of the words of the query in a text, in order.
    pub fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.terms.is_empty() && self.patterns.is_empty() {
            return found;
        }
        for word in split_query(text) {
            let is_match = self.terms_of(&word).iter().any(|term| {
                self.terms.contains(term)
                    || self.patterns.iter().any(|pattern| pattern.matches(term.as_bytes()))
            });
            // Bigrams overlap.
            let start = found.last().map_or(0, |last| last.end).max(word.range.start);
            if is_match && start < word.range.end {
                found.push(start..word.range.end);
            }
        }
        found
    }

    fn add(&mut self, condition: &Condition) {
        match condition {
            Condition::All(all) | Condition::Any(all) => all.iter().for_each(|condition| self.add(condition)),
            Condition::Text { pattern, .. } => self.add_pattern(pattern),
            Condition::Near { operands, .. } => operands.iter().for_each(|operand| self.add_pattern(operand)),
            _ => {}
        }
    }

    fn add_pattern(&mut self, pattern: &WordPattern) {
        match pattern {
            WordPattern::Word(text) | WordPattern::Phrase(text) => {
                for word in split_query(text) {
                    let terms = self.terms_of(&word);
                    self.terms.extend(terms);
                }
            }
            WordPattern::Wildcard(text) => {
                let parts = text.split(|c: char| c != '*' && !c.is_alphanumeric());
                self.patterns.extend(parts.filter(|part| part.contains('*')).map(WildcardPattern::parse));
            }
        }
    }

    fn terms_of(&self, word: &crate::text::query_terms::QueryWord) -> Vec<String> {
        let languages: Vec<&str> = self.languages.iter().map(String::as_str).collect();
        let variants = term_variants(word, &languages);
        if variants.is_stop_word { Vec::new() } else { variants.terms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_all_inflections() {
        let found = |query: &str, text: &str| {
            let highlighter = Highlighter::new(&Query::parse(query).unwrap(), vec!["en".to_owned()]);
            highlighter
                .find(text)
                .into_iter()
                .map(|range| text[range].to_owned())
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(found("weir the", "The Weirs and the weir"), "Weirs|weir");
        assert_eq!(found("\"low dam\" lang:en -river", "A low river dam"), "low|dam");
        assert_eq!(found("ga*en", "Garden, gardens, gate"), "Garden|gardens");
        assert_eq!(found("東京都", "東京都は"), "東京|都");
        assert_eq!(found("lang:en", "weir"), "");
    }
}
