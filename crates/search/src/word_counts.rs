//! How often does each word stand in the pages, as they write it? Counted while they are indexed, within bounds: when there are
//! too many words, the rarest go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Words that are kept in the end.
pub(crate) const MOST_WORDS: usize = 200_000;

/// Shorter words are not worth a correction, and longer ones are no words.
const WANTED_CHARS: std::ops::RangeInclusive<usize> = 3..=24;

/// Counts of all threads together.
#[derive(Debug)]
pub(crate) struct WordCounts {
    counts: Mutex<HashMap<String, u64>>,
}

impl WordCounts {
    /// None yet.
    pub(crate) fn new() -> Arc<WordCounts> {
        Arc::new(WordCounts { counts: Mutex::new(HashMap::new()) })
    }

    /// Whether a word may be shown to somebody as what was meant.
    pub(crate) fn is_wanted(word: &str) -> bool {
        WANTED_CHARS.contains(&word.chars().count()) && word.chars().all(char::is_alphabetic)
    }

    /// Adds counts, and empties the list.
    pub(crate) fn add(&self, words: &mut Vec<(String, u32)>) {
        let mut counts = self.lock();
        for (word, count) in words.drain(..) {
            *counts.entry(word).or_default() += u64::from(count);
        }
        if counts.len() > 2 * MOST_WORDS {
            drop_rarest(&mut counts);
        }
    }

    /// All counts so far; from now on it counts anew.
    pub(crate) fn take(&self) -> HashMap<String, u64> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves no more than [`MOST_WORDS`], the most frequent.
pub(crate) fn drop_rarest(counts: &mut HashMap<String, u64>) {
    if counts.len() <= MOST_WORDS {
        return;
    }
    let mut all: Vec<u64> = counts.values().copied().collect();
    let (_, least, _) = all.select_nth_unstable_by(MOST_WORDS, |one, other| other.cmp(one));
    let least = *least;
    counts.retain(|_, count| *count > least);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_go_when_there_are_too_many() {
        let counts = WordCounts::new();
        let mut words: Vec<(String, u32)> =
            (0..2 * MOST_WORDS + 1).map(|n| (format!("w{n}"), 1 + u32::from(n % 1_000 == 0))).collect();
        counts.add(&mut words);
        assert!(words.is_empty());
        let left = counts.take();
        assert_eq!((left.len(), left["w5000"]), (401, 2));
        assert!(counts.take().is_empty());
    }

    #[test]
    fn numbers_and_letters_alone_are_not_suggested() {
        for word in ["weir", "wörter", "мир"] {
            assert!(WordCounts::is_wanted(word), "{word}");
        }
        for word in ["a1b2", "it", "1952", &"x".repeat(25)] {
            assert!(!WordCounts::is_wanted(word), "{word}");
        }
    }
}
