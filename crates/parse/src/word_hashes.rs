//! Hashes of the words of a text, in lower case, for text comparison.
//!
//! A word is a sequence of letters and digits; case and punctuation do not count. In scripts without spaces every character
//! is a word. ASCII words, the most frequent ones, are processed eight bytes at a time.

/// Calls `f` with the hash of every word.
pub fn for_each_word_hash(text: &str, mut f: impl FnMut(u64)) {
    let bytes = text.as_bytes();
    let mut lower = String::new();
    // `at` is the start of a word or of a separator.
    let mut at = 0;
    while at < bytes.len() {
        match ascii_word(bytes, at) {
            Word::Ascii { hash, next } => {
                f(hash);
                at = next;
            }
            Word::None { next } => at = next,
            Word::Unicode => at = unicode_word(text, at, &mut lower, &mut f),
        }
    }
}

/// Kind of the text at a position, and the position after it.
enum Word {
    Ascii { hash: u64, next: usize },
    None { next: usize },
    Unicode,
}

/// Reads the ASCII word at a position. ASCII characters other than letters and digits are separators; those in the eight
/// bytes that were loaded are skipped.
fn ascii_word(bytes: &[u8], start: usize) -> Word {
    let mut hash = 0;
    let mut at = start;
    loop {
        let eight = load_bytes(bytes, at);
        let letters = alphanumeric(eight);
        let end_bits = (!letters & HIGH).trailing_zeros() & !7;
        // Sets the bit that distinguishes upper from lower case; digits have it already.
        let small = eight | 0x2020_2020_2020_2020;
        if end_bits == 64 {
            hash = mix(hash, small);
            at += 8;
            continue;
        }
        if eight >> end_bits & 0x80 != 0 {
            return Word::Unicode;
        }
        let after = (letters | eight & HIGH) & u64::MAX << end_bits;
        let next = at + after.trailing_zeros() as usize / 8;
        if end_bits > 0 {
            hash = mix(hash, small & !(u64::MAX << end_bits));
        } else if at == start {
            return Word::None { next };
        }
        return Word::Ascii { hash: hash ^ hash >> 29, next };
    }
}

/// Loads eight bytes in little-endian order, padded with zeros.
fn load_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => rest.iter().rev().fold(0, |eight, byte| eight << 8 | u64::from(*byte)),
    }
}

/// Highest bit of every byte.
const HIGH: u64 = ONES << 7;

/// Sets the highest bit of every byte that is an ASCII letter or digit. The sums never carry into the next byte.
fn alphanumeric(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let small = low | (ONES * 0x20);
    let at_least = |bytes: u64, min: u8| bytes + ONES * u64::from(0x80 - min);
    let letters = at_least(small, b'a') & !at_least(small, b'z' + 1);
    let digits = at_least(low, b'0') & !at_least(low, b'9' + 1);
    (letters | digits) & !eight & HIGH
}

/// Hashes a word that is not ASCII; returns the position after it.
fn unicode_word(text: &str, start: usize, lower: &mut String, f: &mut impl FnMut(u64)) -> usize {
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let word = &rest[..end];
    let mut start_of_part = 0;
    // The text before such a character is a separate word.
    for (at, c) in word.char_indices().filter(|(_, c)| is_written_without_spaces(*c)) {
        push_lower(&word[start_of_part..at], lower, f);
        start_of_part = at + c.len_utf8();
        push_lower(&word[at..start_of_part], lower, f);
    }
    push_lower(&word[start_of_part..], lower, f);
    // Skip the separator that ended the word.
    start + end + rest[end..].chars().next().map_or(0, char::len_utf8)
}

/// Hashes a word in lower case; `lower` is a reused buffer.
fn push_lower(word: &str, lower: &mut String, f: &mut impl FnMut(u64)) {
    if word.is_empty() {
        return;
    }
    lower.clear();
    lower.extend(word.chars().flat_map(char::to_lowercase));
    let bytes = lower.as_bytes();
    let hash = (0..bytes.len()).step_by(8).fold(0, |hash, at| mix(hash, load_bytes(bytes, at)));
    f(hash ^ hash >> 29);
}

/// Reports whether a character belongs to a script without spaces: Han, kana, Thai, Lao, Khmer, Burmese.
fn is_written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(25) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A one in every byte.
pub(crate) const ONES: u64 = 0x0101_0101_0101_0101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_and_unicode_words_have_the_same_hashes() {
        let words = |text: &str| {
            let mut words = Vec::new();
            for_each_word_hash(text, |word| words.push(word));
            words
        };
        let text = "A weir, in 1952: barriers|abcdefgh abcdefghi [Rust]2024@home`x{y}z";
        let mut foreign = Vec::new();
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            push_lower(word, &mut String::new(), &mut |hash| foreign.push(hash));
        }
        assert_eq!(foreign.len(), 13);
        assert_eq!(words(text), foreign);
        assert_eq!(
            words("Rust言語\u{a0}rust\u{201d}RUST"),
            [&words("rust言語")[..], &words("rust rust")].concat()
        );
        assert_eq!(words("Café"), words("«CAFÉ»"));
        assert_eq!(words("naïve").len(), 1);
    }

    #[test]
    fn every_byte_is_classified_as_by_the_standard_library() {
        for byte in 0..=255_u8 {
            let expected = if byte.is_ascii_alphanumeric() { 0x80 << 16 } else { 0 };
            assert_eq!(alphanumeric(u64::from(byte) << 16), expected, "{byte}");
        }
    }
}
