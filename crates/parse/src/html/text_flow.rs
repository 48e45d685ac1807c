//! Visible text of a page, with white space collapsed as in a browser.
//!
//! One space between words, one line per block, and `pre` unchanged.

use super::character_reference::{CharacterReference, ReferenceContext};
use super::characters::Characters;
use super::element::Gap;

/// Writer of the visible text.
#[derive(Debug)]
pub(super) struct TextFlow {
    /// The text, without leading or trailing white space outside `pre`.
    pub(super) text: String,
    /// Separator before the next word.
    gap: Gap,
    /// Number of open `pre` elements.
    preformatted: u32,
    max_bytes: usize,
    /// Whether the maximum length was reached.
    pub(super) truncated: bool,
}

impl TextFlow {
    pub(super) fn new(text: String, max_bytes: usize) -> TextFlow {
        TextFlow { text, gap: Gap::Nothing, preformatted: 0, max_bytes, truncated: false }
    }

    /// Position of the next word, before the pending separator.
    pub(super) fn position(&self) -> u32 {
        // The maximum is below 4 GiB, see `Limits`.
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

    /// Appends text and decodes its character references.
    pub(super) fn push(&mut self, text: Characters<'_>) {
        if self.truncated {
            return;
        }
        if self.preformatted > 0 {
            self.push_verbatim(text);
        } else {
            self.push_collapsed(text.raw);
        }
        if self.text.len() > self.max_bytes {
            self.text.truncate(self.text.floor_char_boundary(self.max_bytes));
            self.truncated = true;
        }
    }

    fn push_verbatim(&mut self, text: Characters<'_>) {
        // A line end directly after `<pre>` is ignored, as in the HTML standard.
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
                // Control characters are not text.
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

    /// Appends words that are separated by single spaces, with an optional trailing space.
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

    /// Appends the character reference after an ampersand; returns the length of the reference.
    fn push_reference(&mut self, rest: &[u8]) -> usize {
        let Some(reference) = CharacterReference::read(rest, ReferenceContext::Text) else {
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

/// Length of the prefix that can be copied: without references, control characters, repeated spaces and U+00A0.
fn plain_run(bytes: &[u8]) -> usize {
    const STRIDE: usize = 16;
    let mut at = 0;
    // A whole stride is tested without branches, which the compiler vectorises.
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
