//! Vocabulary of the indexed pages with frequencies, for spelling suggestions.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::index::index_dir::{read_checksummed, write_checksummed};
use crate::text::wildcard::{WildcardPattern, fold};
use crate::text::word_counts::{MAX_WORDS, drop_rarest};

/// Words in lower case with approximate frequencies.
#[derive(Debug, Default)]
pub struct Vocabulary {
    /// All words, concatenated.
    text: String,
    /// Sorted.
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    start: u32,
    end: u32,
    chars: u8,
    /// Bit set of the letters. Similar words differ in few bits, which allows skipping most words without computing a distance.
    letter_bits: u64,
    count: u64,
}

/// Minimum frequency of a suggestion, relative to that of the given word.
const MIN_FREQUENCY_RATIO: u64 = 100;

/// Maximum size of the file: [`MAX_WORDS`] words of 24 characters with their lengths and counts.
const MAX_FILE_BYTES: usize = MAX_WORDS * 102;

/// Minimum frequency of a word; rarer ones may be misspellings.
const MIN_COUNT: u64 = 3;

impl Vocabulary {
    /// Returns the most similar word that is much more frequent than a word in lower case: within edit distance 1, or 2 for words of more
    /// than five letters.
    pub fn nearest(&self, word: &str) -> Option<&str> {
        let chars: Vec<char> = word.chars().collect();
        let max_distance = if chars.len() > 5 { 2 } else { 1 };
        let bits = letter_bits(word);
        let min_count = self.count(word).saturating_mul(MIN_FREQUENCY_RATIO);
        let candidates = self.words.iter().filter(|candidate| {
            usize::from(candidate.chars).abs_diff(chars.len()) <= max_distance
                && (candidate.letter_bits ^ bits).count_ones() as usize <= 2 * max_distance
                && candidate.count > min_count
        });
        let near = candidates.filter_map(|candidate| {
            let found = self.text_of(candidate);
            let distance = edit_distance(&chars, found, max_distance).filter(|distance| *distance > 0)?;
            Some((distance, std::cmp::Reverse(candidate.count), found))
        });
        near.min().map(|(_, _, word)| word)
    }

    /// Returns the words that match a pattern, the most frequent ones if there are too many.
    pub(crate) fn matching(&self, pattern: &WildcardPattern, max_words: usize) -> Vec<&str> {
        let is_match = |word: &&Word| {
            let text = self.text_of(word);
            if text.is_ascii() {
                pattern.matches(text.as_bytes())
            } else {
                pattern.matches(fold(text).as_bytes())
            }
        };
        let mut found: Vec<&Word> = self.words.iter().filter(is_match).collect();
        found.sort_by_key(|word| std::cmp::Reverse(word.count));
        found.truncate(max_words);
        found.into_iter().map(|word| self.text_of(word)).collect()
    }

    /// Approximate frequency of a word; 0 if it is too rare.
    pub fn count(&self, word: &str) -> u64 {
        let found = self.words.binary_search_by(|known| self.text_of(known).cmp(word));
        found.map_or(0, |at| self.words[at].count)
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the vocabulary with further counts added.
    pub(crate) fn merged(&self, mut counts: HashMap<String, u64>) -> Vocabulary {
        for word in &self.words {
            *counts.entry(self.text_of(word).to_owned()).or_default() += word.count;
        }
        counts.retain(|_, count| *count >= MIN_COUNT);
        drop_rarest(&mut counts);
        let mut all: Vec<(String, u64)> = counts.into_iter().collect();
        all.sort_unstable();
        all.iter().fold(Vocabulary::default(), |mut words, (word, count)| {
            words.push(word, *count);
            words
        })
    }

    /// Reads a file of [`Vocabulary::write`].
    pub(crate) fn read(path: &Path) -> Result<Vocabulary> {
        let bytes = read_checksummed(path, MAX_FILE_BYTES)?;
        let damaged = || Error::Unreadable { reason: format!("{} is damaged", path.display()) };
        let (mut rest, mut word) = (bytes.as_slice(), Vec::new());
        let mut vocabulary = Vocabulary::default();
        while let [shared, own, tail @ ..] = rest {
            let (own, tail) = tail.split_at_checked(usize::from(*own)).ok_or_else(damaged)?;
            let (count, tail) = tail.split_first_chunk().ok_or_else(damaged)?;
            word.truncate(usize::from(*shared));
            word.extend_from_slice(own);
            let text = std::str::from_utf8(&word).map_err(|_| damaged())?;
            vocabulary.push(text, u32::from_le_bytes(*count).into());
            rest = tail;
            if vocabulary.len() > MAX_WORDS {
                return Err(damaged());
            }
        }
        Ok(vocabulary)
    }

    /// Writes the words front-coded: length of the prefix shared with the previous word, length of the rest, the rest, and the count in 32
    /// bits.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.text.len() + 4 * self.words.len());
        let mut last = "";
        for word in &self.words {
            let text = self.text_of(word);
            let shared = text.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
            // No word exceeds 255 bytes: WordCounts skips long ones.
            bytes.extend([shared as u8, (text.len() - shared) as u8]);
            bytes.extend(&text.as_bytes()[shared..]);
            bytes.extend(u32::try_from(word.count).unwrap_or(u32::MAX).to_le_bytes());
            last = text;
        }
        write_checksummed(path, &bytes)
    }

