//! Fingerprints of a text for the detection of near duplicates (MinHash) and of similar texts (SimHash).
//!
//! [`Fingerprint::minhash`] detects near duplicates (Broder, *On the resemblance and containment of documents*, 1997). A text
//! is the set of its shingles of three words; the shingles with the smallest hashes are a random sample, which near
//! duplicates share. One hash function serves all samples (Li, Owen and Zhang, *One Permutation Hashing*, NIPS 2012): its
//! first bits select one of eight samples. Two samples form a *band* of 16 bits. Two texts with Jaccard similarity J share a
//! band with probability J². Near duplicates share two or more of the four bands, other texts almost never.
//!
//! [`Fingerprint::simhash`] measures topical similarity: each bit is the majority of that bit over the hashes of the distinct
//! words, so texts with many common words differ in few bits (Charikar, *Similarity Estimation Techniques from Rounding
//! Algorithms*, STOC 2002). Each word counts once, so that frequent function words do not dominate.
//!
//! Departure from Manku, Jain and Das Sarma (*Detecting Near-Duplicates for Web Crawling*, WWW 2007): SimHash alone would miss
//! most near duplicates. If one sentence in twenty differs, about seven bits differ, and their tables find up to three.

use crate::word_hashes::ONES;
use crate::word_hashes::for_each_word_hash;
use crate::word_hashes::mix;

/// Number of words of a shingle.
const SHINGLE_WORDS: usize = 3;
/// Minimum number of words for a MinHash; shorter texts have too few shingles.
const MIN_WORDS: usize = 20;
const SAMPLES: usize = 8;
/// Number of hash bits that identify a word in the set of seen words.
const SEEN_BITS: u32 = 16;

/// Fingerprint of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// SimHash: texts with many common words differ in few bits; 0 for a text without words.
    pub simhash: u64,
    /// MinHash: four bands of 16 bits; near duplicates share two or more. `None` for a short text.
    pub minhash: Option<u64>,
}

impl Fingerprint {
    /// Computes the fingerprint of a text.
    pub fn from_text(text: &str) -> Fingerprint {
        let mut votes = BitVotes::default();
        let mut samples = [u64::MAX; SAMPLES];
        let mut seen = [0u64; 1 << (SEEN_BITS - 6)];
        let mut window = [0; SHINGLE_WORDS];
        let mut words = 0;
        for_each_word_hash(text, |word| {
            window.rotate_left(1);
            window[SHINGLE_WORDS - 1] = word;
            words += 1;
            if words >= SHINGLE_WORDS {
                let hash = shingle(window);
                let sample = &mut samples[(hash >> 61) as usize];
                *sample = (hash << 3).min(*sample);
            }
            let slot = word.wrapping_mul(MULTIPLIER) >> (64 - SEEN_BITS);
            let (block, bit) = (&mut seen[(slot >> 6) as usize], 1 << (slot & 63));
            if *block & bit == 0 {
                *block |= bit;
                votes.add(shingle([0, 0, word]));
            }
        });
        let minhash = (words >= MIN_WORDS).then(|| bands(&samples));
        Fingerprint { simhash: votes.majority(), minhash }
    }
}

/// Odd multiplier with random bits.
const MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// Combines pairs of samples into bands.
fn bands(samples: &[u64; SAMPLES]) -> u64 {
    let band = |pair: &[u64; 2]| mix(mix(MULTIPLIER, pair[0]), pair[1]) >> 48;
    samples.as_chunks().0.iter().fold(0, |bands, pair| bands << 16 | band(pair))
}

/// Number of hashes with each bit set.
struct BitVotes {
    ones: [u32; 64],
    count: u32,
    /// Counters of the last hashes: eight bits per word, one byte for each bit.
    bytes: [u64; 8],
    in_bytes: u8,
}

impl Default for BitVotes {
    fn default() -> BitVotes {
        BitVotes { ones: [0; 64], count: 0, bytes: [0; 8], in_bytes: 0 }
    }
}

impl BitVotes {
    fn add(&mut self, hash: u64) {
        for (shift, bytes) in self.bytes.iter_mut().enumerate() {
            *bytes += hash >> shift & ONES;
        }
        self.in_bytes += 1;
        if self.in_bytes == u8::MAX {
            self.empty_bytes();
        }
    }

    fn empty_bytes(&mut self) {
        for (shift, bytes) in self.bytes.iter_mut().enumerate() {
            for (byte, ones) in bytes.to_le_bytes().into_iter().enumerate() {
                self.ones[byte * 8 + shift] += u32::from(ones);
            }
            *bytes = 0;
        }
        self.count += u32::from(self.in_bytes);
        self.in_bytes = 0;
    }

