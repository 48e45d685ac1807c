//! Untrusted text for display: without control characters, bidirectional overrides and stacked combining marks, and limited in length.
//!
//! Markup needs no handling here: the templates escape everything.

use std::borrow::Cow;

use model::{is_hidden_format, is_unsafe_to_print};

/// Maximum length of a title or anchor text.
pub(crate) const TITLE_CHARACTERS: usize = 160;
/// Maximum displayed length of a URL; its link is never truncated.
pub(crate) const URL_CHARACTERS: usize = 200;
/// Maximum length of a snippet or message.
pub(crate) const TEXT_CHARACTERS: usize = 600;

/// Maximum number of consecutive combining marks. More have no meaning and would be painted over the lines above.
const MAX_MARKS: usize = 4;

/// Sanitizes text for one line: white space collapsed, truncated with an ellipsis.
pub(crate) fn sanitize_line(text: &str, max_characters: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_characters * 2));
    let (mut characters, mut marks, mut gap) = (0, 0, false);
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = !out.is_empty();
            continue;
        }
        if is_hidden_format(character) {
            continue;
        }
        marks = if is_mark(character) { marks + 1 } else { 0 };
        if marks > MAX_MARKS {
            continue;
        }
        if characters >= max_characters {
            out.push('\u{2026}');
            break;
        }
        if std::mem::take(&mut gap) {
            out.push(' ');
            characters += 1;
        }
        out.push(character);
        characters += 1;
    }
    out
}

/// Sanitizes a title; `(no title)` for an empty one.
pub(crate) fn title(text: &str) -> String {
    match sanitize_line(text, TITLE_CHARACTERS) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    }
}

/// Sanitizes a URL.
pub(crate) fn url(text: &str) -> String {
    sanitize_line(text, URL_CHARACTERS)
}

/// Sanitizes text of several lines; line breaks and tabs are kept.
pub(crate) fn sanitize_block(text: &str) -> Cow<'_, str> {
    if text.contains(is_unsafe_to_print) {
        Cow::Owned(text.replace(is_unsafe_to_print, ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Combining marks, by the Unicode blocks that contain nothing else.
fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a URL may be used as a link: http and https only, since other schemes may run a script or start a program.
pub(crate) fn is_web_url(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bidirectional_overrides_and_line_breaks_are_removed() {
        assert_eq!(sanitize_line("safe\u{202e}exe.txt\u{2066} \r\n\u{0} end\u{85}", 99), "safeexe.txt end");
        assert_eq!(
            sanitize_line("\u{200f}\u{5e9}\u{5dc}", 99),
            "\u{200f}\u{5e9}\u{5dc}",
            "directional marks are kept"
        );
        assert_eq!(sanitize_block("a\n\tb\u{202e}c\u{1b}[2J"), "a\n\tbc[2J");
    }

    #[test]
    fn long_texts_and_stacked_marks_are_truncated() {
        let huge = "x".repeat(1_000_000);
        assert_eq!(sanitize_line(&huge, 10), format!("{}\u{2026}", "x".repeat(10)));
        let tower = format!("a{}b", "\u{301}".repeat(500));
        assert_eq!(sanitize_line(&tower, 99).chars().count(), 2 + MAX_MARKS);
        assert_eq!(title(" \u{202e}\n"), "(no title)");
    }

    #[test]
    fn only_http_and_https_are_web_urls() {
        for bad in ["javascript:alert(1)", "data:text/html,x", "ftp://a/", "HTTP", "//a/"] {
            assert!(!is_web_url(bad), "{bad}");
        }
        assert!(is_web_url("https://example.org/"));
    }
}