    fn push(&mut self, word: &str, count: u64) {
        let start = self.text.len() as u32;
        self.text.push_str(word);
        let chars = u8::try_from(word.chars().count()).unwrap_or(u8::MAX);
        self.words.push(Word {
            start,
            end: self.text.len() as u32,
            chars,
            letter_bits: letter_bits(word),
            count,
        });
    }

    fn text_of(&self, word: &Word) -> &str {
        &self.text[word.start as usize..word.end as usize]
    }
}

fn letter_bits(word: &str) -> u64 {
    word.chars().fold(0, |letters, c| letters | 1 << (c as u32 % 64))
}

/// Edit distance with transpositions of adjacent letters (optimal string alignment); `None` above `max_distance`.
fn edit_distance(one: &[char], other: &str, max_distance: usize) -> Option<usize> {
    let mut before_last = vec![0; one.len() + 1];
    let mut last: Vec<usize> = (0..=one.len()).collect();
    let mut last_char = None;
    for (row, c) in (1..).zip(other.chars()) {
        let mut now = vec![row; one.len() + 1];
        for column in 1..=one.len() {
            let is_different = usize::from(one[column - 1] != c);
            let min = (last[column] + 1).min(now[column - 1] + 1).min(last[column - 1] + is_different);
            let is_transposed = column > 1 && Some(one[column - 1]) == last_char && one[column - 2] == c;
            now[column] = if is_transposed { min.min(before_last[column - 2] + 1) } else { min };
        }
        if now.iter().min().is_some_and(|min| *min > max_distance) {
            return None;
        }
        (before_last, last) = (last, now);
        last_char = Some(c);
    }
    last.last().copied().filter(|distance| *distance <= max_distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vocabulary {
        let counts =
            [("weir", 1_000), ("wire", 40), ("weird", 500), ("crawler", 300), ("wier", 3), ("größe", 90)];
        Vocabulary::default()
            .merged(counts.into_iter().map(|(word, count)| (word.to_owned(), count)).collect())
    }

    #[test]
    fn the_nearest_frequent_word_is_suggested() {
        let words = words();
        for (word, suggestion) in [
            ("wier", Some("weir")),
            ("weirr", Some("weir")),
            ("craweler", Some("crawler")),
            ("crwaelr", Some("crawler")),
            ("grösse", Some("größe")),
            ("größ", Some("größe")),
            ("weir", None),
            ("xyz", None),
            ("", None),
        ] {
            assert_eq!(words.nearest(word), suggestion, "{word}");
        }
    }

    #[test]
    fn words_are_read_back_and_counts_are_added() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words");
        words().write(&path).unwrap();
        let read = Vocabulary::read(&path).unwrap();
        assert_eq!((read.len(), read.count("weir"), read.count("dam")), (6, 1_000, 0));
        let more = read.merged([("weir".to_owned(), 5), ("dam".to_owned(), 7)].into());
        assert_eq!((more.len(), more.count("weir"), more.count("dam")), (7, 1_005, 7));
    }
}
