//! N-gram model of 139 languages: naive Bayes over the byte n-grams of a text, as in langid.py (Lui and Baldwin, *langid.py: An
//! Off-the-shelf Language Identification Tool*, ACL 2012).
//!
//! At each byte, the longest known n-gram that ends there is counted. Each of its weights raises the score of a language by the
//! weight times ln(1 + count). A weight is the difference between the logarithms of the n-gram's probability in the language and
//! in the median language; small ones are left out.
//!
//! The file `model.zst` is built by `contrib/language-model/build.py` from py3langid (BSD 3-Clause) and the translations of the
//! Universal Declaration of Human Rights.

use std::sync::LazyLock;

/// The model; empty if the file in the program is damaged, which a test excludes.
static MODEL: LazyLock<Model> = LazyLock::new(|| read_model(include_bytes!("model.zst")).unwrap_or_default());

/// Maximum size of the model, decompressed.
const MAX_MODEL_BYTES: usize = 8 << 20;

/// Lengths of n-grams in bytes.
const MIN_NGRAM_BYTES: usize = 2;
const MAX_NGRAM_BYTES: usize = 6;

/// Weights are in eight steps.
const MIN_WEIGHT: f32 = 1.8;
const WEIGHT_STEP: f32 = 0.8;

/// Penalty of languages that are rare on the Web, and of rare relatives of a frequent one. Without it, a short text of a
/// frequent language is as often taken for its relative as the reverse.
const RARE_PENALTY: f32 = 6.0;
const RELATIVE_PENALTY: f32 = 12.0;

const FREQUENT_LANGUAGES: &str = "en de fr es it pt nl sv da nb fi pl cs sk hu ro bg el ru uk tr ar he fa hi bn ur ta te ml \
                                  kn mr gu pa th vi id ms ja ko zh sr hr sl lt lv et ca is ka hy az kk sq mk be tl sw af eu \
                                  gl ga cy ne si km my lo am mn";
const RARE_RELATIVES: &str = "nn bs an sco co rm wa";

/// Code for text that is not in a language, such as numbers and programs.
pub(super) const NOT_A_LANGUAGE: &str = "zxx";

#[derive(Default)]
struct Model {
    /// ISO 639 code of each language; one may occur twice, for its scripts.
    codes: Vec<String>,
    penalties: Vec<f32>,
    /// Open-addressing table of n-grams: a packed n-gram, or 0, and its number.
    slots: Vec<(u64, u32)>,
    /// Start of the weights of each n-gram, and their number.
    starts: Vec<u32>,
    /// Language and step of each weight.
    weights: Vec<(u8, u8)>,
}

/// Scores of all languages for a text.
pub(super) struct Scores(Vec<f32>);

/// The language with the highest score.
#[derive(Clone, Copy)]
pub(super) struct Best {
    pub(super) code: &'static str,
    /// Distance to the best other language.
    pub(super) margin: f32,
}

impl Scores {
    /// Scores of an empty text.
    pub(super) fn new() -> Scores {
        Scores(MODEL.penalties.clone())
    }

    /// Adds the scores of another text.
    pub(super) fn add(&mut self, other: &Scores) {
        let own = self.0.iter_mut().zip(&other.0).zip(&MODEL.penalties);
        own.for_each(|((score, other), penalty)| *score += other - penalty);
    }

    /// Raises the score of a language.
    pub(super) fn favour(&mut self, code: &str, bonus: f32) {
        for (score, _) in self.0.iter_mut().zip(&MODEL.codes).filter(|(_, known)| *known == code) {
            *score += bonus;
        }
    }

    /// Scores a text.
    pub(super) fn of_text(text: &[u8]) -> Scores {
        let mut scores = Scores::new();
        let mut counts = vec![0u8; MODEL.starts.len()];
        let mut found = Vec::with_capacity(text.len());
        for end in MIN_NGRAM_BYTES..=text.len() {
            if let Some(ngram) = MODEL.longest_ngram(&text[end.saturating_sub(MAX_NGRAM_BYTES)..end]) {
                let count = &mut counts[ngram];
                if *count == 0 {
                    found.push(ngram);
                }
                *count = count.saturating_add(1);
            }
        }
        for ngram in found {
            let factor = f32::from(counts[ngram]).ln_1p();
            let range = MODEL.starts[ngram] as usize..MODEL.starts[ngram + 1] as usize;
            for &(language, step) in &MODEL.weights[range] {
                scores.0[usize::from(language)] += factor * (MIN_WEIGHT + WEIGHT_STEP * f32::from(step));
            }
        }
        scores
    }

    /// Returns the best language; `None` if no n-gram is known.
    pub(super) fn best(&self) -> Option<Best> {
        let codes = &MODEL.codes;
        let best = (0..self.0.len()).max_by(|&one, &other| self.0[one].total_cmp(&self.0[other]))?;
        let others = (0..self.0.len()).filter(|&other| codes[other] != codes[best]);
        let second = others.map(|other| self.0[other]).max_by(f32::total_cmp)?;
        let margin = self.0[best] - second;
        (self.0[best] > 0.0).then_some(Best { code: codes[best].as_str(), margin })
    }
}

