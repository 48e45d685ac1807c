//! Does a URL match a pattern that this crawl rejects?
//!
//! A pattern is looked for anywhere in the path and query, in any case: `login` rejects `/user/Login?next=1`. Two characters
//! mean what they mean in robots.txt: `*` stands for any text, a `$` at the end for the end of the URL. And as there, a
//! pattern that begins with `/` holds from the beginning of the path: `/private/` spares `/a/private/`, which `*/private/`
//! rejects. Host names are never looked at.
//!
//! Plain texts are found all at once: one look at any three bytes in a row tells whether one of them may begin there.

use crate::Error;

/// The patterns of a crawl.
#[derive(Debug, Clone, Default)]
pub struct RejectPatterns {
    /// Texts of three bytes or more, in lower case, to be found anywhere.
    plain: Vec<Box<[u8]>>,
    /// The three bytes with which each of them begins.
    beginnings: Triples,
    /// All others, tried one by one.
    others: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    /// The texts between stars, in lower case; at least one is not empty.
    parts: Vec<Box<[u8]>>,
    from_start: bool,
    to_end: bool,
}

impl RejectPatterns {
    /// Reads patterns.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<RejectPatterns, Error> {
        let mut read = RejectPatterns::default();
        for text in patterns {
            let text = text.as_ref();
            let pattern =
                Pattern::parse(text).ok_or_else(|| Error::RejectsAll { pattern: text.to_owned() })?;
            read.add(pattern);
        }
        Ok(read)
    }

    fn add(&mut self, pattern: Pattern) {
        match pattern.parts.as_slice() {
            [part] if part.len() >= 3 && !pattern.from_start && !pattern.to_end => {
                self.beginnings.insert([part[0], part[1], part[2]]);
                self.plain.push(part.clone());
            }
            _ => self.others.push(pattern),
        }
    }

    /// Whether any pattern matches this path with its query.
    pub fn matches(&self, path_and_query: &str) -> bool {
        let text = path_and_query.as_bytes();
        self.has_plain(text) || self.others.iter().any(|pattern| pattern.matches(text))
    }

    fn has_plain(&self, text: &[u8]) -> bool {
        if self.plain.is_empty() {
            return false;
        }
        let triples = text.windows(3).map(|triple| [triple[0], triple[1], triple[2]]).enumerate();
        let may_begin = triples.filter(|(_, triple)| self.beginnings.contains(*triple));
        may_begin
            .map(|(at, _)| &text[at..])
            .any(|rest| self.plain.iter().any(|plain| starts_with(rest, plain)))
    }
}

impl Pattern {
    /// None for a pattern that would match everything.
    fn parse(text: &str) -> Option<Pattern> {
        let (body, to_end) = text.strip_suffix('$').map_or((text, false), |body| (body, true));
        let lower = body.to_ascii_lowercase();
        let from_start = lower.starts_with('/');
        let mut parts: Vec<Box<[u8]>> = lower.split('*').map(|part| part.as_bytes().into()).collect();
        // A star at either end says what is true without it, except before the end that `$` demands.
        let to_end = to_end && parts.last().is_some_and(|part| !part.is_empty());
        parts.retain(|part| !part.is_empty());
        let matches_all = parts.is_empty() || (lower.trim_end_matches('*') == "/" && !to_end);
        (!matches_all).then_some(Pattern { parts, from_start, to_end })
    }

    fn matches(&self, text: &[u8]) -> bool {
        let Some((last, parts)) = self.parts.split_last() else { return false };
        let mut rest = text;
        for (number, part) in parts.iter().enumerate() {
            let at = if number == 0 && self.from_start {
                starts_with(rest, part).then_some(0)
            } else {
                find(rest, part)
            };
            let Some(at) = at else { return false };
            rest = &rest[at + part.len()..];
        }
        // With a single part both ends may be fixed.
        let is_first = parts.is_empty() && self.from_start;
        match (is_first, self.to_end) {
            (true, true) => rest.len() == last.len() && starts_with(rest, last),
            (true, false) => starts_with(rest, last),
            (false, true) => rest.len() >= last.len() && starts_with(&rest[rest.len() - last.len()..], last),
            (false, false) => find(rest, last).is_some(),
        }
    }
}

