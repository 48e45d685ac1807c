//! Which characters does a stretch of source stand for?
//!
//! The tokenizer hands out slices of its input untouched. Whoever wants their characters asks here; whoever throws
//! a script away never pays for reading it.

use std::borrow::Cow;

use memchr::memchr3;

use super::character_reference::{CharacterReference, Place};

/// A stretch of source together with the rules that turn it into characters.
#[derive(Debug, Clone, Copy)]
pub struct Characters<'a> {
    /// The source, untouched.
    pub raw: &'a str,
    rules: Rules,
}

/// How source turns into characters; line ends become `\n` under all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Text of a page: references are decoded, NUL stays.
    Text,
    /// Text of a `title` or `textarea`: references are decoded, NUL is replaced.
    Rcdata,
    /// Scripts, styles, comments, names: NUL is replaced.
    Literal,
    /// CDATA sections: nothing but line ends changes.
    Cdata,
    /// Attribute values: references are decoded by the attribute rule, NUL is replaced.
    Attribute,
}

impl<'a> Characters<'a> {
    pub(crate) fn new(raw: &'a str, rules: Rules) -> Characters<'a> {
        Characters { raw, rules }
    }

    /// Another stretch under the same rules.
    pub(crate) fn with_raw(self, raw: &'a str) -> Characters<'a> {
        Characters { raw, ..self }
    }

    /// Appends the characters.
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

    /// The characters, borrowed when the source says them literally.
    pub fn decoded(&self) -> Cow<'a, str> {
        if memchr3(b'&', b'\r', 0, self.raw.as_bytes()).is_none() {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        self.push_to(&mut out);
        Cow::Owned(out)
    }

    /// What stands in for the special byte before `at`; `None` if it stands for itself.
    fn replacement(&self, bytes: &[u8], at: usize) -> Option<Replacement> {
        match (bytes[at - 1], self.rules) {
            // A line feed after a carriage return is the line end itself.
            (b'\r', _) if bytes.get(at) == Some(&b'\n') => Some(Replacement::Nothing),
            (b'\r', _) => Some(Replacement::Character('\n')),
            (0, Rules::Text | Rules::Cdata) => None,
            (0, _) => Some(Replacement::Character(char::REPLACEMENT_CHARACTER)),
            (_, Rules::Literal | Rules::Cdata) => None,
            (_, Rules::Attribute) => {
                CharacterReference::read(&bytes[at..], Place::Attribute).map(Replacement::Reference)
            }
            (_, Rules::Text | Rules::Rcdata) => {
                CharacterReference::read(&bytes[at..], Place::Text).map(Replacement::Reference)
            }
        }
    }
}

enum Replacement {
    Reference(CharacterReference),
    Character(char),
    Nothing,
}
