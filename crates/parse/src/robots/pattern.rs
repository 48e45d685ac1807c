//! Path patterns with `*` and `$`, matched in time linear in the length of the path.
//!
//! Most checks find no match, so each pattern has a [`Filter`] that excludes most paths with three integer operations.

use std::borrow::Cow;

use super::percent_encoding::ALLOW_PATH;
use super::percent_encoding::ALLOW_PATTERN;
use super::percent_encoding::FULL;
use super::percent_encoding::bit;
use super::percent_encoding::scan_bytes;

/// A pattern in normalized percent-encoding.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Text before the first star: the path must start with it.
    start: Box<[u8]>,
    /// Texts after each star. Only the last one may be empty, which matches any suffix.
    after_stars: Box<[Box<[u8]>]>,
    /// Whether the path must end with the pattern (`$`).
    anchored: bool,
    specificity: usize,
    /// Whether the pattern belongs to an `Allow` line, which is normalized differently.
    allow: bool,
}

impl Pattern {
    /// Parses a pattern; `None` if it does not start with `/` or `*` and so matches no path.
    pub(super) fn parse(text: &[u8], allow: bool) -> Option<Pattern> {
        if !matches!(text.first(), Some(b'/' | b'*')) {
            return None;
        }
        let (body, to_the_end) = match text.strip_suffix(b"$") {
            Some(body) => (body, true),
            None => (text, false),
        };
        let spelling = if allow { ALLOW_PATTERN } else { FULL };
        let mut parts = body.split(|&byte| byte == b'*');
        let stars = body.iter().filter(|&&byte| byte == b'*').count();
        let octets: usize = parts.clone().map(|part| FULL.apply(part).len()).sum();
        let start = Box::from(spelling.apply(parts.next().unwrap_or_default()));
        // Consecutive stars are equivalent to one star.
        let is_last = |at: usize| at + 1 == stars;
        let after_stars = parts
            .enumerate()
            .filter(|(at, part)| !part.is_empty() || is_last(*at))
            .map(|(_, part)| Box::from(spelling.apply(part)))
            .collect();
        let specificity = octets + stars + usize::from(to_the_end);
        Some(Pattern { start, after_stars, anchored: to_the_end, specificity, allow })
    }

    /// Length of the pattern in octets: the longest matching pattern decides.
    pub(super) fn specificity(&self) -> usize {
        self.specificity
    }

    /// Reports whether the pattern matches the path.
    pub(super) fn matches(&self, path: &Path<'_>) -> bool {
        let Some(mut rest) = path.form_for(self.allow).bytes.strip_prefix(&*self.start) else { return false };
        let Some((last, middle)) = self.after_stars.split_last() else {
            return !self.anchored || rest.is_empty();
        };
        // The leftmost match of a part between two stars is always sufficient, so there is no backtracking.
        for part in middle {
            match memchr::memmem::find(rest, part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        if self.anchored { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
    }

    /// Returns the filter of this pattern.
    pub(super) fn filter(&self) -> Filter {
        let known = self.start.len().min(8);
        let mask = if known == 8 { u64::MAX } else { (1 << (8 * known)) - 1 };
        let parts = self.after_stars.iter().flat_map(|part| part.iter());
        let bytes = self.start.iter().chain(parts).fold(0, |set, &byte| set | bit(byte));
        Filter { head: first_word(&self.start) & mask, mask, bytes, allow: self.allow }
    }
}

/// Fast test that excludes nearly all paths that a pattern does not match, and no path that it matches.
#[derive(Debug)]
pub(super) struct Filter {
    /// First eight bytes of the literal prefix.
    head: u64,
    mask: u64,
    /// Set of bytes that must occur in the path.
    bytes: u64,
    allow: bool,
}

impl Filter {
    #[inline]
    pub(super) fn may_match(&self, path: &Path<'_>) -> bool {
        let path = path.form_for(self.allow);
        ((path.head ^ self.head) & self.mask) | (self.bytes & !path.set) == 0
    }
}

/// A path in one normalization, with the data for the filters.
struct NormalizedPath<'a> {
    bytes: Cow<'a, [u8]>,
    head: u64,
    set: u64,
}

impl<'a> From<Cow<'a, [u8]>> for NormalizedPath<'a> {
    fn from(bytes: Cow<'a, [u8]>) -> NormalizedPath<'a> {
        let set = scan_bytes(&bytes).1;
        NormalizedPath { head: first_word(&bytes), set, bytes }
    }
}

/// A path prepared for comparison with many patterns.
pub(super) struct Path<'a> {
    normalized: NormalizedPath<'a>,
    /// The form for `Allow` patterns, if it differs.
    as_written: Option<NormalizedPath<'a>>,
}

impl<'a> Path<'a> {
    pub(super) fn new(path: &'a [u8]) -> Path<'a> {
        let (plain, set) = scan_bytes(path);
        if plain {
            let any = NormalizedPath { bytes: Cow::Borrowed(path), head: first_word(path), set };
            return Path { normalized: any, as_written: None };
        }
        Path { normalized: FULL.apply(path).into(), as_written: Some(ALLOW_PATH.apply(path).into()) }
    }

    /// Returns the form of the path for an `Allow` or a `Disallow` pattern.
    #[inline]
    fn form_for(&self, allow: bool) -> &NormalizedPath<'a> {
        match &self.as_written {
            Some(written) if allow => written,
            _ => &self.normalized,
        }
    }
}

/// Returns the first eight bytes as an integer, padded with NUL, which a normalized path never contains.
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

    /// Reference implementation with backtracking.
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
    fn stars_and_the_dollar_match_as_in_rfc_9309() {
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
        fn matching_agrees_with_the_reference_implementation(pattern in "/[ab*]{0,10}[$]?", path in "/[ab]{0,12}") {
            prop_assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), naive(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn a_filter_never_excludes_a_path_that_matches(pattern in "[/*][ -~\u{e9}]{0,12}", path in "/[ -~\u{e9}]{0,24}") {
            for allow in [false, true] {
                let pattern = Pattern::parse(pattern.as_bytes(), allow).unwrap();
                let path = Path::new(path.as_bytes());
                prop_assert!(!pattern.matches(&path) || pattern.filter().may_match(&path));
            }
        }
    }
}
