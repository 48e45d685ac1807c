//! A page in the making: text that only grows, kept as bytes so that nothing is checked or copied twice.

use std::fmt;

use crate::language::Word;

/// UTF-8 that is being written.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    bytes: Vec<u8>,
}

impl Sheet {
    pub(crate) fn with_capacity(bytes: usize) -> Sheet {
        Sheet { bytes: Vec::with_capacity(bytes) }
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Copies the whole box of a word, whose size the compiler knows, and cuts off what is too much: several times
    /// faster than a copy of unknown size, and most of a page is words.
    #[inline]
    pub(crate) fn push_word(&mut self, word: &Word) {
        let end = self.bytes.len() + usize::from(word.len);
        self.bytes.extend_from_slice(&word.bytes);
        self.bytes.truncate(end);
    }

    /// Takes the last bytes off: whole characters that were just written.
    pub(crate) fn take_back(&mut self, bytes: usize) {
        self.bytes.truncate(self.bytes.len().saturating_sub(bytes));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// As a string, for the few who need one.
    pub(crate) fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl fmt::Write for Sheet {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}
