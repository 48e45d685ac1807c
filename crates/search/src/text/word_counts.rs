//! Counts of the words as written, collected during indexing. If there are too many words, the rarest are dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of words of the vocabulary.
pub(crate) const MAX_WORDS: usize = 200_000;

/// Length of the words that are counted: shorter ones have too many neighbours, longer ones are not words.
const SUGGESTION_CHARS: std::ops::RangeInclusive<usize> = 3..=24;

/// Counts of all threads.
#[derive(Debug)]
pub(crate) struct WordCounts {
    counts: Mutex<HashMap<String, u64>>,
}

impl WordCounts {
    pub(crate) fn new() -> Arc<WordCounts> {
        Arc::new(WordCounts { counts: Mutex::new(HashMap::new()) })
    }

    /// Whether a word may be a spelling suggestion.
    pub(crate) fn is_suggestible(word: &str) -> bool {
        SUGGESTION_CHARS.contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
    }

    /// Adds counts and empties the list.
    pub(crate) fn add(&self, words: &mut Vec<(String, u32)>) {
        let mut counts = self.lock();
        for (word, count) in words.drain(..) {
            *counts.entry(word).or_default() += u64::from(count);
        }
        if counts.len() > 2 * MAX_WORDS {
            drop_rarest(&mut counts);
        }
    }

    /// Returns all counts and resets them.
    pub(crate) fn take(&self) -> HashMap<String, u64> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps only the [`MAX_WORDS`] most frequent words.
pub(crate) fn drop_rarest(counts: &mut HashMap<String, u64>) {
    if counts.len() <= MAX_WORDS {
        return;
    }
    let mut all: Vec<u64> = counts.values().copied().collect();
    let (_, threshold, _) = all.select_nth_unstable_by(MAX_WORDS, |one, other| other.cmp(one));
    let threshold = *threshold;
    counts.retain(|_, count| *count > threshold);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_words_are_dropped_above_the_limit() {
        let counts = WordCounts::new();
        let mut words: Vec<(String, u32)> =
            (0..2 * MAX_WORDS + 1).map(|n| (format!("w{n}"), 1 + u32::from(n % 1_000 == 0))).collect();
        counts.add(&mut words);
        assert!(words.is_empty());
        let left = counts.take();
        assert_eq!((left.len(), left["w5000"]), (401, 2));
        assert!(counts.take().is_empty());
    }

    #[test]
    fn only_words_of_letters_are_suggested() {
        for word in ["weir", "wörter", "мир"] {
            assert!(WordCounts::is_suggestible(word), "{word}");
        }
        for word in ["a1b2", "it", "1952", &"x".repeat(25)] {
            assert!(!WordCounts::is_suggestible(word), "{word}");
        }
    }
}
