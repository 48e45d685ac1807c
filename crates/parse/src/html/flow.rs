//! What does a reader see? The words of a page in order, with white space as a browser would collapse it: one space
//! between words, one line per block, and `pre` as it stands.

use super::character_reference::{CharacterReference, Place};
use super::characters::Characters;
use super::element::Gap;

/// Text under construction.
#[derive(Debug)]
pub(super) struct Flow {
    /// The text so far, without leading or trailing white space outside `pre`.
    pub(super) text: String,
    /// What is due before the next word.
    gap: Gap,
    /// How many `pre` are open.
    preformatted: u32,
    limit_bytes: usize,
    /// Whether there was more text than the limit allows.
    pub(super) truncated: bool,
}

impl Flow {
    pub(super) fn new(text: String, limit_bytes: usize) -> Flow {
        Flow { text, gap: Gap::Nothing, preformatted: 0, limit_bytes, truncated: false }
    }

    /// Where the next word will begin, but for the gap before it.
    pub(super) fn position(&self) -> u32 {
        // The limit is below 4 GiB: see `Limits`.
        self.text.len() as u32
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    pub(super) fn open_preformatted(&mut self) {
        self.preformatted += 1;
    }

    pub(super) fn close_preformatted(&mut self) {
        self.preformatted = self.preformatted.saturating_sub(1);
    }

    /// Appends text of the page, references decoded.
    pub(super) fn push(&mut self, text: Characters<'_>) {
        if self.truncated {
            return;
        }
        if self.preformatted > 0 {
            self.push_verbatim(text);
        } else {
            self.push_collapsed(text.raw);
        }
        if self.text.len() > self.limit_bytes {
            self.text.truncate(self.text.floor_char_boundary(self.limit_bytes));
            self.truncated = true;
        }
    }

    fn push_verbatim(&mut self, text: Characters<'_>) {
        // A line end right after `<pre>` is for the eyes of the author.
        let raw = text.raw.strip_prefix('\r').unwrap_or(text.raw);
        let text = match raw.strip_prefix('\n') {
            Some(rest) if self.gap == Gap::Line => text.with_raw(rest),
            _ => text,
        };
        if !text.raw.is_empty() {
            self.fill_gap();
            text.push_to(&mut self.text);
        }
    }

    fn push_collapsed(&mut self, raw: &str) {
        let bytes = raw.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => {
                    self.gap = self.gap.max(Gap::Space);
                    at += 1;
                }
                b'&' => at += 1 + self.push_reference(&bytes[at + 1..]),
                // Control characters are no text.
                0..b' ' => at += 1,
                0xc2 if bytes[at + 1] == 0xa0 => {
                    self.gap = self.gap.max(Gap::Space);
                    at += 2;
                }
                _ => {
                    let end = at + 1 + plain_run(&bytes[at + 1..]);
                    self.push_words(&raw[at..end]);
                    at = end;
                }
            }
        }
    }

    /// Appends words that have single spaces between them, and perhaps one behind.
    fn push_words(&mut self, words: &str) {
        self.fill_gap();
        match words.strip_suffix(' ') {
            Some(words) => {
                self.text.push_str(words);
                self.gap = Gap::Space;
            }
            None => self.text.push_str(words),
        }
    }

    /// Appends what the reference after an ampersand stands for; tells how long the reference is.
    fn push_reference(&mut self, rest: &[u8]) -> usize {
        let Some(reference) = CharacterReference::read(rest, Place::Text) else {
            self.push_words("&");
            return 0;
        };
        if reference.is_white_space() {
            self.gap = self.gap.max(Gap::Space);
        } else if !reference.is_control() {
            self.fill_gap();
            reference.push_to(&mut self.text);
        }
        reference.length
    }

    fn fill_gap(&mut self) {
        let gap = std::mem::replace(&mut self.gap, Gap::Nothing);
        if self.text.is_empty() {
            return;
        }
        match gap {
            Gap::Nothing => {}
            Gap::Space => self.text.push(' '),
            Gap::Line if self.text.ends_with('\n') => {}
            Gap::Line => self.text.push('\n'),
        }
    }
}

/// How many bytes need no thought: no reference, no control character, no second space, no possible U+00A0.
fn plain_run(bytes: &[u8]) -> usize {
    const STRIDE: usize = 16;
    let mut at = 0;
    // A whole stride is judged without branches, which the compiler turns into vector instructions.
    while let Some(window) = bytes.get(at..=at + STRIDE) {
        let special = (0..STRIDE).fold(false, |any, i| any | is_special(window[i], window[i + 1]));
        if special {
            break;
        }
        at += STRIDE;
    }
    while at < bytes.len() && !is_special(bytes[at], bytes.get(at + 1).copied().unwrap_or(0)) {
        at += 1;
    }
    at
}

#[inline]
fn is_special(byte: u8, next: u8) -> bool {
    (byte < b' ') | (byte == b'&') | (byte == 0xc2) | ((byte == b' ') & (next == b' '))
}
