//! How is text from outside shown? Without what could disturb the page around it: control characters, characters that
//! turn the direction of writing for all that follows, and more of it than a reader wants.
//!
//! Markup is not looked at here: the templates escape everything.

use std::borrow::Cow;

/// Longest title, and longest name of a link.
pub(crate) const TITLE_CHARACTERS: usize = 160;
/// Longest URL that is shown in full; its link is never cut.
pub(crate) const URL_CHARACTERS: usize = 200;
/// Longest piece of a text.
pub(crate) const TEXT_CHARACTERS: usize = 600;

/// So many combining marks in a row have a meaning; hundreds paint over the lines above.
const MOST_MARKS: usize = 4;

/// Text from outside on one line, at most so many characters of it.
pub(crate) fn shown(text: &str, most_characters: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most_characters * 2));
    let (mut characters, mut marks, mut gap) = (0, 0, false);
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            gap = !out.is_empty();
            continue;
        }
        if is_format(character) {
            continue;
        }
        marks = if is_mark(character) { marks + 1 } else { 0 };
        if marks > MOST_MARKS {
            continue;
        }
        if characters >= most_characters {
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

/// A title, or the words that stand for one where there is none.
pub(crate) fn title(text: &str) -> String {
    match shown(text, TITLE_CHARACTERS) {
        empty if empty.is_empty() => "(no title)".to_owned(),
        title => title,
    }
}

/// A URL as it is read.
pub(crate) fn url(text: &str) -> String {
    shown(text, URL_CHARACTERS)
}

/// Lines of text as they stand, without what could disturb.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    let is_bad = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t')) || is_format(character)
    };
    if text.contains(is_bad) { Cow::Owned(text.replace(is_bad, "")) } else { Cow::Borrowed(text) }
}

/// Characters without a shape that change how others are written: embeddings, overrides and isolates of direction, marks of
/// the order of bytes, and tags. Joiners stay, since scripts need them; so do marks of direction, which move nothing else.
fn is_format(character: char) -> bool {
    matches!(character,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{2028}' | '\u{2029}')
}

/// Combining marks of the blocks that have nothing else.
fn is_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a URL may be a link of ours: only the schemes of the Web, since others may run a script or start a program.
pub(crate) fn is_link(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_the_direction_of_writing_or_breaks_lines_is_gone() {
        assert_eq!(shown("safe\u{202e}exe.txt\u{2066} \r\n\u{0} end\u{85}", 99), "safeexe.txt end");
        assert_eq!(
            shown("\u{200f}\u{5e9}\u{5dc}", 99),
            "\u{200f}\u{5e9}\u{5dc}",
            "marks that move nothing stay"
        );
        assert_eq!(lines("a\n\tb\u{202e}c\u{1b}[2J"), "a\n\tbc[2J");
    }

    #[test]
    fn huge_texts_are_cut_and_towers_of_marks_too() {
        let huge = "x".repeat(1_000_000);
        assert_eq!(shown(&huge, 10), format!("{}\u{2026}", "x".repeat(10)));
        let tower = format!("a{}b", "\u{301}".repeat(500));
        assert_eq!(shown(&tower, 99).chars().count(), 2 + MOST_MARKS);
        assert_eq!(title(" \u{202e}\n"), "(no title)");
    }

    #[test]
    fn only_the_webs_own_schemes_are_links() {
        for bad in ["javascript:alert(1)", "data:text/html,x", "ftp://a/", "HTTP", "//a/"] {
            assert!(!is_link(bad), "{bad}");
        }
        assert!(is_link("https://example.org/"));
    }
}
