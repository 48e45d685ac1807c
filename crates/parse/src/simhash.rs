//! Do two texts say nearly the same? Their fingerprints differ in few bits if they do.
//!
//! After Charikar, *Similarity Estimation Techniques from Rounding Algorithms* (STOC 2002), as Manku, Jain and Das Sarma
//! (*Detecting Near-Duplicates for Web Crawling*, WWW 2007) use it: each bit is the majority of that bit over the
//! hashes of the text's features. They weigh single words; here the features are three words in a row, each as often as
//! it occurs, so that two texts on one subject are not alike by their vocabulary. Case and punctuation do not count,
//! and where a script has no spaces every character is a word.

use xxhash_rust::xxh3::xxh3_64;

/// Words of one feature.
const SHINGLE_WORDS: usize = 3;

/// The fingerprint of a text; 0 for one without words.
pub fn simhash(text: &str) -> u64 {
    let mut votes = Votes { ones: [0; 64], count: 0 };
    let mut window = [0; SHINGLE_WORDS];
    let mut words = 0;
    for_each_word(text, |word| {
        window.rotate_left(1);
        window[SHINGLE_WORDS - 1] = xxh3_64(word.as_bytes());
        words += 1;
        if words >= SHINGLE_WORDS {
            votes.add(shingle(window));
        }
    });
    // A text of one or two words is a feature by itself.
    if (1..SHINGLE_WORDS).contains(&words) {
        votes.add(shingle(window));
    }
    votes.majority()
}

struct Votes {
    ones: [u32; 64],
    count: u32,
}

impl Votes {
    fn add(&mut self, hash: u64) {
        for (bit, ones) in self.ones.iter_mut().enumerate() {
            *ones += (hash >> bit) as u32 & 1;
        }
        self.count += 1;
    }

    fn majority(&self) -> u64 {
        let is_set = |bit: &usize| self.ones[*bit] > self.count / 2;
        (0..64).filter(is_set).fold(0, |hash, bit| hash | 1 << bit)
    }
}

/// One hash for words in their order.
fn shingle(words: [u64; SHINGLE_WORDS]) -> u64 {
    let mut hash = 0_u64;
    for word in words {
        hash = (hash.rotate_left(25) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    hash ^ hash >> 32
}

/// Calls `each` with the words in lower case.
fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut lower = String::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut start = 0;
        // What stands before such a character is a word of its own.
        for (at, c) in word.char_indices().filter(|(_, c)| is_written_without_spaces(*c)) {
            push_lower(&word[start..at], &mut lower, &mut each);
            start = at + c.len_utf8();
            each(&word[at..start]);
        }
        push_lower(&word[start..], &mut lower, &mut each);
    }
}

fn push_lower(word: &str, lower: &mut String, each: &mut impl FnMut(&str)) {
    if word.is_empty() {
        return;
    }
    lower.clear();
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(word.chars().flat_map(char::to_lowercase));
    }
    each(lower);
}

/// Han, kana, Thai, Lao, Khmer, Burmese.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of words drawn by a small generator.
    fn text(seed: u64, words: usize) -> Vec<String> {
        let mut state = seed;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("word{}", (state >> 33) % 500)
        };
        (0..words).map(|_| draw()).collect()
    }

    fn distance(one: &[String], other: &[String]) -> u32 {
        (simhash(&one.join(" ")) ^ simhash(&other.join(" "))).count_ones()
    }

    #[test]
    fn near_duplicates_differ_in_few_bits_and_others_in_about_half() {
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for seed in 0..50 {
            let original = text(seed, 400);
            let mut edited = original.clone();
            edited[100] = "changed".to_owned();
            edited.insert(250, "added".to_owned());
            near.push(distance(&original, &edited));
            far.push(distance(&original, &text(seed + 1000, 400)));
        }
        near.sort_unstable();
        far.sort_unstable();
        assert!(near[25] <= 4 && near[49] <= 10, "{near:?}");
        assert!(far[0] >= 16 && (28..=36).contains(&far[25]), "{far:?}");
    }

    #[test]
    fn case_space_and_punctuation_do_not_count() {
        assert_eq!(simhash("The Weir, a dam.\n"), simhash("the weir a  dam"));
        assert_ne!(simhash("The weir, a dam."), simhash("A dam, the weir."));
    }

    #[test]
    fn scripts_without_spaces_have_words_too() {
        let long = "堰は川の流れをせき止めて水位を上げるために築かれる構造物であり取水や舟運や水量の調整に用いられる";
        let edited = long.replace("舟運", "漁業");
        let near = (simhash(long) ^ simhash(&edited)).count_ones();
        assert!(near <= 20, "{near}");
        assert_ne!(near, 0);
    }

    #[test]
    fn a_text_without_words_has_none() {
        assert_eq!(simhash(" \n-- ... "), 0);
        assert_ne!(simhash("one"), 0);
    }
}
