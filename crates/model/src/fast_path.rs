//! Fast path of canonicalisation for plain references, without the URL parser.
//!
//! Most links of real pages are clean ASCII with well-formed percent-escapes. Their canonical form is a prefix of the
//! base and the reference, byte for byte, so the URL parser (which would also parse the base again) is not needed. All
//! other references are left to `UrlRules::canonical_by_parser`; this module never rejects a reference. A property
//! test compares both paths.

use std::borrow::Cow;

use crate::canonical_rules;
use crate::canonical_url::{CanonicalUrl, Scheme};
use crate::url_rules::UrlRules;

/// Writes the canonical form of an absolute URL to `out`. Returns false and writes nothing if the URL is not plain.
pub(crate) fn absolute(rules: &UrlRules, input: &str, out: &mut CanonicalUrl) -> bool {
    plain_part(rules, input).and_then(|text| write_absolute(rules, text, out)).is_some()
}

/// Writes the canonical form of `reference`, resolved against `base`, to `out`. Returns false and writes nothing if
/// the reference is not plain.
pub(crate) fn join(rules: &UrlRules, base: &CanonicalUrl, reference: &str, out: &mut CanonicalUrl) -> bool {
    // Gopher is not a special scheme of the URL standard; its references are resolved by other rules.
    base.scheme() != Scheme::Gopher
        && plain_part(rules, reference).and_then(|text| write_joined(rules, base, text, out)).is_some()
}

/// Strips the fragment and surrounding white space. `None` if the result may exceed the maximum length: the slow path
/// counts exactly.
fn plain_part<'a>(rules: &UrlRules, reference: &'a str) -> Option<&'a str> {
    let is_space = |byte: Option<&u8>| byte.is_some_and(|&byte| byte <= b' ');
    let bytes = reference.as_bytes();
    let is_trimmed = !is_space(bytes.first()) && !is_space(bytes.last());
    let text = if is_trimmed { reference } else { reference.trim_matches(|c| c <= ' ') };
    let text = canonical_rules::without_fragment(text);
    (text.len() < usize::from(rules.max_length_bytes)).then_some(text)
}

fn write_joined(rules: &UrlRules, base: &CanonicalUrl, text: &str, out: &mut CanonicalUrl) -> Option<()> {
    let (prefix, rest) = match text.as_bytes() {
        [] => (base.as_str(), text),
        [b'?', ..] => (base.site_and_path(), text),
        [b'/', b'/', ..] => return write_site(rules, base.scheme(), &text[2..], out),
        [b'/', ..] => (base.site(), text),
        _ => match text.strip_prefix(base.site()) {
            Some(rest) if rest.starts_with('/') => (base.site(), rest),
            _ if has_colon_before_slash(text) => return write_absolute(rules, text, out),
            _ => climb(base, text),
        },
    };
    let tail = Tail::scan(rest)?;
    if prefix.len() + rest.len() > usize::from(rules.max_length_bytes) {
        return None;
    }
    if text.is_empty() {
        out.copy_from(base);
    } else {
        out.start_with(base, prefix);
        tail.append_to(rules, out);
    }
    Some(())
}

/// Resolves leading `../` and `./`, where nearly all dot segments occur. Returns the rest of the base's directory and
/// the rest of the path.
fn climb<'a>(base: &'a CanonicalUrl, path: &'a str) -> (&'a str, &'a str) {
    let (mut directory, mut rest) = (base.directory(), path);
    loop {
        if let Some(after) = rest.strip_prefix("../") {
            let parent = &directory.as_bytes()[..directory.len() - 1];
            let slash = parent.iter().rposition(|&byte| byte == b'/');
            directory = &directory[..slash.map_or(0, |slash| slash + 1).max(base.site().len() + 1)];
            rest = after;
        } else if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else {
            return (directory, rest);
        }
    }
}

fn write_absolute(rules: &UrlRules, text: &str, out: &mut CanonicalUrl) -> Option<()> {
    match text.strip_prefix("https://") {
        Some(rest) => write_site(rules, Scheme::Https, rest, out),
        None => write_site(rules, Scheme::Http, text.strip_prefix("http://")?, out),
    }
}

fn write_site(rules: &UrlRules, scheme: Scheme, text: &str, out: &mut CanonicalUrl) -> Option<()> {
    let (host, port, rest) = split_plain_host(text, scheme)?;
    let tail = Tail::scan(rest)?;
    // 9 bytes: `https://` and the slash of a front page.
    if text.len() + 9 > usize::from(rules.max_length_bytes) {
        return None;
    }
    out.start_site(scheme, host, port);
    if !rest.starts_with('/') {
        out.text_mut().push('/');
    }
    tail.append_to(rules, out);
    Some(())
}

