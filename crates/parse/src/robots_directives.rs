//! Robots directives of a page: `<meta name="robots">` and the `X-Robots-Tag` header.
//!
//! The most restrictive of several statements applies. Whether a directive is obeyed is decided by the caller.

use std::fmt;

use model::header_values;

use crate::parse_date;

/// Directives with a value after a colon; their names are not names of crawlers.
const WITH_VALUE: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];

const NAMES: [(&str, u8); 8] = [
    ("noindex", RobotsDirectives::NOINDEX),
    ("nofollow", RobotsDirectives::NOFOLLOW),
    ("none", RobotsDirectives::NOINDEX | RobotsDirectives::NOFOLLOW),
    ("noarchive", RobotsDirectives::NOARCHIVE),
    ("nocache", RobotsDirectives::NOARCHIVE),
    ("nosnippet", RobotsDirectives::NOSNIPPET),
    ("noimageindex", RobotsDirectives::NOIMAGEINDEX),
    ("notranslate", RobotsDirectives::NOTRANSLATE),
];

/// Directives of a page; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobotsDirectives {
    bits: u8,
    /// Unix time in seconds after which the page asks to be removed from indexes.
    pub unavailable_after: Option<i64>,
}

impl RobotsDirectives {
    const NOINDEX: u8 = 1;
    const NOFOLLOW: u8 = 2;
    const NOARCHIVE: u8 = 4;
    const NOSNIPPET: u8 = 8;
    const NOIMAGEINDEX: u8 = 16;
    const NOTRANSLATE: u8 = 32;

    /// The directives without the time, as a bit set for storage.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Restores directives from a stored bit set.
    pub fn from_bits(bits: u8, unavailable_after: Option<i64>) -> RobotsDirectives {
        RobotsDirectives { bits, unavailable_after }
    }

    /// Parses the content of a meta element named `robots` or like the crawler.
    pub fn from_meta(content: &str) -> RobotsDirectives {
        RobotsDirectives::read(content, None)
    }

    /// Parses one or more comma-separated `X-Robots-Tag` values for the crawler `agent`.
    ///
    /// A name and a colon restrict the following directives to that crawler, up to the next name.
    pub fn from_header(value: &str, agent: &str) -> RobotsDirectives {
        RobotsDirectives::read(value, Some(agent))
    }

    /// Parses all `X-Robots-Tag` fields of a response head.
    pub fn from_head(head: &[u8], agent: &str) -> RobotsDirectives {
        header_values(head, "X-Robots-Tag").fold(RobotsDirectives::default(), |robots, value| {
            robots.merge(RobotsDirectives::from_header(&String::from_utf8_lossy(value), agent))
        })
    }

    /// Parses directives. Without `agent`, prefixes are not interpreted: a meta element has the crawler in its name.
    fn read(value: &str, agent: Option<&str>) -> RobotsDirectives {
        let mut directives = RobotsDirectives::default();
        let mut applies = true;
        let mut rest = value;
        while !rest.is_empty() {
            let part = rest.split(',').next().unwrap_or_default();
            let mut directive = part;
            if let (Some(agent), Some((name, after))) =
                (agent, part.split_once(':').filter(|(name, _)| !has_value(name)))
            {
                applies = name.trim().eq_ignore_ascii_case(agent);
                directive = after;
            }
            let mut used = part.len();
            if applies {
                used = used.max(
                    directives.add(directive, &rest[part.len() - directive.len()..]) + part.len()
                        - directive.len(),
                );
            }
            rest = rest.get(used + 1..).unwrap_or_default();
        }
        directives
    }

