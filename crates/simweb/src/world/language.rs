//! Vocabularies of the languages: real words, most frequent first, selected by Zipf's law in constant time.
//!
//! The word lists were written for this project; their order approximates frequency and is not measured. Sentences
//! are built by [`crate::content::text`].

use std::sync::LazyLock;

use serde::Serialize;

use crate::world::random::KeyedRandom;

/// A language of the synthetic Web; serialised as its ISO 639-1 code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Language {
    #[serde(rename = "en")]
    English,
    #[serde(rename = "es")]
    Spanish,
    #[serde(rename = "pt")]
    Portuguese,
    #[serde(rename = "fr")]
    French,
    #[serde(rename = "de")]
    German,
    #[serde(rename = "it")]
    Italian,
    #[serde(rename = "tr")]
    Turkish,
    #[serde(rename = "ru")]
    Russian,
    #[serde(rename = "el")]
    Greek,
    #[serde(rename = "ar")]
    Arabic,
    #[serde(rename = "ja")]
    Japanese,
    #[serde(rename = "zh")]
    Chinese,
}

use Language::*;

impl Language {
    /// All languages, the most frequent on this Web first.
    pub const ALL: [Language; 12] = [
        English, Spanish, German, French, Japanese, Russian, Portuguese, Italian, Chinese, Turkish, Arabic,
        Greek,
    ];

    /// ISO 639-1 code, as in `<html lang>`.
    pub fn code(self) -> &'static str {
        match self {
            English => "en",
            Spanish => "es",
            Portuguese => "pt",
            French => "fr",
            German => "de",
            Italian => "it",
            Turkish => "tr",
            Russian => "ru",
            Greek => "el",
            Arabic => "ar",
            Japanese => "ja",
            Chinese => "zh",
        }
    }

    pub(crate) fn vocabulary(self) -> &'static Vocabulary {
        &VOCABULARIES[self as usize]
    }

    fn words(self) -> &'static str {
        match self {
            English => include_str!("../vocabulary/english.txt"),
            Spanish => include_str!("../vocabulary/spanish.txt"),
            Portuguese => include_str!("../vocabulary/portuguese.txt"),
            French => include_str!("../vocabulary/french.txt"),
            German => include_str!("../vocabulary/german.txt"),
            Italian => include_str!("../vocabulary/italian.txt"),
            Turkish => include_str!("../vocabulary/turkish.txt"),
            Russian => include_str!("../vocabulary/russian.txt"),
            Greek => include_str!("../vocabulary/greek.txt"),
            Arabic => include_str!("../vocabulary/arabic.txt"),
            Japanese => include_str!("../vocabulary/japanese.txt"),
            Chinese => include_str!("../vocabulary/chinese.txt"),
        }
    }

    /// Reports whether words are written without spaces between them.
    fn has_no_spaces(self) -> bool {
        matches!(self, Japanese | Chinese)
    }
}

/// Distribution of the languages of sites.
#[derive(Clone, Debug)]
pub(crate) struct LanguageMix {
    /// Cumulative weights in the order of `Language::ALL`.
    cumulative: [f64; 12],
}

impl LanguageMix {
    pub(crate) fn new(weights: [f64; 12]) -> LanguageMix {
        let mut sum = 0.0;
        LanguageMix {
            cumulative: weights.map(|weight| {
                sum += weight;
                sum
            }),
        }
    }

    /// Selects a language by its weight.
    pub(crate) fn generate(&self, random: KeyedRandom) -> Language {
        self.at(random.unit() * self.cumulative[11])
    }

    /// Selects another language than the given one, if there is one.
    pub(crate) fn other(&self, than: Language, random: KeyedRandom) -> Language {
        let rank = Language::ALL.iter().position(|&language| language == than).unwrap_or(0);
        let before = if rank == 0 { 0.0 } else { self.cumulative[rank - 1] };
        let own = self.cumulative[rank] - before;
        let point = random.unit() * (self.cumulative[11] - own);
        self.at(if point < before { point } else { point + own })
    }

