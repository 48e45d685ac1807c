//! Character references of HTML (`&amp;`, `&#38;`), in text and in attribute values.
//!
//! The functions work on the bytes after the ampersand and do not allocate.

use super::entities::{ENTITIES, LEGACY};

/// A decoded reference with its length after the ampersand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharacterReference {
    pub(crate) value: Value,
    pub(crate) length: usize,
}

/// Characters of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    /// A named reference: one character, sometimes two.
    Named(&'static str),
    /// A numeric reference.
    Numeric(char),
}

/// Context of a reference. In an attribute, a name without a semicolon is not a reference if `=` or a letter follows,
/// because `?a=1&copy=2` is a query and not a copyright sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferenceContext {
    Text,
    Attribute,
}

impl CharacterReference {
    /// Parses the reference at the start of `rest`, the bytes after an ampersand; `None` if there is none.
    pub(crate) fn read(rest: &[u8], place: ReferenceContext) -> Option<CharacterReference> {
        match rest.first()? {
            b'#' => numeric(rest),
            first if first.is_ascii_alphanumeric() => named(rest, place),
            _ => None,
        }
    }

    /// Reports whether it is a space, a line end, a tab or U+00A0.
    pub(crate) fn is_white_space(self) -> bool {
        match self.value {
            Value::Named(text) => matches!(text, "\u{a0}" | "\t" | "\n"),
            Value::Numeric(character) => matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}'),
        }
    }

    /// Reports whether it is a control character.
    pub(crate) fn is_control(self) -> bool {
        matches!(self.value, Value::Numeric(character) if character.is_control())
    }

    /// Appends the characters.
    pub(crate) fn push_to(self, out: &mut String) {
        match self.value {
            Value::Named(text) => out.push_str(text),
            Value::Numeric(character) => out.push(character),
        }
    }
}

/// Maximum length of a name in the tables.
const MAX_NAME_BYTES: usize = 31;
const MAX_LEGACY_NAME_BYTES: usize = 6;

fn named(rest: &[u8], place: ReferenceContext) -> Option<CharacterReference> {
    let window = &rest[..rest.len().min(MAX_NAME_BYTES + 1)];
    let run = window.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(window.len());
    if window.get(run) == Some(&b';')
        && let Some(text) = frequent(&rest[..run]).or_else(|| look_up(ENTITIES, &rest[..run]))
    {
        return Some(CharacterReference { value: Value::Named(text), length: run + 1 });
    }
    let (length, text) = (2..=run.min(MAX_LEGACY_NAME_BYTES))
        .rev()
        .find_map(|length| look_up(LEGACY, &rest[..length]).map(|text| (length, text)))?;
    let continues = rest.get(length).is_some_and(|&byte| byte == b'=' || byte.is_ascii_alphanumeric());
    if place == ReferenceContext::Attribute && continues {
        return None;
    }
    Some(CharacterReference { value: Value::Named(text), length })
}

/// Returns the value of the most frequent names, which make up nearly all references of the Web.
fn frequent(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"nbsp" => "\u{a0}",
        b"amp" => "&",
        b"lt" => "<",
        b"gt" => ">",
        b"quot" => "\"",
        _ => return None,
    })
}

fn look_up(table: &'static [(&'static str, &'static str)], name: &[u8]) -> Option<&'static str> {
    let found = table.binary_search_by(|(entry, _)| entry.as_bytes().cmp(name)).ok()?;
    Some(table[found].1)
}

fn numeric(rest: &[u8]) -> Option<CharacterReference> {
    let (radix, start) = if matches!(rest.get(1), Some(b'x' | b'X')) { (16, 2) } else { (10, 1) };
    let mut code = 0u32;
    let mut at = start;
    while let Some(digit) = rest.get(at).and_then(|&byte| char::from(byte).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        at += 1;
    }
    if at == start {
        return None;
    }
    let length = at + usize::from(rest.get(at) == Some(&b';'));
    Some(CharacterReference { value: Value::Numeric(character(code)), length })
}

/// Applies the standard's corrections: U+FFFD for NUL, surrogates and values beyond Unicode; windows-1252 for C1 controls.
fn character(code: u32) -> char {
    match code {
        0 => char::REPLACEMENT_CHARACTER,
        0x80..=0x9f => WINDOWS_1252[(code - 0x80) as usize],
        _ => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

#[rustfmt::skip]
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];