    /// Adds one directive, which `rest` starts with. Returns its length in `rest`, including the commas of a date.
    fn add(&mut self, directive: &str, rest: &str) -> usize {
        let word =
            directive.trim_matches(|character: char| character.is_whitespace() || character.is_control());
        if let Some((_, bits)) = NAMES.iter().find(|(name, _)| word.eq_ignore_ascii_case(name)) {
            self.bits |= bits;
        }
        let Some((name, value)) = word.split_once(':') else { return directive.len() };
        // A snippet of no characters is none.
        if name.trim().eq_ignore_ascii_case(WITH_VALUE[1]) && value.trim() == "0" {
            self.bits |= RobotsDirectives::NOSNIPPET;
        }
        if !name.trim().eq_ignore_ascii_case(WITH_VALUE[0]) {
            return directive.len();
        }
        let start = rest.find(':').map_or(rest.len(), |colon| colon + 1);
        let commas = rest.match_indices(',').map(|(at, _)| at).chain([rest.len()]);
        for end in commas.filter(|&end| end >= start).take(3) {
            if let Some(date) = parse_date(&rest[start..end]) {
                *self = self.merge(RobotsDirectives { bits: 0, unavailable_after: Some(date) });
                return end;
            }
        }
        directive.len()
    }

    /// Combines two statements: everything that either of them forbids, and the earlier time.
    #[must_use]
    pub fn merge(self, other: RobotsDirectives) -> RobotsDirectives {
        let first = [self.unavailable_after, other.unavailable_after].into_iter().flatten().min();
        RobotsDirectives { bits: self.bits | other.bits, unavailable_after: first }
    }

    /// Reports whether the page must not be indexed.
    pub fn noindex(self) -> bool {
        self.bits & RobotsDirectives::NOINDEX != 0
    }

    /// Reports whether the links of the page must not be followed.
    pub fn nofollow(self) -> bool {
        self.bits & RobotsDirectives::NOFOLLOW != 0
    }

    /// Reports whether no cached copy of the page may be shown.
    pub fn noarchive(self) -> bool {
        self.bits & RobotsDirectives::NOARCHIVE != 0
    }

    /// Returns the directive that forbids to show a cached copy at a Unix time in seconds: a page that must not be archived, or
    /// that must not be in an index, is not shown either.
    pub fn forbids_copy(self, now_s: i64) -> Option<&'static str> {
        if self.noarchive() {
            return Some("noarchive");
        }
        if self.noindex() {
            return Some("noindex");
        }
        self.unavailable_after.filter(|until_s| *until_s <= now_s).map(|_| WITH_VALUE[0])
    }

    /// Reports whether search results must not show a snippet of the page.
    pub fn nosnippet(self) -> bool {
        self.bits & RobotsDirectives::NOSNIPPET != 0
    }

    /// Reports whether there are no directives.
    pub fn is_empty(self) -> bool {
        self == RobotsDirectives::default()
    }
}

/// Formats the directives by name, separated by commas: `noindex, nofollow`.
impl fmt::Display for RobotsDirectives {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.bits;
        let mut separator = "";
        for (name, bits) in NAMES.iter().filter(|(_, bits)| bits.count_ones() == 1) {
            if left & bits != 0 {
                write!(out, "{separator}{name}")?;
                separator = ", ";
                left &= !bits;
            }
        }
        Ok(())
    }
}

