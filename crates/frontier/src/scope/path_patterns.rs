//! Patterns of paths and queries.
//!
//! A pattern is searched anywhere in path and query, case-insensitively: `login` matches `/user/Login?next=1`. As in
//! robots.txt, `*` matches any text and a final `$` matches the end of the URL. Also as in robots.txt, a pattern that starts
//! with `/` matches from the start of the path: `/private/` does not match `/a/private/`, but `*/private/` does. Host names
//! are not matched.
//!
//! Literal patterns are searched together: a set of trigrams shows whether any of them may start at a position.

use crate::error::Error;

/// Set of patterns, searched together.
#[derive(Debug, Clone, Default)]
pub struct PathPatterns {
    /// Patterns without wildcards and anchors, of at least three bytes, in lower case.
    literals: Vec<Box<[u8]>>,
    /// First three bytes of each literal.
    literal_prefixes: TrigramSet,
    /// All other patterns, tried one by one.
    globs: Vec<Glob>,
}

#[derive(Debug, Clone)]
struct Glob {
    /// Texts between stars, in lower case; there is at least one, and none is empty.
    parts: Vec<Box<[u8]>>,
    is_anchored_at_start: bool,
    is_anchored_at_end: bool,
}

impl PathPatterns {
    /// Parses patterns.
    pub fn new(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<PathPatterns, Error> {
        let mut parsed = PathPatterns::default();
        for text in patterns {
            let text = text.as_ref();
            let pattern = Glob::parse(text)
                .ok_or_else(|| Error::PatternMatchesEverything { pattern: text.to_owned() })?;
            parsed.add(pattern);
        }
        Ok(parsed)
    }

    fn add(&mut self, pattern: Glob) {
        match pattern.parts.as_slice() {
            [part] if part.len() >= 3 && !pattern.is_anchored_at_start && !pattern.is_anchored_at_end => {
                self.literal_prefixes.insert([part[0], part[1], part[2]]);
                self.literals.push(part.clone());
            }
            _ => self.globs.push(pattern),
        }
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.literals.is_empty() && self.globs.is_empty()
    }

    /// Whether any pattern matches this path and query.
    pub fn matches(&self, path_and_query: &str) -> bool {
        let text = path_and_query.as_bytes();
        self.contains_literal(text) || self.globs.iter().any(|pattern| pattern.matches(text))
    }

    fn contains_literal(&self, text: &[u8]) -> bool {
        if self.literals.is_empty() {
            return false;
        }
        let trigrams = text.windows(3).map(|trigram| [trigram[0], trigram[1], trigram[2]]).enumerate();
        let candidates = trigrams.filter(|(_, trigram)| self.literal_prefixes.contains(*trigram));
        candidates
            .map(|(at, _)| &text[at..])
            .any(|rest| self.literals.iter().any(|literal| starts_with(rest, literal)))
    }
}

impl Glob {
    /// Parses a pattern; `None` if it would match everything.
    fn parse(text: &str) -> Option<Glob> {
        let (body, is_anchored_at_end) = text.strip_suffix('$').map_or((text, false), |body| (body, true));
        let lower = body.to_ascii_lowercase();
        let is_anchored_at_start = lower.starts_with('/');
        let mut parts: Vec<Box<[u8]>> = lower.split('*').map(|part| part.as_bytes().into()).collect();
        // A star at either end changes nothing, except before `$`, which it makes meaningless.
        let is_anchored_at_end = is_anchored_at_end && parts.last().is_some_and(|part| !part.is_empty());
        parts.retain(|part| !part.is_empty());
        let matches_all = parts.is_empty() || (lower.trim_end_matches('*') == "/" && !is_anchored_at_end);
        (!matches_all).then_some(Glob { parts, is_anchored_at_start, is_anchored_at_end })
    }

    fn matches(&self, text: &[u8]) -> bool {
        let Some((last, parts)) = self.parts.split_last() else { return false };
        let mut rest = text;
        for (index, part) in parts.iter().enumerate() {
            let at = if index == 0 && self.is_anchored_at_start {
                starts_with(rest, part).then_some(0)
            } else {
                find(rest, part)
            };
            let Some(at) = at else { return false };
            rest = &rest[at + part.len()..];
        }
        // With a single part both ends may be anchored.
        let is_first = parts.is_empty() && self.is_anchored_at_start;
        match (is_first, self.is_anchored_at_end) {
            (true, true) => rest.len() == last.len() && starts_with(rest, last),
            (true, false) => starts_with(rest, last),
            (false, true) => rest.len() >= last.len() && starts_with(&rest[rest.len() - last.len()..], last),
            (false, false) => find(rest, last).is_some(),
        }
    }
}

/// Whether a text starts with a part, which is in lower case.
fn starts_with(text: &[u8], part: &[u8]) -> bool {
    text.get(..part.len()).is_some_and(|start| start.eq_ignore_ascii_case(part))
}

/// Position of the first occurrence of a part.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window.eq_ignore_ascii_case(part))
}

/// Approximate set of case-insensitive trigrams: may contain more than were inserted, never less.
#[derive(Debug, Clone, Default)]
struct TrigramSet(Vec<u64>);

impl TrigramSet {
    fn insert(&mut self, trigram: [u8; 3]) {
        let (word, bit) = TrigramSet::bit(trigram);
        self.0.resize(1 << 9, 0);
        self.0[word] |= bit;
    }

    #[inline]
    fn contains(&self, trigram: [u8; 3]) -> bool {
        let (word, bit) = TrigramSet::bit(trigram);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Word and bit of a trigram. Uses the lowest five bits of each byte, which are equal in both cases of a letter.
    #[inline]
    fn bit(trigram: [u8; 3]) -> (usize, u64) {
        let [first, second, third] = trigram.map(|byte| usize::from(byte & 31));
        let index = first << 10 | second << 5 | third;
        (index >> 6, 1 << (index & 63))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, path_and_query: &str) -> bool {
        PathPatterns::new([pattern]).unwrap().matches(path_and_query)
    }

    #[test]
    fn literals_are_found_anywhere_and_in_any_case() {
        assert!(matches("login", "/user/Login?next=1"));
        assert!(matches("LOGIN", "/a?b=login"));
        assert!(matches("n?", "/login?x"));
        assert!(matches("?", "/a?b") && !matches("?", "/a"));
        assert!(!matches("login", "/logi/n"));
        assert!(!matches("login", "/"));
    }

    #[test]
    fn stars_and_anchors_work_as_in_robots_txt() {
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
    fn a_pattern_that_matches_everything_is_an_error() {
        for pattern in ["", "*", "$", "*$", "**", "/", "/*"] {
            let error = PathPatterns::new(["login", pattern]).unwrap_err();
            assert_eq!(error, Error::PatternMatchesEverything { pattern: pattern.to_owned() });
        }
    }

    /// Reference implementation that tries all splits of the text.
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
        fn matching_agrees_with_the_reference_implementation(patterns in prop::collection::vec("[/*aAb]{0,5}\\$?", 0..4), path in "/[/aAbB?]{0,8}") {
            let patterns: Vec<&String> = patterns.iter().filter(|text| Glob::parse(text).is_some()).collect();
            let any = patterns.iter().any(|pattern| {
                let anywhere = if pattern.starts_with('/') { pattern.to_string() } else { format!("*{pattern}") };
                naive(anywhere.as_bytes(), path.as_bytes())
            });
            prop_assert_eq!(PathPatterns::new(&patterns).unwrap().matches(&path), any);
        }
    }
}
