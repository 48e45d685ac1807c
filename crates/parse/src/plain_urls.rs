//! URLs in plain text: `http://` or `https://` and the characters after it, without surrounding punctuation.

use memchr::memmem;

/// Maximum length of a URL.
const MAX_URL_BYTES: usize = 8 * 1024;

/// Returns the URLs in a text with their positions, in time linear in the length of the text.
pub fn plain_urls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let colon = from + memmem::find(&text.as_bytes()[from..], b"://")?;
            let start = scheme_start(&text[from..colon]).map(|start| from + start);
            from = colon + 3;
            let Some(start) = start else { continue };
            // Each run of characters is scanned once, which keeps the time linear.
            let run = run_bytes(&text[from..]);
            let url = without_punctuation(&text[start..from + run]);
            let has_host = url.len() > from - start;
            from += run;
            if has_host && url.len() <= MAX_URL_BYTES {
                return Some((start, url));
            }
        }
    })
}

/// Returns the start of `http` or `https` at the end of a text, if it is not part of a longer word.
fn scheme_start(text: &str) -> Option<usize> {
    let start = ["https", "http"].iter().find_map(|scheme| {
        let start = text.len().checked_sub(scheme.len())?;
        text.get(start..)?.eq_ignore_ascii_case(scheme).then_some(start)
    })?;
    let joined = text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
    (!joined).then_some(start)
}

/// Returns the maximum extent of a URL at the start of a text.
fn run_bytes(text: &str) -> usize {
    let ends = |c: char| match c {
        '!'..='~' => matches!(c, '<' | '>' | '"' | '`' | '{' | '}' | '|' | '\\' | '^'),
        '\u{ab}' | '\u{bb}' | '\u{201c}' | '\u{201d}' => true,
        _ => c.is_whitespace() || c.is_control(),
    };
    text.find(ends).unwrap_or(text.len())
}

/// Removes punctuation of the sentence: its full stop, and brackets that were opened before the URL.
fn without_punctuation(url: &str) -> &str {
    let count = |bracket: u8| memchr::memchr_iter(bracket, url.as_bytes()).count();
    let mut surplus =
        [(b')', b'('), (b']', b'[')].map(|(closing, opening)| count(closing).saturating_sub(count(opening)));
    let mut end = url.len();
    while let Some(last) = url[..end].chars().next_back() {
        match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '\u{2026}' => {}
            ')' if surplus[0] > 0 => surplus[0] -= 1,
            ']' if surplus[1] > 0 => surplus[1] -= 1,
            _ => break,
        }
        end -= last.len_utf8();
    }
    &url[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(plain_urls(text).map(|(_, url)| url).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn urls_are_found_without_surrounding_punctuation() {
        check("See http://h/a, or <HTTPS://h/b?c=d#e>.", &["http://h/a", "HTTPS://h/b?c=d#e"]);
        check(
            "(http://h/a_(b)) [http://h/c]: \"http://h/d\"",
            &["http://h/a_(b)", "http://h/c", "http://h/d"],
        );
        check("http://h/\u{e9}\u{3000}x https://h...", &["http://h/\u{e9}", "https://h"]);
    }

    #[test]
    fn text_that_only_resembles_a_url_is_ignored() {
        check("http:// ftp://h/ xhttp://h/ :// http://. https:/h", &[]);
        check(&format!("http://h/{} http://h/b", "a".repeat(MAX_URL_BYTES)), &["http://h/b"]);
    }

    #[test]
    fn a_run_of_schemes_takes_linear_time() {
        assert_eq!(plain_urls(&"http://".repeat(200_000)).count(), 0);
        assert_eq!(plain_urls(&"http://h) ".repeat(200_000)).count(), 200_000);
        check(&format!("http://h/{}", ")".repeat(500_000)), &["http://h/"]);
    }

    proptest! {
        #[test]
        fn every_url_is_at_its_position(text in "(http|https|://|[a-z.()]|\\s|.){0,60}") {
            let mut end = 0;
            for (start, url) in plain_urls(&text) {
                prop_assert!(start >= end && text[start..].starts_with(url));
                end = start + url.len();
            }
        }
    }
}
