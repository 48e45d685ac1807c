//! Where does a word begin and end? A text is cut into words in lower case, each with its place.
//!
//! A word is letters and digits in a row, with the marks that belong to them. Scripts that are written without spaces (and
//! Korean, which glues its words together) are cut into pairs of characters that overlap; a character that stands alone is a
//! piece by itself.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'c> {
    /// In lower case, without marks that stand by themselves.
    pub(crate) text: &'c str,
    /// Which piece of the text it is.
    pub(crate) position: u32,
    /// What it is.
    pub(crate) kind: PieceKind,
    /// Where it begins in the text, in bytes.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
}

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// Letters and digits.
    Word,
    /// Two characters of a script without spaces, part of a longer run or all of it.
    Pair,
    /// One such character alone: texts have it as part of pairs.
    Single,
}

/// Longer words are no words: encoded data, or hostile. They are left out and leave their place.
pub(crate) const WORD_LIMIT_BYTES: usize = 48;

/// Cuts one text.
#[derive(Debug)]
pub(crate) struct Cutter<'t> {
    text: &'t str,
    at: usize,
    position: u32,
    /// The piece that was told last.
    lower: String,
    /// Whether the character before is the first half of the last pair.
    in_run: bool,
}

impl<'t> Cutter<'t> {
    /// Begins at the start of a text.
    pub(crate) fn new(text: &'t str) -> Cutter<'t> {
        Cutter { text, at: 0, position: 0, lower: String::with_capacity(WORD_LIMIT_BYTES), in_run: false }
    }

    /// The next piece.
    pub(crate) fn next(&mut self) -> Option<Piece<'_>> {
        loop {
            let start = self.at;
            let c = self.peek()?;
            let kind = if is_unspaced(c) {
                self.pair(c)
            } else if is_of_word(c) {
                self.in_run = false;
                self.word()
            } else {
                self.in_run = false;
                self.at += c.len_utf8();
                continue;
            };
            let Some((kind, end)) = kind else { continue };
            let position = self.position;
            self.position += 1;
            return Some(Piece { text: &self.lower, position, kind, start, end });
        }
    }

    fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.text[self.at..].chars().next(),
        }
    }

    /// The pair that begins here; nothing at the end of a run, whose last character was told as half of a pair.
    fn pair(&mut self, first: char) -> Option<(PieceKind, usize)> {
        self.at += first.len_utf8();
        let second = self.peek().filter(|c| is_unspaced(*c));
        let was_in_run = std::mem::replace(&mut self.in_run, second.is_some());
        self.lower.clear();
        self.lower.push(first);
        match second {
            Some(second) => {
                self.lower.push(second);
                Some((PieceKind::Pair, self.at + second.len_utf8()))
            }
            None if was_in_run => None,
            None => Some((PieceKind::Single, self.at)),
        }
    }

    /// The word that begins here; nothing if it is too long or consists of marks.
    fn word(&mut self) -> Option<(PieceKind, usize)> {
        self.lower.clear();
        let mut is_too_long = false;
        while let Some(c) = self.peek().filter(|c| is_of_word(*c) && !is_unspaced(*c)) {
            self.at += c.len_utf8();
            if self.lower.len() >= WORD_LIMIT_BYTES {
                is_too_long = true;
            } else if c.is_ascii() {
                self.lower.push(c.to_ascii_lowercase());
            } else if !is_mark(c) {
                self.lower.extend(c.to_lowercase().filter(|c| !is_mark(*c)));
            }
        }
        if is_too_long {
            self.position += 1;
        }
        (!is_too_long && !self.lower.is_empty()).then_some((PieceKind::Word, self.at))
    }
}

fn is_of_word(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() || is_mark(c) || is_joint(c) }
}

/// Marks that are left out of words: accents that stand by themselves, points of Hebrew and Arabic, hyphens that are not
/// seen, joiners.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0591}'..='\u{05bd}' | '\u{05bf}' | '\u{05c1}' | '\u{05c2}'
        | '\u{0640}' | '\u{064b}'..='\u{065f}' | '\u{0670}' | '\u{00ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

/// Signs within words of Indian scripts that are neither letters nor digits.
fn is_joint(c: char) -> bool {
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

    fn cut(text: &str) -> Vec<(String, u32)> {
        let mut cutter = Cutter::new(text);
        let mut pieces = Vec::new();
        while let Some(piece) = cutter.next() {
            pieces.push((piece.text.to_owned(), piece.position));
        }
        pieces
    }

    fn words(text: &str) -> Vec<String> {
        cut(text).into_iter().map(|(word, _)| word).collect()
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
    fn scripts_without_spaces_are_cut_into_pairs() {
        assert_eq!(words("東京都 rust言語x 水"), ["東京", "京都", "rust", "言語", "x", "水"]);
        assert_eq!(words("한국어"), ["한국", "국어"]);
        assert_eq!(words("ไทย"), ["ไท", "ทย"]);
    }

    #[test]
    fn what_is_too_long_leaves_its_place() {
        let text = format!("a {} b", "x".repeat(WORD_LIMIT_BYTES + 1));
        assert_eq!(cut(&text), [("a".to_owned(), 0), ("b".to_owned(), 2)]);
    }

    proptest! {
        #[test]
        fn pieces_are_where_they_say_and_in_order(text in "(\\PC|[a-zA-Z ]|[\u{4e00}-\u{4e10}]|[\u{300}-\u{303}]){0,80}") {
            let mut cutter = Cutter::new(&text);
            let (mut last_start, mut last_position) = (None, None);
            while let Some(piece) = cutter.next() {
                prop_assert!(last_start < Some(piece.start) && last_position < Some(piece.position));
                (last_start, last_position) = (Some(piece.start), Some(piece.position));
                prop_assert!(!piece.text.is_empty() && piece.text.len() <= WORD_LIMIT_BYTES + 12);
                let own = words(&text[piece.start..piece.end]);
                prop_assert_eq!(own, vec![piece.text.to_owned()]);
            }
        }
    }
}