    fn at(&self, point: f64) -> Language {
        let found = self.cumulative.iter().position(|&end| point < end);
        found.map_or(English, |rank| Language::ALL[rank])
    }
}

/// Number of function words (articles, pronouns, particles) at the start of a list; not used in titles.
const FUNCTION_WORDS: usize = 80;
/// Minimum number of ASCII words; languages with fewer use English words in paths.
const MIN_SLUGS: usize = 100;
const TABLE_BITS: u32 = 12;
const TABLE_LEN: usize = 1 << TABLE_BITS;

static VOCABULARIES: LazyLock<Vec<Vocabulary>> = LazyLock::new(|| {
    let order = [
        English, Spanish, Portuguese, French, German, Italian, Turkish, Russian, Greek, Arabic, Japanese,
        Chinese,
    ];
    order.into_iter().map(Vocabulary::new).collect()
});

/// Words of one language, arranged for random selection.
pub(crate) struct Vocabulary {
    /// Words with the gap after them, most frequent first.
    words: Vec<Word>,
    /// The same words with an initial capital.
    capitals: Vec<Word>,
    /// Content words, in lower case and with an initial capital, with the gap after them.
    topics: Vec<[String; 2]>,
    /// Words for paths: ASCII letters only.
    slugs: Vec<&'static str>,
    /// Ranks of words, each repeated according to Zipf's law.
    zipf: Box<[u16; TABLE_LEN]>,
    /// Mean length of a word in running text, including its gap.
    pub(crate) mean_word_bytes: f64,
    /// Gap between two words: a space, or nothing.
    pub(crate) gap: &'static str,
    pub(crate) full_stop: &'static str,
    pub(crate) comma: &'static str,
}

/// Maximum length of a word including its gap.
pub(crate) const WORD_BYTES: usize = 31;

/// A word in an array of fixed size: copying the whole array takes one or two instructions, copying only the word
/// takes a function call.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) bytes: [u8; WORD_BYTES],
    pub(crate) len: u8,
}

