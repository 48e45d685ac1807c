//! Pattern of a word with wildcards: `gard*`, `*den`, `ga*en`, `*arde*`.

use std::fmt;

use memchr::memmem;

use crate::text::query_terms::{split_query, term_variants};

/// Pattern of a word; `*` stands for any characters, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WildcardPattern {
    /// The parts between the wildcards, in lower case and without accents, at least two. The first one starts the word and the last one
    /// ends it; both may be empty.
    parts: Vec<String>,
}

impl WildcardPattern {
    /// Parses a pattern; other characters than letters, digits and `*` are dropped.
    pub(crate) fn parse(text: &str) -> WildcardPattern {
        let all: Vec<String> = text.split('*').map(fold).collect();
        let last = all.len().saturating_sub(1);
        // `**` is the same as `*`: empty parts count only at the ends.
        let is_kept = |(number, part): &(usize, String)| !part.is_empty() || *number == 0 || *number == last;
        let mut parts: Vec<String> =
            all.into_iter().enumerate().filter(is_kept).map(|(_, part)| part).collect();
        if parts.len() < 2 {
            parts.push(String::new());
        }
        WildcardPattern { parts }
    }

    /// The pattern of words that contain a text.
    pub(crate) fn infix(text: &str) -> WildcardPattern {
        WildcardPattern { parts: vec![String::new(), text.to_owned(), String::new()] }
    }

    /// The start of all matching words; empty for a pattern that begins with a wildcard.
    pub(crate) fn start(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// The prefix, if the only wildcard is at the end.
    pub(crate) fn prefix(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [start, end] if end.is_empty() => Some(start),
            _ => None,
        }
    }

    /// Whether a word in lower case without accents matches.
    pub(crate) fn matches(&self, word: &[u8]) -> bool {
        let [first, middle @ .., last] = self.parts.as_slice() else { return false };
        let rest = word.strip_prefix(first.as_bytes()).and_then(|rest| rest.strip_suffix(last.as_bytes()));
        let Some(mut rest) = rest else { return false };
        for part in middle {
            let Some(at) = memmem::find(rest, part.as_bytes()) else { return false };
            rest = &rest[at + part.len()..];
        }
        true
    }
}

impl fmt::Display for WildcardPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.parts.join("*"))
    }
}

/// A word, or part of one, in lower case and without accents.
pub(crate) fn fold(part: &str) -> String {
    let words = split_query(part);
    let terms = words.iter().map(|word| term_variants(word, &[]).terms.into_iter().next());
    terms.zip(&words).map(|(term, word)| term.unwrap_or_else(|| word.text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_any_characters_or_none() {
        for (pattern, matching, others) in [
            ("gard*", "gard garden", "agard gar"),
            ("*den", "garden den", "dens"),
            ("ga*en", "garden gaen gazen", "ga en gardens agaen"),
            ("*ARDE*", "garden arde", "ard"),
            ("g*r*n", "garden grn", "gren2 gnr"),
            ("**d\u{e9}n", "garden", "gard"),
        ] {
            let parsed = WildcardPattern::parse(pattern);
            for word in matching.split(' ') {
                assert!(parsed.matches(word.as_bytes()), "{pattern} {word}");
            }
            for word in others.split(' ') {
                assert!(!parsed.matches(word.as_bytes()), "{pattern} {word}");
            }
        }
        assert_eq!(WildcardPattern::parse("Gard*").prefix(), Some("gard"));
        assert_eq!(WildcardPattern::parse("*gard*").prefix(), None);
    }
}