impl Model {
    /// Returns the number of the longest n-gram that is a suffix of the bytes.
    fn longest_ngram(&self, bytes: &[u8]) -> Option<usize> {
        let mut packed = 0;
        let mut longest = None;
        for (length, byte) in (1..).zip(bytes.iter().rev()) {
            packed |= u64::from(*byte) << (8 * (length - 1));
            if length >= MIN_NGRAM_BYTES {
                longest = self.find(key(packed, length)).or(longest);
            }
        }
        longest
    }

    fn find(&self, key: u64) -> Option<usize> {
        let mut slot = slot_of(key, self.slots.len());
        loop {
            match *self.slots.get(slot)? {
                (0, _) => return None,
                (known, ngram) if known == key => return Some(ngram as usize),
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }

    fn insert(&mut self, ngram: &[u8], number: u32) {
        let packed = ngram.iter().fold(0, |packed, byte| packed << 8 | u64::from(*byte));
        let key = key(packed, ngram.len());
        let mut slot = slot_of(key, self.slots.len());
        while self.slots[slot].0 != 0 {
            slot = (slot + 1) % self.slots.len();
        }
        self.slots[slot] = (key, number);
    }
}

/// Packs an n-gram with its length, so that no key is 0.
fn key(packed: u64, length: usize) -> u64 {
    (length as u64) << 56 | packed
}

fn slot_of(key: u64, slots: usize) -> usize {
    // Fibonacci hashing; the number of slots is a power of two.
    let bits = slots.trailing_zeros();
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits.max(1))) as usize
}

fn read_model(compressed: &[u8]) -> Option<Model> {
    let data = zstd::bulk::decompress(compressed, MAX_MODEL_BYTES).ok()?;
    let mut rest = data.as_slice();
    let codes_bytes = read_u32(&mut rest)? as usize;
    let ngrams = read_u32(&mut rest)? as usize;
    let codes = std::str::from_utf8(rest.split_off(..codes_bytes)?).ok()?;
    let lengths = rest.split_off(..ngrams)?;
    let mut texts = rest.split_off(..lengths.iter().map(|length| usize::from(*length)).sum())?;
    let sizes = rest.split_off(..ngrams)?;
    let weights: usize = sizes.iter().map(|size| usize::from(*size)).sum();
    let (languages, steps) = (rest.split_off(..weights)?, rest.split_off(..weights)?);
    let codes: Vec<String> = codes.split(' ').map(str::to_owned).collect();
    let is_in = |list: &str, code: &str| list.split_ascii_whitespace().any(|known| known == code);
    let penalty = |code: &String| match code.as_str() {
        code if is_in(RARE_RELATIVES, code) => -RELATIVE_PENALTY,
        code if is_in(FREQUENT_LANGUAGES, code) => 0.0,
        _ => -RARE_PENALTY,
    };
    let mut model = Model {
        penalties: codes.iter().map(penalty).collect(),
        slots: vec![(0, 0); (2 * ngrams).next_power_of_two()],
        starts: vec![0],
        weights: languages.iter().copied().zip(steps.iter().copied()).collect(),
        codes,
    };
    for (number, (length, size)) in lengths.iter().zip(sizes).enumerate() {
        model.insert(texts.split_off(..usize::from(*length))?, number as u32);
        model.starts.push(model.starts[number] + u32::from(*size));
    }
    let is_valid = model.weights.iter().all(|(language, _)| usize::from(*language) < model.codes.len());
    is_valid.then_some(model)
}

fn read_u32(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(*rest.split_off(..4)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_in_the_program_is_complete() {
        assert_eq!(MODEL.codes.len(), 139);
        assert_eq!(MODEL.starts.len(), 60_001);
        assert_eq!(MODEL.starts.last().map(|end| *end as usize), Some(MODEL.weights.len()));
        for code in format!("{FREQUENT_LANGUAGES} {RARE_RELATIVES} {NOT_A_LANGUAGE}").split_ascii_whitespace()
        {
            assert!(MODEL.codes.iter().any(|known| known == code), "{code}");
        }
    }

    #[test]
    fn the_longest_ngram_is_found() {
        let number = |ngram: &[u8]| MODEL.longest_ngram(ngram);
        assert!(number(b"isht ").is_some());
        assert_eq!(number(b"xisht "), number(b"isht "));
        assert_eq!(number(b"a"), None);
    }

    #[test]
    fn a_damaged_model_is_refused() {
        assert!(read_model(b"").is_none());
        let model = include_bytes!("model.zst");
        assert!(read_model(&model[..model.len() / 2]).is_none());
    }
}
