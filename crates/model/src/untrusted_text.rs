//! Text from outside that is displayed or written to tables: characters that change how other text is displayed, and cells that
//! spreadsheets run as formulas.

use std::borrow::Cow;

/// Whether a character is invisible and changes how others are displayed: bidirectional embeddings, overrides and isolates, byte order
/// marks, invisible operators, tags, line separators. Joiners, zero-width spaces and directional marks are none of them: scripts need
/// them, and they do not affect other text.
pub fn is_hidden_format(character: char) -> bool {
    matches!(character,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character could rewrite the screen of a terminal or misrepresent the text around it: control characters (C0, DEL, C1)
/// except line feeds and tabs, and [hidden format characters](is_hidden_format).
pub fn is_unsafe_to_print(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t')) || is_hidden_format(character)
}

/// Text on one line that is safe to print: line feeds, tabs and [unsafe characters](is_unsafe_to_print) become `?`.
pub fn printable_line(text: &str) -> String {
    let printable = |char: char| if char.is_control() || is_unsafe_to_print(char) { '?' } else { char };
    text.chars().map(printable).collect()
}

/// Field of a CSV line (RFC 4180): quoted if needed, and preceded by an apostrophe if a spreadsheet would take it for a formula (OWASP,
/// "CSV Injection"). Numbers, also negative ones, stay as they are.
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let text = if is_formula(text) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) };
    if text.contains(['"', ',', '\n', '\r']) {
        return Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")));
    }
    text
}

/// Whether a spreadsheet would take a cell for a formula.
fn is_formula(text: &str) -> bool {
    // Spreadsheets also accept the full-width forms.
    let starts_formula = text
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    let is_number = || text.parse::<f64>().is_ok_and(f64::is_finite);
    starts_formula && !is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_bidirectional_characters_are_unsafe_and_letters_are_not() {
        for unsafe_character in [
            '\0',
            '\u{7}',
            '\r',
            '\u{1b}',
            '\u{7f}',
            '\u{80}',
            '\u{9b}',
            '\u{9f}',
            '\u{202a}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{2060}',
            '\u{feff}',
            '\u{2028}',
            '\u{e0041}',
        ] {
            assert!(is_unsafe_to_print(unsafe_character), "{unsafe_character:?}");
        }
        for safe in
            ['\n', '\t', ' ', 'a', '\u{e9}', '\u{5d0}', '\u{200b}', '\u{200d}', '\u{200f}', '\u{1f600}']
        {
            assert!(!is_unsafe_to_print(safe), "{safe:?}");
        }
    }

    #[test]
    fn formulas_are_marked_and_numbers_are_not() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("-inf", "'-inf"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("-2.5", "-2.5"),
            ("+1e3", "+1e3"),
            ("a=b", "a=b"),
            ("a,b", "\"a,b\""),
            ("", ""),
        ] {
            assert_eq!(csv_field(text), expected);
        }
    }
}