/// Whether a text begins with a part that is in lower case.
fn starts_with(text: &[u8], part: &[u8]) -> bool {
    text.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
}

/// Where a part first occurs.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window.eq_ignore_ascii_case(part))
}

/// A set of triples of bytes without their case; it may have some more than were inserted.
#[derive(Debug, Clone, Default)]
struct Triples(Vec<u64>);

impl Triples {
    fn insert(&mut self, triple: [u8; 3]) {
        let (word, bit) = Triples::place(triple);
        self.0.resize(1 << 9, 0);
        self.0[word] |= bit;
    }

    #[inline]
    fn contains(&self, triple: [u8; 3]) -> bool {
        let (word, bit) = Triples::place(triple);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The lowest five bits of a letter are the same in both cases.
    #[inline]
    fn place(triple: [u8; 3]) -> (usize, u64) {
        let [first, second, third] = triple.map(|byte| usize::from(byte & 31));
        let number = first << 10 | second << 5 | third;
        (number >> 6, 1 << (number & 63))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path_and_query: &str) -> bool {
        RejectPatterns::new([pattern]).unwrap().matches(path_and_query)
    }

    #[test]
    fn plain_texts_are_found_anywhere_and_in_any_case() {
        assert!(matches("login", "/user/Login?next=1"));
        assert!(matches("LOGIN", "/a?b=login"));
        assert!(matches("n?", "/login?x"));
        assert!(matches("?", "/a?b") && !matches("?", "/a"));
        assert!(!matches("login", "/logi/n"));
        assert!(!matches("login", "/"));
    }

    #[test]
    fn stars_and_ends_mean_what_they_mean_in_robots_txt() {
        assert!(matches("/private/", "/private/a") && !matches("/private/", "/a/private/"));
        assert!(matches("*/private/", "/a/private/"));
        assert!(
            matches("/*/print$", "/a/b/print")
                && !matches("/*/print$", "/a/print?b")
                && !matches("/*/print$", "/print")
        );
        assert!(matches("print$", "/a/print/print") && !matches("print$", "/print/a"));
        assert!(matches("cal*month=", "/Calendar?month=3") && !matches("cal*month=", "/month=/cal"));
        assert!(matches("/$", "/") && !matches("/$", "/a"));
        assert!(matches("/a$", "/a") && !matches("/a$", "/a/a") && !matches("/a$", "/ab"));
        assert!(matches("a*a$", "/a/a") && !matches("a*a$", "/a"));
        assert!(matches("b*$", "/a/b/c") && matches("*b*", "/a/b/c") && matches("/**b", "/a/b/c"));
    }

    #[test]
    fn what_would_reject_every_page_is_an_error() {
        for pattern in ["", "*", "$", "*$", "**", "/", "/*"] {
            let error = RejectPatterns::new(["login", pattern]).unwrap_err();
            assert_eq!(error, Error::RejectsAll { pattern: pattern.to_owned() });
        }
    }

    /// By trying all ways to split the text.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => true,
            b"$" => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|at| naive(rest, &text[at..])),
            [first, rest @ ..] => {
                text.first().is_some_and(|byte| byte.eq_ignore_ascii_case(first)) && naive(rest, &text[1..])
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn it_is_what_trying_everything_gives(patterns in prop::collection::vec("[/*aAb]{0,5}\\$?", 0..4), path in "/[/aAbB?]{0,8}") {
            let patterns: Vec<&String> = patterns.iter().filter(|text| Pattern::parse(text).is_some()).collect();
            let any = patterns.iter().any(|pattern| {
                let anywhere = if pattern.starts_with('/') { pattern.to_string() } else { format!("*{pattern}") };
                naive(anywhere.as_bytes(), path.as_bytes())
            });
            prop_assert_eq!(RejectPatterns::new(&patterns).unwrap().matches(&path), any);
        }
    }
}