    fn majority(&mut self) -> u64 {
        self.empty_bytes();
        let is_set = |bit: &usize| self.ones[*bit] > self.count / 2;
        (0..64).filter(is_set).fold(0, |hash, bit| hash | 1 << bit)
    }
}

/// Hashes a shingle; the order of the words counts.
fn shingle(words: [u64; SHINGLE_WORDS]) -> u64 {
    let hash = words.into_iter().fold(0, mix);
    (hash ^ hash >> 32).wrapping_mul(MULTIPLIER)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random words.
    fn text(seed: u64, words: usize) -> Vec<String> {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("word{}", (state >> 33) % 5_000)
        };
        (0..words).map(|_| draw()).collect()
    }

    fn of(words: &[String]) -> Fingerprint {
        Fingerprint::from_text(&words.join(" "))
    }

    fn distance(one: &[String], other: &[String]) -> u32 {
        (of(one).simhash ^ of(other).simhash).count_ones()
    }

    fn common_bands(one: &[String], other: &[String]) -> usize {
        let bands = |words: &[String]| of(words).minhash.unwrap().to_le_bytes();
        let (one, other) = (bands(one), bands(other));
        one.as_chunks::<2>()
            .0
            .iter()
            .zip(other.as_chunks::<2>().0)
            .filter(|(one, other)| one == other)
            .count()
    }

    #[test]
    fn near_duplicates_share_bands_and_other_texts_do_not() {
        let (mut near, mut far) = (0, 0);
        for seed in 0..200 {
            let original = text(seed, 400);
            let mut edited = original.clone();
            // One sentence in twenty is replaced.
            for start in [17, 170, 340] {
                edited.splice(start..start + 7, text(seed << 20 | start as u64, 7));
            }
            near += usize::from(common_bands(&original, &edited) >= 2);
            far += common_bands(&original, &text(seed + 1000, 400));
        }
        assert!(near >= 180, "{near} of 200");
        assert!(far <= 1, "{far}");
    }

    #[test]
    fn texts_with_common_words_differ_in_few_bits_and_other_texts_in_about_half() {
        let (mut near, mut about, mut far) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..50 {
            let original = text(seed, 400);
            let mut edited = original.clone();
            edited[100] = "changed".to_owned();
            edited.insert(250, "added".to_owned());
            near.push(distance(&original, &edited));
            // Half of the words, in another order.
            let mut half = original.clone();
            half.truncate(200);
            half.reverse();
            about.push(distance(&original, &[half, text(seed + 500, 200)].concat()));
            far.push(distance(&original, &text(seed + 1000, 400)));
        }
        near.sort_unstable();
        about.sort_unstable();
        far.sort_unstable();
        assert!(near[25] <= 4 && near[49] <= 10, "{near:?}");
        assert!((12..26).contains(&about[25]), "{about:?}");
        assert!(far[0] >= 16 && (26..=36).contains(&far[25]), "{far:?}");
    }

    #[test]
    fn case_space_and_punctuation_do_not_count() {
        let text =
            "The Weir, a dam across a river, raises its water so that boats can pass and mills can turn.\n";
        let bare =
            "the weir a  dam across a river raises its water so that boats can pass and mills can turn";
        assert_eq!(Fingerprint::from_text(text), Fingerprint::from_text(bare));
        let turned = text.split(' ').rev().collect::<Vec<&str>>().join(" ");
        let (turned, text) = (Fingerprint::from_text(&turned), Fingerprint::from_text(text));
        assert_eq!(turned.simhash, text.simhash);
    }

    #[test]
    fn texts_in_scripts_without_spaces_have_a_fingerprint() {
        let long = "堰は川の流れをせき止めて水位を上げるために築かれる構造物であり取水や舟運や水量の調整に用いられる";
        let edited = long.replace("舟運", "漁業");
        let (long, edited) = (Fingerprint::from_text(long), Fingerprint::from_text(&edited));
        let near = (long.simhash ^ edited.simhash).count_ones();
        assert!((1..=20).contains(&near), "{near}");
        assert!(long.minhash.is_some());
    }

    #[test]
    fn a_short_text_has_no_minhash() {
        assert_eq!(Fingerprint::from_text(" \n-- ... "), Fingerprint::default());
        let one = Fingerprint::from_text("one");
        assert!(one.simhash != 0 && one.minhash.is_none());
        assert!(Fingerprint::from_text(&"word ".repeat(19)).minhash.is_none());
        assert!(Fingerprint::from_text(&"word ".repeat(20)).minhash.is_some());
    }
}
