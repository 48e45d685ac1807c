//! Text from outside on a terminal: control characters, which could rewrite the screen or run commands, and bidirectional overrides,
//! which misrepresent text, are written as escapes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use model::is_unsafe_to_print;

/// Form of an escaped character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeStyle {
    /// As in Rust: `\u{202e}`.
    Text,
    /// As in JSON: `\u202e`. JSON stays valid and keeps its meaning.
    Json,
}

/// Escapes the characters of text from outside that are unsafe to print; line ends and tabs stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escape(text, EscapeStyle::Text)
}

/// Escapes the characters that are unsafe to print.
pub(crate) fn escape(text: &str, style: EscapeStyle) -> Cow<'_, str> {
    if !text.contains(is_unsafe_to_print) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match style {
            _ if !is_unsafe_to_print(character) => out.push(character),
            EscapeStyle::Text => out.extend(character.escape_unicode()),
            EscapeStyle::Json => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Escapes the text between known control sequences.
pub(crate) fn escape_between<'t>(sequences: &[&str], text: &'t str) -> Cow<'t, str> {
    if !text.contains(is_unsafe_to_print) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, sequence) = rest.split_at(at);
        out.push_str(&printable(before));
        let known = sequences.iter().find(|known| sequence.starts_with(**known));
        let length = known.map_or(1, |known| known.len());
        match known {
            Some(known) => out.push_str(known),
            None => out.push_str(&printable(&sequence[..length])),
        }
        rest = &sequence[length..];
    }
    out.push_str(&printable(rest));
    Cow::Owned(out)
}

/// Writer of text in UTF-8 to a terminal, with unsafe characters escaped. Form feeds, which end a page of a stream, pass.
pub(crate) struct TerminalWriter<W> {
    out: W,
    style: EscapeStyle,
    /// Incomplete character at the end of the last write.
    partial: Vec<u8>,
}

impl<W: Write> TerminalWriter<W> {
    pub(crate) fn new(out: W, style: EscapeStyle) -> TerminalWriter<W> {
        TerminalWriter { out, style, partial: Vec::new() }
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        // Everything is text except an incomplete character at the end, which may be continued by the next write.
        let end = match self.partial.utf8_chunks().last() {
            Some(last) if is_incomplete(last.invalid()) => self.partial.len() - last.invalid().len(),
            _ => self.partial.len(),
        };
        let text = String::from_utf8_lossy(&self.partial[..end]);
        let escaped: Vec<Cow<'_, str>> = text.split('\u{c}').map(|page| escape(page, self.style)).collect();
        self.out.write_all(escaped.join("\u{c}").as_bytes())?;
        self.partial.drain(..end);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether bytes are the start of a character of UTF-8.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_characters_are_escaped_in_either_form() {
        let hostile = "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}b\n\u{e0041}";
        assert_eq!(printable(hostile), "a\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}b\n\\u{e0041}");
        let json = format!("{}", serde_json::json!(hostile));
        let escaped = escape(&json, EscapeStyle::Json);
        assert!(!escaped.contains(is_unsafe_to_print), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), hostile);
        assert!(matches!(printable("caf\u{e9} \u{5e9}\n\t"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_known_sequences_pass() {
        let known = ["\u{1b}[2m", "\u{1b}[0m"];
        let line = "\u{1b}[2mtitle\u{1b}[0m \u{1b}[2J\u{1b}[31m\u{9b}";
        let expected = "\u{1b}[2mtitle\u{1b}[0m \\u{1b}[2J\\u{1b}[31m\\u{9b}";
        assert_eq!(escape_between(&known, line), expected);
        assert_eq!(escape_between(&[], "\u{1b}[2m"), "\\u{1b}[2m");
        assert_eq!(escape_between(&known, "a\u{1b}"), "a\\u{1b}");
    }

    #[test]
    fn characters_may_be_split_between_writes() {
        let text = "caf\u{e9}\u{9b}2J \u{1f600}\n\u{c}\n\u{202e}x";
        for size in 1..8 {
            let mut out = Vec::new();
            let mut writer = TerminalWriter::new(&mut out, EscapeStyle::Text);
            for part in text.as_bytes().chunks(size) {
                writer.write_all(part).unwrap();
            }
            let expected = "caf\u{e9}\\u{9b}2J \u{1f600}\n\u{c}\n\\u{202e}x";
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{size}");
        }
        let mut out = Vec::new();
        TerminalWriter::new(&mut out, EscapeStyle::Text).write_all(b"a\x9b2Jb\xff").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\u{fffd}2Jb\u{fffd}", "invalid bytes are replaced");
    }
}
