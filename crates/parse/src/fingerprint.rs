//! Do two texts say nearly the same, or speak of the same things? Two fingerprints of 64 bits tell without the texts.
//!
//! [`Fingerprint::minhash`] is for near duplicates. After Broder, *On the resemblance and containment of documents* (1997):
//! of all three words in a row, those with the smallest hashes are a fair sample, the same for texts that are nearly the same.
//! One hash function does for all samples (Li, Owen and Zhang, *One Permutation Hashing*, NIPS 2012): its first bits say
//! for which of eight samples a hash stands. Two samples make a *band* of 16 bits. Texts of which a share J of all threes is common
//! have the same band with probability J²; near duplicates share two bands of four or more, others next to never.
//!
//! [`Fingerprint::simhash`] is for texts about the same: each bit is the majority of that bit over the hashes of the text's
//! words, and the more words two texts have in common, the fewer bits differ (Charikar, *Similarity Estimation Techniques
//! from Rounding Algorithms*, STOC 2002). A word counts once, however often it occurs, so that articles and pronouns
//! do not drown the rest.
//!
//! SimHash alone, as Manku, Jain and Das Sarma use it (*Detecting Near-Duplicates for Web Crawling*, WWW 2007), would miss most
//! near duplicates that can be found by tables of it: where one sentence in twenty differs, so do some seven bits, and tables
//! find three.

use crate::words::{ONES, for_each_word, mix};

/// Words in a row that are one feature of a text.
const SHINGLE_WORDS: usize = 3;
/// A text with fewer words has too few features for a judgement.
const LEAST_WORDS: usize = 20;
const SAMPLES: usize = 8;
/// Bits of a hash of words by which it is remembered as seen.
const SEEN_BITS: u32 = 16;

/// What two texts can be compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint {
    /// Texts with many words in common differ in few bits; 0 without words.
    pub simhash: u64,
    /// Four bands of 16 bits; near duplicates have two or more of them in common. None for a text of a few words.
    pub minhash: Option<u64>,
}

impl Fingerprint {
    /// That of a text.
    pub fn of(text: &str) -> Fingerprint {
        let mut votes = Votes::default();
        let mut samples = [u64::MAX; SAMPLES];
        let mut seen = [0u64; 1 << (SEEN_BITS - 6)];
        let mut window = [0; SHINGLE_WORDS];
        let mut words = 0;
        for_each_word(text, |word| {
            window.rotate_left(1);
            window[SHINGLE_WORDS - 1] = word;
            words += 1;
            if words >= SHINGLE_WORDS {
                let hash = shingle(window);
                let sample = &mut samples[(hash >> 61) as usize];
                *sample = (hash << 3).min(*sample);
            }
            let place = word.wrapping_mul(SPREAD) >> (64 - SEEN_BITS);
            let (block, bit) = (&mut seen[(place >> 6) as usize], 1 << (place & 63));
            if *block & bit == 0 {
                *block |= bit;
                votes.add(shingle([0, 0, word]));
            }
        });
        let minhash = (words >= LEAST_WORDS).then(|| bands(&samples));
        Fingerprint { simhash: votes.majority(), minhash }
    }
}

/// An odd number without a pattern in its bits.
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// Two samples to a band.
fn bands(samples: &[u64; SAMPLES]) -> u64 {
    let band = |pair: &[u64; 2]| mix(mix(SPREAD, pair[0]), pair[1]) >> 48;
    samples.as_chunks().0.iter().fold(0, |bands, pair| bands << 16 | band(pair))
}

/// How many hashes had which bit set.
struct Votes {
    ones: [u32; 64],
    count: u32,
    /// Those of the last hashes, eight bits to a number, a byte for each.
    bytes: [u64; 8],
    in_bytes: u8,
}

impl Default for Votes {
    fn default() -> Votes {
        Votes { ones: [0; 64], count: 0, bytes: [0; 8], in_bytes: 0 }
    }
}

impl Votes {
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

/// One hash for words in their order.
fn shingle(words: [u64; SHINGLE_WORDS]) -> u64 {
    let hash = words.into_iter().fold(0, mix);
    (hash ^ hash >> 32).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words drawn by a small generator.
    fn text(seed: u64, words: usize) -> Vec<String> {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("word{}", (state >> 33) % 5_000)
        };
        (0..words).map(|_| draw()).collect()
    }

    fn of(words: &[String]) -> Fingerprint {
        Fingerprint::of(&words.join(" "))
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
    fn near_duplicates_share_bands_and_others_none() {
        let (mut near, mut far) = (0, 0);
        for seed in 0..200 {
            let original = text(seed, 400);
            let mut edited = original.clone();
            // One sentence in twenty is another one.
            for place in [17, 170, 340] {
                edited.splice(place..place + 7, text(seed << 20 | place as u64, 7));
            }
            near += usize::from(common_bands(&original, &edited) >= 2);
            far += common_bands(&original, &text(seed + 1000, 400));
        }
        assert!(near >= 180, "{near} of 200");
        assert!(far <= 1, "{far}");
    }

    #[test]
    fn texts_with_common_words_differ_in_few_bits_and_others_in_about_half() {
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
        assert_eq!(Fingerprint::of(text), Fingerprint::of(bare));
        let turned = text.split(' ').rev().collect::<Vec<&str>>().join(" ");
        let (turned, text) = (Fingerprint::of(&turned), Fingerprint::of(text));
        assert_eq!(turned.simhash, text.simhash);
    }

    #[test]
    fn scripts_without_spaces_have_words_too() {
        let long = "堰は川の流れをせき止めて水位を上げるために築かれる構造物であり取水や舟運や水量の調整に用いられる";
        let edited = long.replace("舟運", "漁業");
        let (long, edited) = (Fingerprint::of(long), Fingerprint::of(&edited));
        let near = (long.simhash ^ edited.simhash).count_ones();
        assert!((1..=20).contains(&near), "{near}");
        assert!(long.minhash.is_some());
    }

    #[test]
    fn a_text_of_few_words_is_not_judged() {
        assert_eq!(Fingerprint::of(" \n-- ... "), Fingerprint::default());
        let one = Fingerprint::of("one");
        assert!(one.simhash != 0 && one.minhash.is_none());
        assert!(Fingerprint::of(&"word ".repeat(19)).minhash.is_none());
        assert!(Fingerprint::of(&"word ".repeat(20)).minhash.is_some());
    }
}
