//! Score of a URL by keywords and host suffixes, before its page is fetched.
//!
//! With p positive and n negative patterns that match, the score is 1/2 + (p − n) / 2(p + n + 1): 1/2 without a match, 3/4
//! for one positive pattern, 1/4 for one negative, and never 0 or 1. A keyword matches a whole word of the URL, in any case;
//! a pattern that starts with a dot matches a host suffix.

use std::collections::HashMap;

/// Longer runs of letters and digits are identifiers, not words.
const MAX_WORD_BYTES: usize = 64;
/// Quantized score of a URL that matches no pattern. Stored in page records.
const NEUTRAL_SCORE: u16 = 1 << 15;

/// Keyword or host suffix that raises or lowers the score of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    /// Text in lower case; a host suffix starts with a dot.
    pub text: String,
    /// Whether a match raises the score; otherwise it lowers the score.
    pub positive: bool,
}

/// Scores URLs by patterns.
#[derive(Debug, Clone, Default)]
pub struct UrlScorer {
    /// Keywords, and whether each is positive.
    words: HashMap<String, bool>,
    suffixes: Vec<UrlPattern>,
}

impl UrlScorer {
    /// Creates a scorer for these patterns.
    pub fn new(patterns: &[UrlPattern]) -> UrlScorer {
        let (suffixes, words): (Vec<UrlPattern>, Vec<UrlPattern>) =
            patterns.iter().cloned().partition(|pattern| pattern.text.starts_with('.'));
        let words = words.into_iter().map(|pattern| (pattern.text, pattern.positive)).collect();
        UrlScorer { words, suffixes }
    }

    /// Quantized score of a canonical URL.
    pub fn score(&self, url: &str) -> u16 {
        if self.words.is_empty() && self.suffixes.is_empty() {
            return NEUTRAL_SCORE;
        }
        let mut matches: Vec<(&str, bool)> = Vec::new();
        for_each_word(url, |word| {
            matches.extend(self.words.get_key_value(word).map(|(word, positive)| (word.as_str(), *positive)));
        });
        let authority = url.split_once("//").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
        let host = authority.split(':').next().unwrap_or(authority);
        let has_suffix = |suffix: &&UrlPattern| host.ends_with(&suffix.text) || host == &suffix.text[1..];
        let suffixes = self.suffixes.iter().filter(has_suffix);
        matches.extend(suffixes.map(|suffix| (suffix.text.as_str(), suffix.positive)));
        // Each pattern counts once, however often it matches.
        matches.sort_unstable();
        matches.dedup();
        let positive = matches.iter().filter(|(_, positive)| *positive).count() as f32;
        let negative = matches.len() as f32 - positive;
        quantize_u16(0.5 + (positive - negative) / (2.0 * (positive + negative + 1.0)))
    }
}

/// Converts a number from 0 to 1 to 16 bits, the form in page records.
pub fn quantize_u16(share: f32) -> u16 {
    (share.clamp(0.0, 1.0) * f32::from(u16::MAX)).round() as u16
}

/// Reverses [`quantize_u16`].
pub fn dequantize_u16(share: u16) -> f32 {
    f32::from(share) / f32::from(u16::MAX)
}

/// Calls `on_word` with every word, a run of letters and digits, in lower case.
pub fn for_each_word(text: &str, mut on_word: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split(|char: char| !char.is_alphanumeric()) {
        if word.is_empty() || word.len() > MAX_WORD_BYTES {
            continue;
        }
        if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
            on_word(word);
            continue;
        }
        lower.clear();
        word.chars().flat_map(char::to_lowercase).for_each(|char| lower.push(char));
        on_word(&lower);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positive_and_negative_patterns_are_balanced() {
        let pattern = |text: &str, positive| UrlPattern { text: text.to_owned(), positive };
        let scorer = UrlScorer::new(&[
            pattern("research", true),
            pattern("papers", true),
            pattern("calendar", false),
            pattern(".ac.uk", true),
        ]);
        let percent = |url: &str| (100.0 * dequantize_u16(scorer.score(url))).round() as u32;
        assert_eq!(percent("http://a.test/"), 50);
        assert_eq!(percent("http://a.test/Research/2"), 75);
        assert_eq!(percent("http://a.test/researchers"), 50);
        assert_eq!(percent("http://a.test/research/papers"), 83);
        assert_eq!(percent("http://a.test/papers?calendar=papers"), 50);
        assert_eq!(percent("http://a.test/calendar"), 25);
        assert_eq!(percent("https://www.x.ac.uk:8080/"), 75);
        assert_eq!(percent("https://ac.uk/"), 75);
        assert_eq!(percent("https://notac.uk/"), 50);
        assert_eq!(UrlScorer::default().score("http://a.test/"), NEUTRAL_SCORE);
    }

    #[test]
    fn words_are_in_lower_case_and_have_a_maximum_length() {
        let mut words = Vec::new();
        for_each_word(&format!("/A1-b_Ünï {}", "x".repeat(65)), |word| words.push(word.to_owned()));
        assert_eq!(words, ["a1", "b", "ünï"]);
    }
}
