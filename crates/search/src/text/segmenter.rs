//! Segmentation of text into tokens in lower case.
//!
//! A word is a run of letters and digits with their marks. Scripts written without spaces, and Korean, which is agglutinative, are
//! segmented into overlapping character bigrams; a single character between others is a token of its own.

/// Token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'c> {
    /// Lower case, without combining marks.
    pub(crate) text: &'c str,
    /// Position among the tokens of the text.
    pub(crate) position: u32,
    /// Kind of the token.
    pub(crate) kind: TokenKind,
    /// Byte offset of its start.
    pub(crate) start: usize,
    /// Byte offset of its end.
    pub(crate) end: usize,
}

/// Kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Run of letters and digits.
    Word,
    /// Two characters of a script without spaces.
    Bigram,
    /// Single character of such a script. In most texts it is part of bigrams.
    Unigram,
}

/// Maximum length of a word. Longer ones are encoded data or spam; they are skipped, but keep their position.
pub(crate) const MAX_WORD_BYTES: usize = 48;

/// Segments one text.
#[derive(Debug)]
pub(crate) struct Segmenter<'t> {
    text: &'t str,
    offset: usize,
    position: u32,
    /// Text of the last token.
    lower: String,
    /// Whether the previous character was the first of the last bigram.
    in_run: bool,
}

impl<'t> Segmenter<'t> {
    pub(crate) fn new(text: &'t str) -> Segmenter<'t> {
        Segmenter {
            text,
            offset: 0,
            position: 0,
            lower: String::with_capacity(MAX_WORD_BYTES),
            in_run: false,
        }
    }

    /// Returns the next token.
    pub(crate) fn next(&mut self) -> Option<Token<'_>> {
        loop {
            let start = self.offset;
            let c = self.peek()?;
            let kind = if is_unspaced(c) {
                self.bigram(c)
            } else if is_word_char(c) {
                self.in_run = false;
                self.word()
            } else {
                self.in_run = false;
                self.offset += c.len_utf8();
                continue;
            };
            let Some((kind, end)) = kind else { continue };
            let position = self.position;
            self.position += 1;
            return Some(Token { text: &self.lower, position, kind, start, end });
        }
    }

    fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.offset) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.text[self.offset..].chars().next(),
        }
    }

    /// The bigram that starts here; `None` at the end of a run, whose last character was part of the previous bigram.
    fn bigram(&mut self, first: char) -> Option<(TokenKind, usize)> {
        self.offset += first.len_utf8();
        let second = self.peek().filter(|c| is_unspaced(*c));
        let was_in_run = std::mem::replace(&mut self.in_run, second.is_some());
        self.lower.clear();
        self.lower.push(first);
        match second {
            Some(second) => {
                self.lower.push(second);
                Some((TokenKind::Bigram, self.offset + second.len_utf8()))
            }
            None if was_in_run => None,
            None => Some((TokenKind::Unigram, self.offset)),
        }
    }

    /// The word that starts here; `None` if it is too long or has marks only.
    fn word(&mut self) -> Option<(TokenKind, usize)> {
        self.lower.clear();
        let mut is_too_long = false;
        while let Some(c) = self.peek().filter(|c| is_word_char(*c) && !is_unspaced(*c)) {
            self.offset += c.len_utf8();
            if self.lower.len() >= MAX_WORD_BYTES {
                is_too_long = true;
            } else if c.is_ascii() {
                self.lower.push(c.to_ascii_lowercase());
            } else if !is_ignored_mark(c) {
                self.lower.extend(c.to_lowercase().filter(|c| !is_ignored_mark(*c)));
            }
        }
        if is_too_long {
            self.position += 1;
        }
        (!is_too_long && !self.lower.is_empty()).then_some((TokenKind::Word, self.offset))
    }
}

fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_ignored_mark(c) || is_indic_sign(c)
    }
}

/// Marks removed from words: combining accents, Hebrew and Arabic points, soft hyphens, joiners.
fn is_ignored_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}' | '\u{05c2}'
        | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}' | '\u{00ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

/// Vowel signs and other marks of Indic scripts, which are neither letters nor digits.
fn is_indic_sign(c: char) -> bool {
    matches!(c, '\u{0900}'..='\u{0dff}') && !matches!(c, '\u{0964}' | '\u{0965}' | '\u{0970}')
}

/// Han, kana, Hangul, Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    c >= '\u{0e00}'
        && matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{318e}'
            | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<(String, u32)> {
        let mut segmenter = Segmenter::new(text);
        let mut tokens = Vec::new();
        while let Some(token) = segmenter.next() {
            tokens.push((token.text.to_owned(), token.position));
        }
        tokens
    }

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|(word, _)| word).collect()
    }

    #[test]
    fn words_are_letters_and_digits_in_lower_case() {
        assert_eq!(
            words("The Weir, in 1952: foo_bar's «ÉTÉ»"),
            ["the", "weir", "in", "1952", "foo", "bar", "s", "été"]
        );
        assert_eq!(
            words("soft\u{ad}hyphen e\u{301}t\u{e9} शब्द\u{964}शब्द"),
            ["softhyphen", "eté", "शब्द", "शब्द"]
        );
        assert!(words(" ,.- \u{301}\u{200b} ").is_empty());
    }

    #[test]
    fn scripts_without_spaces_are_segmented_into_bigrams() {
        assert_eq!(words("東京都 rust言語x 水"), ["東京", "京都", "rust", "言語", "x", "水"]);
        assert_eq!(words("한국어"), ["한국", "국어"]);
        assert_eq!(words("ไทย"), ["ไท", "ทย"]);
    }

    #[test]
    fn words_that_are_too_long_keep_their_position() {
        let text = format!("a {} b", "x".repeat(MAX_WORD_BYTES + 1));
        assert_eq!(tokens(&text), [("a".to_owned(), 0), ("b".to_owned(), 2)]);
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_match_their_offsets(text in "(\\PC|[a-zA-Z ]|[\u{4e00}-\u{4e10}]|[\u{300}-\u{303}]){0,80}") {
            let mut segmenter = Segmenter::new(&text);
            let (mut last_start, mut last_position) = (None, None);
            while let Some(token) = segmenter.next() {
                prop_assert!(last_start < Some(token.start) && last_position < Some(token.position));
                (last_start, last_position) = (Some(token.start), Some(token.position));
                prop_assert!(!token.text.is_empty() && token.text.len() <= MAX_WORD_BYTES + 12);
                let own = words(&text[token.start..token.end]);
                prop_assert_eq!(own, vec![token.text.to_owned()]);
            }
        }
    }
}
