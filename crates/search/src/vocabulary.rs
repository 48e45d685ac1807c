//! What did somebody mean who wrote a word that no page has? The nearest word that pages write, and often.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Result};
use crate::text_folder::{read_whole, write_whole};
use crate::word_counts::drop_rarest;

/// Words as pages write them, in lower case, with about how often they do.
#[derive(Debug, Default)]
pub struct Vocabulary {
    /// All of them, one behind the other.
    text: String,
    /// In the order of the alphabet.
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    start: u32,
    end: u32,
    chars: u8,
    /// A bit for each letter: words that are alike have nearly the same.
    letters: u64,
    count: u64,
}

/// A word that is there is corrected only by one that is so many times as frequent.
const MORE_FREQUENT: u64 = 100;

/// Rarer words may be mistakes themselves.
const LEAST_COUNT: u64 = 3;

impl Vocabulary {
    /// The word that was meant by one in lower case, if another one is much more likely: one mistake away, or two in a word of
    /// more than five letters.
    pub fn nearest(&self, word: &str) -> Option<&str> {
        let wanted: Vec<char> = word.chars().collect();
        let most = if wanted.len() > 5 { 2 } else { 1 };
        let letters = letters_of(word);
        let least_count = self.count(word).saturating_mul(MORE_FREQUENT);
        let candidates = self.words.iter().filter(|candidate| {
            usize::from(candidate.chars).abs_diff(wanted.len()) <= most
                && (candidate.letters ^ letters).count_ones() as usize <= 2 * most
                && candidate.count > least_count
        });
        let near = candidates.filter_map(|candidate| {
            let found = self.text_of(candidate);
            let distance = distance(&wanted, found, most).filter(|distance| *distance > 0)?;
            Some((distance, std::cmp::Reverse(candidate.count), found))
        });
        near.min().map(|(_, _, word)| word)
    }

    /// About how often a word stands in the pages; 0 for one that is hardly there.
    pub fn count(&self, word: &str) -> u64 {
        let found = self.words.binary_search_by(|known| self.text_of(known).cmp(word));
        found.map_or(0, |at| self.words[at].count)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// With the counts of others added.
    pub(crate) fn with(&self, mut counts: HashMap<String, u64>) -> Vocabulary {
        for word in &self.words {
            *counts.entry(self.text_of(word).to_owned()).or_default() += word.count;
        }
        counts.retain(|_, count| *count >= LEAST_COUNT);
        drop_rarest(&mut counts);
        let mut all: Vec<(String, u64)> = counts.into_iter().collect();
        all.sort_unstable();
        all.iter().fold(Vocabulary::default(), |mut words, (word, count)| {
            words.push(word, *count);
            words
        })
    }

    /// Reads what [`Vocabulary::write`] wrote.
    pub(crate) fn read(path: &Path) -> Result<Vocabulary> {
        let bytes = read_whole(path)?;
        let damaged = || Error::Unreadable { what: format!("{} is damaged", path.display()) };
        let (mut rest, mut word) = (bytes.as_slice(), Vec::new());
        let mut vocabulary = Vocabulary::default();
        while let [shared, own, behind @ ..] = rest {
            let (own, behind) = behind.split_at_checked(usize::from(*own)).ok_or_else(damaged)?;
            let (count, behind) = behind.split_first_chunk().ok_or_else(damaged)?;
            word.truncate(usize::from(*shared));
            word.extend_from_slice(own);
            let text = std::str::from_utf8(&word).map_err(|_| damaged())?;
            vocabulary.push(text, u32::from_le_bytes(*count).into());
            rest = behind;
        }
        Ok(vocabulary)
    }

    /// For each word: how many bytes of the one before it begins with, how many follow, those, and its count in 32 bits.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut bytes = Vec::with_capacity(self.text.len() + 4 * self.words.len());
        let mut last = "";
        for word in &self.words {
            let text = self.text_of(word);
            let shared = text.bytes().zip(last.bytes()).take_while(|(one, other)| one == other).count();
            // No word has more than 255 bytes: who counts leaves out long ones.
            bytes.extend([shared as u8, (text.len() - shared) as u8]);
            bytes.extend(&text.as_bytes()[shared..]);
            bytes.extend(u32::try_from(word.count).unwrap_or(u32::MAX).to_le_bytes());
            last = text;
        }
        write_whole(path, &bytes)
    }

    fn push(&mut self, word: &str, count: u64) {
        let start = self.text.len() as u32;
        self.text.push_str(word);
        let chars = u8::try_from(word.chars().count()).unwrap_or(u8::MAX);
        self.words.push(Word { start, end: self.text.len() as u32, chars, letters: letters_of(word), count });
    }

    fn text_of(&self, word: &Word) -> &str {
        &self.text[word.start as usize..word.end as usize]
    }
}

fn letters_of(word: &str) -> u64 {
    word.chars().fold(0, |letters, c| letters | 1 << (c as u32 % 64))
}

/// In how many places two words differ: a letter too many, one too few, another one, or two of them changed round. `None` if it
/// is more than `most`.
fn distance(one: &[char], other: &str, most: usize) -> Option<usize> {
    let mut before_last = vec![0; one.len() + 1];
    let mut last: Vec<usize> = (0..=one.len()).collect();
    let mut last_char = None;
    for (row, c) in (1..).zip(other.chars()) {
        let mut now = vec![row; one.len() + 1];
        for column in 1..=one.len() {
            let is_other = usize::from(one[column - 1] != c);
            let least = (last[column] + 1).min(now[column - 1] + 1).min(last[column - 1] + is_other);
            let is_turned = column > 1 && Some(one[column - 1]) == last_char && one[column - 2] == c;
            now[column] = if is_turned { least.min(before_last[column - 2] + 1) } else { least };
        }
        if now.iter().min().is_some_and(|least| *least > most) {
            return None;
        }
        (before_last, last) = (last, now);
        last_char = Some(c);
    }
    last.last().copied().filter(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vocabulary {
        let counts =
            [("weir", 1_000), ("wire", 40), ("weird", 500), ("crawler", 300), ("wier", 3), ("größe", 90)];
        Vocabulary::default().with(counts.into_iter().map(|(word, count)| (word.to_owned(), count)).collect())
    }

    #[test]
    fn the_nearest_word_is_what_was_meant() {
        let words = words();
        for (written, meant) in [
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
            assert_eq!(words.nearest(written), meant, "{written}");
        }
    }

    #[test]
    fn words_read_back_and_counts_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        words().write(&path).unwrap();
        let read = Vocabulary::read(&path).unwrap();
        assert_eq!((read.len(), read.count("weir"), read.count("dam")), (6, 1_000, 0));
        let more = read.with([("weir".to_owned(), 5), ("dam".to_owned(), 7)].into());
        assert_eq!((more.len(), more.count("weir"), more.count("dam")), (7, 1_005, 7));
    }
}
