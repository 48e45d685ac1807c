//! Decoding of source text: character references, line ends and NUL.
//!
//! The tokenizer emits slices of its input. They are decoded on demand, so that discarded content (scripts) costs nothing.

use std::borrow::Cow;

use memchr::memchr3;

use super::character_reference::{CharacterReference, ReferenceContext};

/// A slice of the source with the rules to decode it.
#[derive(Debug, Clone, Copy)]
pub struct Characters<'a> {
    /// The source text.
    pub raw: &'a str,
    rules: Rules,
}

/// Decoding rules; line ends become `\n` under all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Text of a page: references are decoded, NUL is kept.
    Text,
    /// Text of a `title` or `textarea`: references are decoded, NUL is replaced.
    Rcdata,
    /// Scripts, styles, comments, names: NUL is replaced.
    Literal,
    /// CDATA sections: only line ends change.
    Cdata,
    /// Attribute values: references are decoded by the attribute rule, NUL is replaced.
    Attribute,
}

impl<'a> Characters<'a> {
    pub(crate) fn new(raw: &'a str, rules: Rules) -> Characters<'a> {
        Characters { raw, rules }
    }

    /// Returns another slice with the same rules.
    pub(crate) fn with_raw(self, raw: &'a str) -> Characters<'a> {
        Characters { raw, ..self }
    }

    /// Appends the decoded text.
    pub fn push_to(&self, out: &mut String) {
        let bytes = self.raw.as_bytes();
        let mut copied = 0;
        let mut at = 0;
        while let Some(offset) = memchr3(b'&', b'\r', 0, &bytes[at..]) {
            at += offset + 1;
            let Some(replacement) = self.replacement(bytes, at) else { continue };
            out.push_str(&self.raw[copied..at - 1]);
            at += match replacement {
                Replacement::Reference(reference) => {
                    reference.push_to(out);
                    reference.length
                }
                Replacement::Character(character) => {
                    out.push(character);
                    0
                }
                Replacement::Nothing => 0,
            };
            copied = at;
        }
        out.push_str(&self.raw[copied..]);
    }

    /// Returns the decoded text, borrowed if the source contains nothing to decode.
    pub fn decoded(&self) -> Cow<'a, str> {
        if memchr3(b'&', b'\r', 0, self.raw.as_bytes()).is_none() {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        self.push_to(&mut out);
        Cow::Owned(out)
    }

    /// Returns the replacement of the special byte before `at`; `None` if it is literal.
    fn replacement(&self, bytes: &[u8], at: usize) -> Option<Replacement> {
        match (bytes[at - 1], self.rules) {
            // In CR LF, the LF is the line end.
            (b'\r', _) if bytes.get(at) == Some(&b'\n') => Some(Replacement::Nothing),
            (b'\r', _) => Some(Replacement::Character('\n')),
            (0, Rules::Text | Rules::Cdata) => None,
            (0, _) => Some(Replacement::Character(char::REPLACEMENT_CHARACTER)),
            (_, Rules::Literal | Rules::Cdata) => None,
            (_, Rules::Attribute) => CharacterReference::read(&bytes[at..], ReferenceContext::Attribute)
                .map(Replacement::Reference),
            (_, Rules::Text | Rules::Rcdata) => {
                CharacterReference::read(&bytes[at..], ReferenceContext::Text).map(Replacement::Reference)
            }
        }
    }
}

enum Replacement {
    Reference(CharacterReference),
    Character(char),
    Nothing,
}