fn has_value(name: &str) -> bool {
    WITH_VALUE.iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn meta_content_is_parsed_without_regard_to_case_and_space() {
        assert_eq!(
            RobotsDirectives::from_meta(" NoIndex ,NOFOLLOW,, bogus").to_string(),
            "noindex, nofollow"
        );
        assert_eq!(RobotsDirectives::from_meta("none").to_string(), "noindex, nofollow");
        assert_eq!(RobotsDirectives::from_meta("nocache,nosnippet").to_string(), "noarchive, nosnippet");
        assert!(RobotsDirectives::from_meta("all, index, follow, max-snippet:-1").is_empty());
        assert!(RobotsDirectives::from_meta("").is_empty());
    }

    #[test]
    fn a_snippet_of_no_characters_is_none() {
        for value in ["max-snippet:0", "Max-Snippet : 0 ", "noarchive, max-snippet: 0"] {
            assert!(RobotsDirectives::from_meta(value).nosnippet(), "{value}");
            assert!(RobotsDirectives::from_header(value, "weir").nosnippet(), "{value}");
        }
        for value in ["max-snippet:-1", "max-snippet:10", "max-snippet", "max-image-preview:0"] {
            assert!(RobotsDirectives::from_meta(value).is_empty(), "{value}");
        }
    }

    #[test]
    fn a_copy_is_forbidden_by_every_form_of_the_directives() {
        let forbids = |value: &str| RobotsDirectives::from_header(value, "weir").forbids_copy(1_715_940_000);
        assert_eq!(forbids("nosnippet, NoArchive"), Some("noarchive"));
        assert_eq!(forbids("nocache"), Some("noarchive"));
        assert_eq!(forbids("weir: noarchive"), Some("noarchive"));
        assert_eq!(forbids("none"), Some("noindex"));
        assert_eq!(forbids("unavailable_after: 2024-05-17T10:00:00Z"), Some("unavailable_after"));
        for allowed in ["unavailable_after: 2024-05-17T10:00:01Z", "other: noarchive", "nosnippet", "all"] {
            assert_eq!(forbids(allowed), None, "{allowed}");
        }
    }

    #[test]
    fn all_fields_of_a_head_are_merged() {
        let head = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: nofollow\r\nContent-Type: text/html\r\nx-robots-tag:NoIndex\r\n\r\n";
        assert_eq!(RobotsDirectives::from_head(head, "weir").to_string(), "noindex, nofollow");
        let after_blank = b"HTTP/1.1 200 OK\r\n \r\nX-Robots-Tag : noindex\r\n\r\n";
        assert!(RobotsDirectives::from_head(after_blank, "weir").noindex());
        let other = b"HTTP/1.1 200 OK\r\nX-Robots-Tag: other: noindex\r\n\r\n";
        assert!(RobotsDirectives::from_head(other, "weir").is_empty());
    }

    #[test]
    fn a_header_may_apply_to_one_crawler() {
        let value = "noarchive, other: noindex, nofollow, Weir: nosnippet";
        assert_eq!(RobotsDirectives::from_header(value, "weir").to_string(), "noarchive, nosnippet");
        assert_eq!(RobotsDirectives::from_header(value, "other").to_string(), "noindex, nofollow, noarchive");
        assert_eq!(RobotsDirectives::from_header("noindex", "weir").to_string(), "noindex");
    }

    #[test]
    fn a_date_may_contain_commas_and_colons() {
        for value in [
            "unavailable_after: 17 May 2024 10:00:00 GMT, noindex",
            "unavailable_after: Fri, 17 May 2024 10:00:00 GMT, noindex",
            "weir: unavailable_after: 2024-05-17T10:00:00Z, noindex",
        ] {
            let directives = RobotsDirectives::from_header(value, "weir");
            assert_eq!(directives.unavailable_after, Some(1_715_940_000), "{value}");
            assert!(directives.noindex(), "{value}");
        }
        assert!(RobotsDirectives::from_header("unavailable_after: never, noindex", "weir").noindex());
    }

    #[test]
    fn merged_statements_both_apply() {
        let early = RobotsDirectives { bits: 0, unavailable_after: Some(1) };
        let late = RobotsDirectives { unavailable_after: Some(2), ..RobotsDirectives::from_meta("noindex") };
        let both = late.merge(early);
        assert!(both.noindex() && both.unavailable_after == Some(1));
    }

    proptest! {
        #[test]
        fn any_value_is_parsed(value in "(noindex|unavailable_after|weir|[ :,]|2024|.){0,20}") {
            let _ = RobotsDirectives::from_header(&value, "weir");
        }

        #[test]
        fn formatted_directives_are_parsed_back(bits in 0_u8..64) {
            let directives = RobotsDirectives { bits, unavailable_after: None };
            prop_assert_eq!(RobotsDirectives::from_meta(&directives.to_string()), directives);
        }
    }
}
