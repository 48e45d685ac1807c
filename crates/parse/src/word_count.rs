//! Number of words of a text.

/// Counts words between spaces; in scripts without spaces two characters count as a word.
pub(crate) fn count_words(text: &str) -> u32 {
    if text.is_ascii() {
        return count_spaced_words(text.as_bytes());
    }
    let mut words = 0;
    let mut unspaced = 0;
    let mut in_word = false;
    for character in text.chars() {
        match character {
            '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => {
                unspaced += 1;
                in_word = false;
            }
            _ if character.is_whitespace() => in_word = false,
            _ => {
                words += u32::from(!in_word);
                in_word = true;
            }
        }
    }
    words + unspaced / 2
}

/// Counts the positions at which white space is followed by another character, eight bytes at a time.
pub(crate) fn count_spaced_words(text: &[u8]) -> u32 {
    let mut words = 0;
    // The position before the first byte counts as white space.
    let mut last_is_space = 0x80;
    let mut count = |eight: u64| {
        let spaces = spaces(eight);
        let starts = !spaces & HIGH & (spaces << 8 | last_is_space);
        words += ((starts >> 7).wrapping_mul(ONES) >> 56) as u32;
        last_is_space = spaces >> 56;
    };
    let (eights, rest) = text.as_chunks();
    eights.iter().for_each(|eight| count(u64::from_le_bytes(*eight)));
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    count(u64::from_le_bytes(last));
    words
}

/// The lowest bit of every byte; below, the highest one.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// Sets the highest bit of every byte that is ASCII white space. The sums never carry into the next byte.
fn spaces(eight: u64) -> u64 {
    let low = eight & !HIGH;
    let not_blank = (low ^ (ONES * u64::from(b' '))) + ONES * 0x7f;
    let at_least = |min: u8| low + ONES * u64::from(0x80 - min);
    let controls = at_least(b'\t') & !at_least(b'\r' + 1);
    (!not_blank | controls) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_scripts_without_spaces_are_counted() {
        assert_eq!(count_words("one, two  three"), 3);
        assert_eq!(count_words("日本語の文章です"), 4);
        assert_eq!(count_words("Rust 言語"), 2);
    }

    #[test]
    fn ascii_words_are_counted_as_by_the_standard_library() {
        for text in ["", " ", "a", " a ", "a b", "\ta\n\nb c\r", "\x08a\x0e!\x21\x1f", &"ab c ".repeat(300)] {
            assert_eq!(count_words(text), text.split_whitespace().count() as u32, "{text}");
        }
    }
}
