//! Append-only buffer for a page, stored as bytes so that UTF-8 is not validated again.

use std::fmt;

use crate::world::language::Word;

/// UTF-8 text under construction.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    bytes: Vec<u8>,
}

impl TextBuffer {
    pub(crate) fn with_capacity(bytes: usize) -> TextBuffer {
        TextBuffer { bytes: Vec::with_capacity(bytes) }
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Copies the whole array of a word, whose size the compiler knows, and truncates the excess: several times
    /// faster than a copy of variable size, and most of a page is words.
    #[inline]
    pub(crate) fn push_word(&mut self, word: &Word) {
        let end = self.bytes.len() + usize::from(word.len);
        self.bytes.extend_from_slice(&word.bytes);
        self.bytes.truncate(end);
    }

    /// Removes the last bytes, which must be whole characters.
    pub(crate) fn take_back(&mut self, bytes: usize) {
        self.bytes.truncate(self.bytes.len().saturating_sub(bytes));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Converts to a string.
    pub(crate) fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// Appends a number without the overhead of formatting: this runs fifty times per page.
pub(crate) fn push_number(out: &mut String, mut number: u32) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}
