//! Does a pattern with `*` and `$` match a path? In time linear in the path, whatever the pattern.
//!
//! Most checks find no match, so each pattern has a [`Filter`] that refuses most paths by three words.

use std::borrow::Cow;

use super::spelling::{ALLOW_PATH, ALLOW_PATTERN, ANY, bit, survey};

/// A pattern in the spelling in which it is compared.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The text before the first star: the path must start with it.
    start: Box<[u8]>,
    /// The texts after each star. All but the last are not empty; a last empty one stands for "anything".
    after_stars: Box<[Box<[u8]>]>,
    /// Whether the path must end where the pattern ends.
    to_the_end: bool,
    specificity: usize,
    /// Whether it is spelled as patterns that allow are.
    allow: bool,
}

impl Pattern {
    /// Reads a pattern; none if it can match no path, as those that do not start with `/` or `*`.
    pub(super) fn parse(text: &[u8], allow: bool) -> Option<Pattern> {
        if !matches!(text.first(), Some(b'/' | b'*')) {
            return None;
        }
        let (body, to_the_end) = match text.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (text, false),
        };
        let spelling = if allow { ALLOW_PATTERN } else { ANY };
        let mut parts = body.split(|&byte| byte == b'*');
        let stars = body.iter().filter(|&&byte| byte == b'*').count();
        let octets: usize = parts.clone().map(|part| ANY.write(part).len()).sum();
        let start = Box::from(spelling.write(parts.next().unwrap_or_default()));
        // Stars that follow one another match what one star matches.
        let is_last = |at: usize| at + 1 == stars;
        let after_stars = parts
            .enumerate()
            .filter(|(at, part)| !part.is_empty() || is_last(*at))
            .map(|(_, part)| Box::from(spelling.write(part)))
            .collect();
        let specificity = octets + stars + usize::from(to_the_end);
        Some(Pattern { start, after_stars, to_the_end, specificity, allow })
    }

    /// How many octets the pattern has: of several that match, the one with the most decides.
    pub(super) fn specificity(&self) -> usize {
        self.specificity
    }

    /// Whether the pattern matches the path.
    pub(super) fn matches(&self, path: &Path<'_>) -> bool {
        let Some(mut rest) = path.spelled(self.allow).bytes.strip_prefix(&*self.start) else { return false };
        let Some((last, middle)) = self.after_stars.split_last() else {
            return !self.to_the_end || rest.is_empty();
        };
        // Leftmost is as good as any place for a part between two stars, so nothing is ever tried twice.
        for part in middle {
            match memchr::memmem::find(rest, part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        if self.to_the_end { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
    }

    /// What every path must have that this pattern matches.
    pub(super) fn filter(&self) -> Filter {
        let known = self.start.len().min(8);
        let mask = if known == 8 { u64::MAX } else { (1 << (8 * known)) - 1 };
        let parts = self.after_stars.iter().flat_map(|part| part.iter());
        let bytes = self.start.iter().chain(parts).fold(0, |set, &byte| set | bit(byte));
        Filter { head: first_word(&self.start) & mask, mask, bytes, allow: self.allow }
    }
}

/// A test that refuses nearly all paths that a pattern does not match, and none that it does.
#[derive(Debug)]
pub(super) struct Filter {
    /// The first eight bytes, as far as the pattern knows them.
    head: u64,
    mask: u64,
    /// The set of bytes that must occur somewhere.
    bytes: u64,
    allow: bool,
}

impl Filter {
    #[inline]
    pub(super) fn may_match(&self, path: &Path<'_>) -> bool {
        let path = path.spelled(self.allow);
        ((path.head ^ self.head) & self.mask) | (self.bytes & !path.set) == 0
    }
}

/// A path in one spelling, with what the filters look at.
struct Spelled<'a> {
    bytes: Cow<'a, [u8]>,
    head: u64,
    set: u64,
}

impl<'a> From<Cow<'a, [u8]>> for Spelled<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> Spelled<'a> {
        let set = survey(&bytes).1;
        Spelled { head: first_word(&bytes), set, bytes }
    }
}

/// A path, ready to be compared with many patterns.
pub(super) struct Path<'a> {
    any: Spelled<'a>,
    /// The spelling for patterns that allow, where it is another.
    written: Option<Spelled<'a>>,
}

impl<'a> Path<'a> {
    pub(super) fn new(path: &'a [u8]) -> Path<'a> {
        let (plain, set) = survey(path);
        if plain {
            let any = Spelled { bytes: Cow::Borrowed(path), head: first_word(path), set };
            return Path { any, written: None };
        }
        Path { any: ANY.write(path).into(), written: Some(ALLOW_PATH.write(path).into()) }
    }

    /// The path in the spelling of a rule that allows, or of one that forbids.
    #[inline]
    fn spelled(&self, allow: bool) -> &Spelled<'a> {
        match &self.written {
            Some(written) if allow => written,
            _ => &self.any,
        }
    }
}

/// The first eight bytes as a word; a NUL, which no spelling contains, stands for those that are missing.
fn first_word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &[u8], path: &[u8]) -> bool {
        Pattern::parse(pattern, false).is_some_and(|pattern| pattern.matches(&Path::new(path)))
    }

    /// The definition, by trying everything.
    fn naive(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], _) => true,
            (b"$", _) => path.is_empty(),
            ([b'*', rest @ ..], _) => (0..=path.len()).any(|at| naive(rest, &path[at..])),
            ([byte, rest @ ..], [first, tail @ ..]) => byte == first && naive(rest, tail),
            _ => false,
        }
    }

    #[test]
    fn stars_and_the_dollar_mean_what_rfc_9309_says() {
        for (pattern, path) in [
            ("/", "/"),
            ("/fish", "/fishheads/yummy.html"),
            ("/fish*", "/fish.html"),
            ("/*.php", "/folder/any.php.file.html"),
            ("/*.php$", "/folder/filename.php"),
            ("/fish*.php", "/fishheads/catfish.php?parameters"),
            ("*.gif$", "/a.gif"),
            ("/a**b*$", "/axbx"),
            ("/*a$", "/aba"),
        ] {
            assert!(matches(pattern.as_bytes(), path.as_bytes()), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("/*.php$", "/filename.php?parameters"),
            ("/fish$", "/fish/"),
            ("/*.php$", "/windows.PHP"),
            ("/a*ab$", "/ab"),
            ("fish", "/fish"),
            ("", "/"),
        ] {
            assert!(!matches(pattern.as_bytes(), path.as_bytes()), "{pattern} {path}");
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_definition(pattern in "/[ab*]{0,10}[$]?", path in "/[ab]{0,12}") {
            prop_assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), naive(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn a_filter_never_refuses_a_path_that_matches(pattern in "[/*][ -~\u{e9}]{0,12}", path in "/[ -~\u{e9}]{0,24}") {
            for allow in [false, true] {
                let pattern = Pattern::parse(pattern.as_bytes(), allow).unwrap();
                let path = Path::new(path.as_bytes());
                prop_assert!(!pattern.matches(&path) || pattern.filter().may_match(&path));
            }
        }
    }
}
