//! Lines of a robots.txt: splits the file into lines, and lines into key and value.
//!
//! Mistakes are tolerated as in Google's matcher; lines with an unknown key are skipped. Characters that an editor does not show
//! must not disable a rule: control characters are removed from each line (RFC 9309 allows none), and invisible characters from
//! both ends of a value.

use std::borrow::Cow;

use super::MAX_ROBOTS_BYTES;

/// Maximum length of a line, as in Google's matcher: eight times the 2,083 bytes of the longest URL in old browsers.
const MAX_LINE_BYTES: usize = 8 * 2_083;

/// Keys by their prefixes; the rest of the word is ignored. The misspellings are those that Google's matcher accepts.
const KEYS: [(&str, Key); 14] = [
    ("user-agent", Key::UserAgent),
    ("useragent", Key::UserAgent),
    ("user agent", Key::UserAgent),
    ("allow", Key::Allow),
    ("disallow", Key::Disallow),
    ("dissallow", Key::Disallow),
    ("dissalow", Key::Disallow),
    ("disalow", Key::Disallow),
    ("diasllow", Key::Disallow),
    ("disallaw", Key::Disallow),
    ("sitemap", Key::Sitemap),
    ("site-map", Key::Sitemap),
    ("crawl-delay", Key::CrawlDelay),
    ("crawldelay", Key::CrawlDelay),
];

/// A known key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    Sitemap,
    CrawlDelay,
}

/// A line with a known key; the value is trimmed and has no comment.
pub(super) struct Line<'a> {
    pub(super) key: Key,
    pub(super) value: &'a [u8],
}

/// Calls `f` with the number (from 1) and the content of every line with a known key.
pub(super) fn for_each_line(bytes: &[u8], mut f: impl FnMut(u32, Line<'_>)) {
    let mut rest = without_bom(readable_part(bytes));
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = without_control_characters(&rest[..end]);
        if let Some(line) = Line::parse(&line[..line.len().min(MAX_LINE_BYTES)]) {
            f(number, line);
        }
        let newline = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + newline..).unwrap_or_default();
    }
}

/// Returns the file up to its maximum size, without a truncated last line: a truncated pattern would match more paths.
fn readable_part(bytes: &[u8]) -> &[u8] {
    match bytes.get(..MAX_ROBOTS_BYTES) {
        Some(part) if part.len() < bytes.len() => {
            &part[..memchr::memrchr2(b'\n', b'\r', part).map_or(0, |end| end + 1)]
        }
        _ => bytes,
    }
}

/// Skips a byte order mark: of UTF-8, complete or incomplete, or of UTF-16. In UTF-16 every other byte of ASCII text is NUL and
/// removed with the control characters.
fn without_bom(bytes: &[u8]) -> &[u8] {
    if let [0xFF, 0xFE, rest @ ..] | [0xFE, 0xFF, rest @ ..] = bytes {
        return rest;
    }
    let mark = bytes.iter().zip(b"\xEF\xBB\xBF").take_while(|(byte, mark)| byte == mark).count();
    &bytes[mark..]
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Line<'a>> {
        let line = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
        let (key, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => two_words(trim_invisible(line))?,
        };
        // Not `trim_invisible`: in Google's published cases, a byte order mark before a key makes it unknown.
        let key = Key::parse(key.trim_ascii())?;
        Some(Line { key, value: trim_invisible(value) })
    }
}

/// The line without control characters other than the tab.
fn without_control_characters(line: &[u8]) -> Cow<'_, [u8]> {
    let is_kept = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    if line.iter().all(is_kept) {
        Cow::Borrowed(line)
    } else {
        Cow::Owned(line.iter().copied().filter(is_kept).collect())
    }
}

/// Removes white space and other characters that are not shown from both ends. Text that is not UTF-8 has no others than ASCII.
fn trim_invisible(text: &[u8]) -> &[u8] {
    // Zero-width characters, directional marks and byte order marks (also in the middle of joined files); C1 controls.
    let is_invisible = |character: char| {
        character.is_whitespace()
            || character.is_control()
            || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    match std::str::from_utf8(text) {
        Ok(text) => text.trim_matches(is_invisible).as_bytes(),
        Err(_) => text.trim_ascii(),
    }
}

/// Splits a line without a colon (`disallow /`); it must have exactly two words.
fn two_words(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b' ', b'\t', line)?;
    let value = line[end..].trim_ascii();
    memchr::memchr2(b' ', b'\t', value).is_none().then_some((&line[..end], value))
}

impl Key {
    fn parse(word: &[u8]) -> Option<Key> {
        let starts_with = |name: &str| {
            word.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        KEYS.iter().find(|(name, _)| starts_with(name)).map(|&(_, key)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(u32, Key, String)> {
        let mut lines = Vec::new();
        for_each_line(text, |n, line| {
            lines.push((n, line.key, String::from_utf8_lossy(line.value).into_owned()));
        });
        lines
    }

    #[test]
    fn every_kind_of_line_end_is_accepted() {
        let expected = vec![(1, Key::Allow, "/a".to_owned()), (3, Key::Disallow, "/b".to_owned())];
        for text in
            ["allow:/a\n\ndisallow:/b", "allow:/a\r\rdisallow:/b\r", "allow:/a\r\n\r\ndisallow:/b\r\n"]
        {
            assert_eq!(lines(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn a_missing_colon_is_tolerated_only_between_two_words() {
        assert_eq!(lines(b"disallow   /x").len(), 1);
        assert_eq!(lines(b"disallow everything please").len(), 0);
        assert_eq!(lines(b"disallow").len(), 0);
        assert_eq!(lines(b":/x\n: \n # allow: /").len(), 0);
    }

    #[test]
    fn a_long_line_is_truncated() {
        let text = [b"allow: /".as_slice(), &b"x".repeat(100_000), b"\nallow: /y"].concat();
        let lines = lines(&text);
        assert_eq!(lines[0].2.len(), MAX_LINE_BYTES - 7);
        assert_eq!(lines[1].2, "/y");
    }
}