/// Splits into host, port and rest if host and port are in canonical form. A port is canonical if it has no leading
/// zero and is not the default of the scheme, which would be removed.
fn split_plain_host(text: &str, scheme: Scheme) -> Option<(&str, Option<u16>, &str)> {
    let end = text.bytes().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(text.len());
    let (authority, rest) = text.split_at(end);
    let (host, port) = match authority.split_once(':') {
        Some((host, digits))
            if digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0') =>
        {
            (host, Some(digits.parse().ok().filter(|&port| port != scheme.default_port())?))
        }
        Some(_) => return None,
        None => (authority, None),
    };
    is_plain_host(host.as_bytes()).then_some((host, port, rest))
}

/// Reports whether a host is in canonical form: labels of a-z, 0-9, `-` and `_`; no A-label, which would need
/// validation; and a last label that is not numeric, which would be an IPv4 address in one of its many notations.
fn is_plain_host(host: &[u8]) -> bool {
    let mut label_start = 0;
    for (at, &byte) in host.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => {}
            b'-' if host.get(at + 1) != Some(&b'-') => {}
            b'.' if (1..=63).contains(&(at - label_start)) => label_start = at + 1,
            _ => return false,
        }
    }
    let last = &host[label_start..];
    (1..=63).contains(&last.len()) && !last[0].is_ascii_digit() && host.len() <= 253
}

/// Reports whether the first segment contains a colon, and may therefore be a scheme.
fn has_colon_before_slash(text: &str) -> bool {
    text.bytes().find(|byte| matches!(byte, b':' | b'/' | b'?')) == Some(b':')
}

/// Path and query of a plain reference: every byte is copied unchanged.
struct Tail<'a> {
    path: &'a str,
    /// Whether a path segment starts with a dot, and so may be `.` or `..`.
    has_dots: bool,
    query: &'a str,
}