impl Word {
    fn new(word: &str, gap: &str) -> Word {
        let mut bytes = [0; WORD_BYTES];
        let whole = word.bytes().chain(gap.bytes());
        let len = bytes.iter_mut().zip(whole).map(|(slot, byte)| *slot = byte).count();
        Word { bytes, len: len as u8 }
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        // The bytes come from a string that fits; a test checks this for every vocabulary.
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl Vocabulary {
    fn new(language: Language) -> Vocabulary {
        let gap = if language.has_no_spaces() { "" } else { " " };
        let list: Vec<&'static str> = language.words().split_whitespace().collect();
        let words: Vec<Word> = list.iter().map(|word| Word::new(word, gap)).collect();
        let topic = |word: &&str| [format!("{word}{gap}"), format!("{}{gap}", capitalised(word))];
        let topics = list.iter().skip(FUNCTION_WORDS).map(topic).collect();
        let capitals = list.iter().map(|word| Word::new(&capitalised(word), gap)).collect();
        let mut slugs: Vec<&str> = slugs(language).collect();
        if slugs.len() < MIN_SLUGS {
            slugs = self::slugs(English).collect();
        }
        let zipf = zipf_table(list.len());
        let lengths = zipf.iter().map(|&rank| f64::from(words[usize::from(rank)].len));
        let mean_word_bytes = lengths.sum::<f64>() / TABLE_LEN as f64;
        let (full_stop, comma) = match language {
            Japanese => ("。", "、"),
            Chinese => ("。", "，"),
            Arabic => (". ", "، "),
            _ => (". ", ", "),
        };
        Vocabulary { words, capitals, topics, slugs, zipf, mean_word_bytes, gap, full_stop, comma }
    }

    /// Returns the word of running text for the low twelve bits, with the gap after it.
    #[inline]
    pub(crate) fn word(&self, bits: u64) -> &Word {
        &self.words[usize::from(self.zipf[bits as usize & (TABLE_LEN - 1)])]
    }

    #[inline]
    pub(crate) fn capital(&self, bits: u64) -> &Word {
        &self.capitals[usize::from(self.zipf[bits as usize & (TABLE_LEN - 1)])]
    }

    /// Returns a content word for titles and anchors, with the gap after it.
    pub(crate) fn topic(&self, random: KeyedRandom, capital: bool) -> &str {
        &self.topics[random.below(self.topics.len() as u64) as usize][usize::from(capital)]
    }

    #[cfg(test)]
    pub(crate) fn has_slug(&self, word: &str) -> bool {
        self.slugs.contains(&word)
    }

    /// Returns a word of ASCII letters, for paths and host names.
    pub(crate) fn slug(&self, random: KeyedRandom) -> &'static str {
        self.slugs[random.below(self.slugs.len() as u64) as usize]
    }
}

/// Returns the words of a language that are valid in a path without encoding.
fn slugs(language: Language) -> impl Iterator<Item = &'static str> {
    language.words().split_whitespace().skip(FUNCTION_WORDS).filter(|word| is_slug(word))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn is_slug(word: &str) -> bool {
    word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Zipf's law with Mandelbrot's shift, quantised: slot `x` of the table contains the rank whose cumulative share
/// covers it. The rarest words have one slot each, slightly more than their share, so that every word occurs.
fn zipf_table(words: usize) -> Box<[u16; TABLE_LEN]> {
    let due = |rank: usize| 1.0 / (rank as f64 + 2.7);
    let slot = 1.1 * (0..words).map(due).sum::<f64>() / TABLE_LEN as f64;
    let weight = |rank: usize| due(rank).max(slot);
    let total: f64 = (0..words).map(weight).sum();
    let mut table = Box::new([0u16; TABLE_LEN]);
    let (mut rank, mut covered) = (0usize, weight(0));
    for (slot, entry) in table.iter_mut().enumerate() {
        let position = (slot as f64 + 0.5) / TABLE_LEN as f64 * total;
        while position > covered && rank + 1 < words {
            rank += 1;
            covered += weight(rank);
        }
        *entry = rank as u16;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vocabulary_has_nine_hundred_words_and_uses_all_of_them() {
        for language in Language::ALL {
            let vocabulary = language.vocabulary();
            assert!(vocabulary.words.len() >= 900, "{language:?}: {}", vocabulary.words.len());
            let mut said: Vec<u16> = vocabulary.zipf.to_vec();
            said.dedup();
            assert!(said.len() == vocabulary.words.len(), "{language:?}: {} words said", said.len());
            assert!(vocabulary.slugs.len() >= 100);
            assert!(!language.words().contains(['<', '>', '&', '"', '\'']), "{language:?} needs no escaping");
            for (word, boxed) in language.words().split_whitespace().zip(&vocabulary.words) {
                assert_eq!(boxed.as_str(), format!("{word}{}", vocabulary.gap));
            }
        }
    }

    #[test]
    fn words_are_in_the_script_of_their_language_and_unique() {
        for language in Language::ALL {
            let mut seen = std::collections::HashSet::new();
            for word in language.words().split_whitespace() {
                assert!(seen.insert(word), "{language:?}: {word} twice");
                assert!(word.chars().all(|letter| is_of(language, letter)), "{language:?}: {word}");
            }
        }
    }

    fn is_of(language: Language, letter: char) -> bool {
        match language {
            Russian => matches!(letter, 'а'..='я' | 'ё'),
            Greek => matches!(letter, 'ά'..='ώ' | 'ΐ'),
            Arabic => matches!(letter, 'ء'..='ي'),
            Chinese => matches!(letter, '一'..='鿿'),
            Japanese => matches!(letter, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '々' | '一'..='鿿'),
            English => letter.is_ascii_lowercase(),
            _ => letter.is_lowercase() && letter < '\u{180}',
        }
    }

    #[test]
    fn each_language_has_its_own_vocabulary() {
        assert_eq!(Russian.vocabulary().word(0).as_str(), "и ");
        assert_eq!(Chinese.vocabulary().word(0).as_str(), "的");
        assert_eq!(German.vocabulary().capital(0).as_str(), "Der ");
        assert_eq!(Greek.vocabulary().word(0).as_str(), "και ");
    }
}