impl<'a> Tail<'a> {
    fn scan(text: &'a str) -> Option<Tail<'a>> {
        let bytes = text.as_bytes();
        let (mut at, mut has_dots, mut before) = (0, false, b'/');
        while let Some(&byte) = bytes.get(at) {
            let in_segment = before != b'/';
            match PLAIN[usize::from(byte)] {
                Plain::Everywhere => {}
                Plain::InsideSegment if in_segment => {}
                Plain::InsideSegment if byte == b'.' => has_dots = true,
                Plain::Escape if canonical_rules::is_normal_escape(&bytes[at..]) => {}
                Plain::Question => break,
                _ => return None,
            }
            before = byte;
            at += 1;
        }
        let (path, query) = text.split_at(at);
        is_plain_query(query.as_bytes()).then_some(Tail { path, has_dots, query })
    }

    /// Appends the tail to the prefix in `out`: a site, a directory or a page.
    fn append_to(&self, rules: &UrlRules, out: &mut CanonicalUrl) {
        let root = out.site().len();
        let text = out.text_mut();
        if self.has_dots {
            let mut segments = self.path;
            if let Some(rest) = segments.strip_prefix('/') {
                text.push('/');
                segments = rest;
            }
            canonical_rules::resolve_dot_segments(text, root, segments.split('/').map(Cow::Borrowed));
        } else {
            text.push_str(self.path);
        }
        let path_end = text.len();
        if !self.query.is_empty() {
            canonical_rules::push_query(rules, text, &self.query[1..]);
        }
        out.finish(path_end);
    }
}

fn is_plain_query(query: &[u8]) -> bool {
    let is_plain = |(at, &byte): (usize, &u8)| match PLAIN[usize::from(byte)] {
        Plain::Everywhere => byte != b'\'',
        Plain::InsideSegment | Plain::Question | Plain::InQuery => true,
        Plain::Escape => canonical_rules::is_normal_escape(&query[at..]),
        Plain::Nowhere => false,
    };
    query.iter().enumerate().all(is_plain)
}

/// Positions in which a byte can be copied unchanged.
#[derive(Clone, Copy, PartialEq)]
enum Plain {
    Everywhere,
    /// Not at the start of a segment, where a dot may be a dot segment and a parenthesis an ASP.NET session.
    InsideSegment,
    /// Not in a path, where a semicolon may precede a session id.
    InQuery,
    /// Ends the path.
    Question,
    /// Only as the start of an escape in normal form.
    Escape,
    Nowhere,
}

static PLAIN: [Plain; 256] = {
    let mut table = [Plain::Nowhere; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => Plain::Everywhere,
            b'-' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b')' | b'*' => Plain::Everywhere,
            b'+' | b',' | b'=' | b':' | b'@' | b'/' => Plain::Everywhere,
            b'.' | b'(' => Plain::InsideSegment,
            b';' | b'[' | b']' => Plain::InQuery,
            b'?' => Plain::Question,
            b'%' => Plain::Escape,
            _ => Plain::Nowhere,
        };
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASES: [&str; 6] = [
        "http://example.com/",
        "https://www.example.com/a/b/c.html?q=1",
        "http://example.com:8080/a//b/",
        "https://192.168.0.1/x.y/z",
        "ftp://example.com/pub/a",
        "gopher://example.com/1/a",
    ];

    /// Asserts that the slow path gives the same result as the fast path; returns whether the fast path applied.
    fn agrees(rules: &UrlRules, base: &CanonicalUrl, reference: &str) -> bool {
        let mut out = base.clone();
        let written = join(rules, base, reference, &mut out);
        if written {
            let slow = rules.canonical_by_parser(Some(base), reference).unwrap();
            assert_eq!(out, slow, "{reference:?} on {base}");
            assert_eq!((out.site(), out.path(), out.port()), (slow.site(), slow.path(), slow.port()));
        } else {
            assert_eq!(&out, base);
        }
        let mut out = CanonicalUrl::empty();
        if absolute(rules, reference, &mut out) {
            assert_eq!(Ok(out), rules.canonical_by_parser(None, reference), "{reference:?}");
        }
        written
    }

    fn on_all_bases(reference: &str) -> usize {
        let rules = UrlRules::default();
        let bases = BASES.map(|base| rules.canonical(base).unwrap());
        bases.iter().filter(|base| agrees(&rules, base, reference)).count()
    }

    #[test]
    fn plain_references_take_the_fast_path() {
        let plain = [
            "foo.html",
            "../a/b.html#frag",
            "./a",
            "/a/b",
            "/",
            "#frag",
            "",
            "?q=1",
            "?q=1&utm_source=x",
            "a?b=/../c",
            "//cdn.example.org/x.js",
            "http://example.com",
            "https://www.example.com/a/../b",
            "a%20b.html",
            "..",
            ".",
            "https://a_b.example.com?x",
            " a ",
            "a//b",
            "/wiki/Foo_(bar)",
            "/a/b:c",
            "http://example.com/http://a.b/",
            "?a[]=1;b",
            "/a,b'c",
            "https://1and1.com",
            "httpd.html",
            "/a/.b/..c/...",
        ];
        for reference in plain {
            assert_eq!(on_all_bases(reference), 5, "{reference}");
        }
    }

    #[test]
    fn other_references_are_left_to_the_parser() {
        let doubtful = [
            "a\\b",
            "é",
            "a%2fb",
            "%7Ea",
            "a;jsessionid=1",
            "http://xn--a.com/",
            "http://1.2.3.4/",
            "http://a.0x1/",
            "http://a..b/",
            "http://a.b./",
            "http://a:80/",
            "http://u@a/",
            "HTTP://a/",
            "http:a",
            "a:b",
            "mailto:x",
            "?a='",
            "a|b",
            "a\tb",
            "/(S(lit3py55t21z5v55vlm25s55))/a",
            "http://",
            "///a",
            "http://A.com/",
            "%",
            "http://example.com:80/a",
        ];
        for reference in doubtful {
            assert_eq!(on_all_bases(reference), 0, "{reference}");
        }
    }

    #[test]
    fn both_paths_agree_near_the_length_limit() {
        for length in 2000..2060 {
            on_all_bases(&"x".repeat(length));
            on_all_bases(&format!("https://a.org?{}", "x".repeat(length - 14)));
        }
    }

    #[test]
    fn both_paths_agree_on_the_cases_of_the_url_standard() {
        let cases = crate::test_data::url_cases();
        let rules = UrlRules::default();
        for case in &cases {
            on_all_bases(&case.input);
            if let Some(base) = case.base.as_ref().and_then(|base| rules.canonical(base).ok()) {
                agrees(&rules, &base, &case.input);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn both_ways_agree_on_anything(
            reference in "(https?://|//|/|\\?|\\.\\./|\\./)?([a-z0-9.~/_-]|[a-z]|\\.\\.|[ -~]|%2[Ff]|xn--|&&|utm_a=|(\\PC)){0,12}(#.*)?"
        ) {
            on_all_bases(&reference);
        }

        #[test]
        fn both_ways_agree_on_hosts(
            host in "([a-z]|[0-9]|[-._]|0x|xn--|é|%41|:8){1,9}", rest in "([/?#].{0,3})?"
        ) {
            on_all_bases(&format!("http://{host}{rest}"));
        }
    }
}
