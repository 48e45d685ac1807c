//! robots.txt rules for one product token (RFC 9309).
//!
//! Groups that name the token are merged; if there are none, the groups of `*` apply. The longest matching pattern decides,
//! and `Allow` wins a tie. The same mistakes are tolerated as in Google's published matcher: misspelled keys, a missing
//! colon, an incomplete byte order mark. This module does not fetch the file; the meaning of a missing or unreachable
//! robots.txt is decided by the crawler.

mod line;
mod pattern;
mod percent_encoding;

use std::time::Duration;

use line::{Key, Line};
use pattern::{Filter, Path, Pattern};

/// Maximum size of a robots.txt; the rest is ignored (RFC 9309, 2.5: at least 500 KiB).
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// Maximum number of rules for one product token, in the order of the file.
pub const MAX_ROBOTS_RULES: usize = 20_000;

/// Maximum number of `Sitemap` lines.
pub const MAX_ROBOTS_SITEMAPS: usize = 1_000;

/// Rules of one robots.txt for one product token. The default has no rules and allows everything.
#[derive(Debug, Default)]
pub struct RobotsRules {
    /// Maximum `Crawl-delay` of the groups that apply.
    pub crawl_delay: Option<Duration>,
    /// URLs of the `Sitemap` lines, as written; they belong to no group.
    pub sitemaps: Vec<String>,
    /// Sorted by specificity, so that the first match decides.
    rules: Vec<Rule>,
    /// Filters of the rules, in a separate vector so that a check touches few cache lines.
    filters: Vec<Filter>,
}

/// An `Allow` or `Disallow` line that applies.
#[derive(Debug)]
pub struct Rule {
    /// Whether the rule allows (`Allow`) or disallows (`Disallow`) the path.
    pub allow: bool,
    /// The line in normal form: `Disallow: /private/`.
    pub text: String,
    /// Line number in the file, from 1.
    pub line: u32,
    pattern: Pattern,
}

/// Decision about one path.
#[derive(Debug)]
pub struct Decision<'a> {
    /// Whether the path may be fetched.
    pub allowed: bool,
    /// The rule that decided; `None` if no rule matches.
    pub rule: Option<&'a Rule>,
}

impl RobotsRules {
    /// Parses a robots.txt for the product token `agent`.
    pub fn parse(bytes: &[u8], agent: &str) -> RobotsRules {
        let mut reader = RobotsReader::new(agent);
        line::for_each_line(bytes, |number, line| reader.read_line(number, &line));
        reader.finish()
    }

    /// Decides on a request target: path and query, such as `/a/b?c=d`.
    ///
    /// `/robots.txt` is treated like any other path, as in Google's cases. RFC 9309 allows it implicitly; the crawler fetches
    /// it without a check.
    pub fn decide(&self, path_and_query: &str) -> Decision<'_> {
        let path = Path::new(path_and_query.as_bytes());
        let mut candidates =
            self.filters.iter().zip(&self.rules).filter(|(filter, _)| filter.may_match(&path));
        let rule = candidates.find(|(_, rule)| rule.pattern.matches(&path)).map(|(_, rule)| rule);
        Decision { allowed: rule.is_none_or(|rule| rule.allow), rule }
    }

    /// Decides on an absolute URL, or on a path that starts with `/`. The fragment is ignored.
    pub fn decide_url(&self, url: &str) -> Decision<'_> {
        let url = url.split('#').next().unwrap_or_default();
        if url.starts_with('/') {
            return self.decide(url);
        }
        let after_scheme = url.find("://").map_or(url, |at| &url[at + 3..]);
        match after_scheme.find(['/', '?', ';']) {
            None => self.decide("/"),
            Some(at) if after_scheme.as_bytes()[at] == b'/' => self.decide(&after_scheme[at..]),
            Some(at) => self.decide(&format!("/{}", &after_scheme[at..])),
        }
    }

    /// Number of rules that apply to the product token.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Reports whether no rule applies, so that everything is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// Merged content of the groups of one kind: those that name the agent, or those of `*`.
#[derive(Default)]
struct Groups {
    seen: bool,
    /// Whether the group being read is of this kind.
    open: bool,
    crawl_delay: Option<Duration>,
    rules: Vec<Rule>,
}

impl Groups {
    fn open_group(&mut self) {
        self.seen = true;
        self.open = true;
    }

    fn add(&mut self, allow: bool, line: u32, value: &str) {
        if !self.open || self.rules.len() >= MAX_ROBOTS_RULES {
            return;
        }
        let text = format!("{}: {value}", if allow { "Allow" } else { "Disallow" });
        // As in Google's matcher, `Allow: /a/index.html` also allows `/a/`.
        if let Some(slash) = value.rfind("/index.htm").filter(|&at| allow && !value[at + 1..].contains('/')) {
            let directory = format!("{}$", &value[..=slash]);
            let pattern = Pattern::parse(directory.as_bytes(), allow);
            self.rules.extend(pattern.map(|pattern| Rule { allow, text: text.clone(), line, pattern }));
        }
        let pattern = Pattern::parse(value.as_bytes(), allow);
        self.rules.extend(pattern.map(|pattern| Rule { allow, text, line, pattern }));
    }
}

/// State while a robots.txt is parsed.
struct RobotsReader<'a> {
    agent: &'a str,
    named: Groups,
    wildcard: Groups,
    /// Whether the current group has rules, so that the next `User-agent` starts a new group.
    in_rules: bool,
    sitemaps: Vec<String>,
}

impl<'a> RobotsReader<'a> {
    fn new(agent: &'a str) -> RobotsReader<'a> {
        RobotsReader {
            agent,
            named: Groups::default(),
            wildcard: Groups::default(),
            in_rules: false,
            sitemaps: Vec::new(),
        }
    }

    fn read_line(&mut self, number: u32, line: &Line<'_>) {
        match line.key {
            Key::UserAgent => self.user_agent(line.value),
            Key::Allow | Key::Disallow => self.rule(line.key == Key::Allow, number, line.value),
            Key::CrawlDelay => self.crawl_delay(line.value),
            Key::Sitemap if self.sitemaps.len() < MAX_ROBOTS_SITEMAPS && !line.value.is_empty() => {
                self.sitemaps.push(String::from_utf8_lossy(line.value).into_owned());
            }
            Key::Sitemap => {}
        }
    }

    fn user_agent(&mut self, value: &[u8]) {
        if self.in_rules {
            self.in_rules = false;
            self.named.open = false;
            self.wildcard.open = false;
        }
        let token = value.iter().take_while(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'));
        let token = &value[..token.count()];
        if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
            self.wildcard.open_group();
        } else if !token.is_empty() && token.eq_ignore_ascii_case(self.agent.as_bytes()) {
            self.named.open_group();
        }
    }

    fn rule(&mut self, allow: bool, number: u32, value: &[u8]) {
        // Rules before the first User-agent line belong to no group.
        if !self.named.open && !self.wildcard.open {
            return;
        }
        self.in_rules = true;
        let value = percent_encoding::display_text(value);
        self.named.add(allow, number, &value);
        self.wildcard.add(allow, number, &value);
    }

    fn crawl_delay(&mut self, value: &[u8]) {
        let delay = parse_delay(value);
        for groups in [&mut self.named, &mut self.wildcard] {
            if groups.open {
                groups.crawl_delay = groups.crawl_delay.max(delay);
            }
        }
    }

    fn finish(self) -> RobotsRules {
        let groups = if self.named.seen { self.named } else { self.wildcard };
        let mut rules = groups.rules;
        // The sort is stable: of equal rules the first in the file is reported.
        rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.specificity()), !rule.allow));
        let filters = rules.iter().map(|rule| rule.pattern.filter()).collect();
        RobotsRules { crawl_delay: groups.crawl_delay, sitemaps: self.sitemaps, rules, filters }
    }
}

/// Parses seconds with an optional fraction; text after them is ignored.
fn parse_delay(value: &[u8]) -> Option<Duration> {
    let digits = value.iter().take_while(|&&byte| byte.is_ascii_digit() || byte == b'.').count();
    let seconds: f64 = std::str::from_utf8(&value[..digits]).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(robots: &str, path: &str) -> bool {
        RobotsRules::parse(robots.as_bytes(), "weir").decide(path).allowed
    }

    #[test]
    fn the_longest_pattern_decides_and_allow_wins_a_tie() {
        let robots = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /a/b/c\n";
        assert!(!allowed(robots, "/a/x"));
        assert!(allowed(robots, "/a/b"));
        assert!(allowed(robots, "/a/b/c"));
        assert!(allowed(robots, "/"));
    }

    #[test]
    fn the_decision_contains_the_rule_and_its_line() {
        let rules = RobotsRules::parse(b"# hello\r\nUser-agent: Weir\r\n\r\ndisalow:   /x # y\r\n", "weir");
        let decision = rules.decide("/x/1");
        let rule = decision.rule.unwrap();
        assert_eq!((decision.allowed, rule.text.as_str(), rule.line), (false, "Disallow: /x", 4));
        assert!(rules.decide("/y").rule.is_none());
    }

    #[test]
    fn groups_of_an_agent_are_merged_and_replace_the_star_group() {
        let robots =
            "user-agent: weir\nallow: /a\nuser-agent: *\ndisallow: /\nuser-agent: WEIR\ndisallow: /b\n";
        assert!(allowed(robots, "/c"));
        assert!(!allowed(robots, "/b"));
        assert!(!RobotsRules::parse(robots.as_bytes(), "other").decide("/c").allowed);
        assert_eq!(RobotsRules::parse(robots.as_bytes(), "weir").len(), 2);
    }

    #[test]
    fn a_url_is_reduced_to_its_path_and_query() {
        let rules = RobotsRules::parse(b"user-agent: *\ndisallow: /p\ndisallow: /?q", "weir");
        for disallowed in ["http://h/p", "h/p", "https://h:1/p?x#y", "/p#/", "http://h?q=1"] {
            assert!(!rules.decide_url(disallowed).allowed, "{disallowed}");
        }
        for allowed in ["http://h", "", "http://h/#/p", "http://h/a?/p"] {
            assert!(rules.decide_url(allowed).allowed, "{allowed}");
        }
    }

    #[test]
    fn disallow_matches_every_percent_encoding_of_the_path() {
        let robots =
            "User-agent: *\nDisallow: /%7euser/\nDisallow: /caf\u{e9}\nDisallow: /a b\nDisallow: /s%2a\n";
        for path in
            ["/~user/", "/%7Euser/", "/caf%C3%A9", "/caf%c3%a9", "/caf\u{e9}", "/a%20b", "/a b", "/s*"]
        {
            assert!(!allowed(robots, path), "{path}");
        }
        assert!(allowed(robots, "/sx"));
        assert!(allowed("User-agent: *\nDisallow: /a/b", "/a%2Fb"), "an encoded slash is another path");
    }

    #[test]
    fn invisible_characters_do_not_disable_a_rule() {
        let invisible = [
            "\0", "\u{b}", "\u{c}", "\u{1b}", "\u{7f}", "\u{85}", "\u{a0}", "\u{200b}", "\u{3000}",
            "\u{feff}",
        ];
        for character in invisible {
            let before_key = if character.is_ascii() { character } else { "" };
            for robots in [
                format!("User-agent: *\nDisallow: /private{character}\n"),
                format!("User-agent: *{character}\r\nDisallow:{character}/private\r\n"),
                format!(
                    "{before_key}User-agent: *\n{before_key}Disallow{character}: /private {character} \n"
                ),
                format!("User-agent: *\nDisallow /private{character}"),
            ] {
                assert!(!allowed(&robots, "/private/a"), "{robots:?}");
                assert!(allowed(&robots, "/a"), "{robots:?}");
            }
        }
    }

    #[test]
    fn a_robots_txt_in_utf_16_is_read() {
        let text = "User-agent: *\r\nDisallow: /private\r\n";
        let little =
            [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let big =
            [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        for robots in [little, big] {
            let rules = RobotsRules::parse(&robots, "weir");
            assert!(!rules.decide("/private").allowed && rules.decide("/a").allowed);
        }
    }

    proptest::proptest! {
        #[test]
        fn control_characters_never_make_a_disallow_vanish(
            path in "/[a-z*]{0,6}[$]?",
            inserted in proptest::collection::vec((0..60_usize, "[\0-\x08\x0b\x0c\x0e-\x1f\x7f]{1,3}"), 0..6),
            tested in "/[a-z]{0,6}",
        ) {
            let clean = format!("User-agent: *\r\nAllow: /\r\nDisallow: {path}\r\n");
            let mut robots = clean.clone();
            for (at, characters) in inserted {
                robots.insert_str(at.min(robots.len()), &characters);
            }
            proptest::prop_assert_eq!(allowed(&robots, &tested), allowed(&clean, &tested));
            let within = format!("{}x", path.trim_end_matches('$').replace('*', "a"));
            proptest::prop_assert_eq!(allowed(&robots, &within), allowed(&clean, &within));
        }
    }

    #[test]
    fn crawl_delay_and_sitemaps_are_parsed() {
        let robots = "Sitemap: http://h/1.xml\nUser-agent: *\nCrawl-delay: 2.5\nCrawl-delay: x\nCrawl-delay: 1 s\n\
                      Disallow:\nUser-agent: other\nDisallow: /\nCrawl-delay: 9\nSITEMAP:http://h/2.xml";
        let rules = RobotsRules::parse(robots.as_bytes(), "weir");
        assert_eq!(rules.crawl_delay, Some(Duration::from_millis(2500)));
        assert_eq!(rules.sitemaps, ["http://h/1.xml", "http://h/2.xml"]);
        assert_eq!(parse_delay(b"1e400"), Some(Duration::from_secs(1)));
        assert_eq!(parse_delay(b"9".repeat(400).as_slice()), None);
    }

    #[test]
    fn a_crawl_delay_does_not_end_the_list_of_agents() {
        // RFC 9309, 2.2.4: other records must not interfere with groups.
        assert!(!allowed("User-agent: *\nCrawl-delay: 2\nUser-agent: other\nDisallow: /\n", "/a"));
    }

    #[test]
    fn content_beyond_the_maximum_size_is_ignored() {
        let mut robots = b"User-agent: *\nDisallow: /a\n".to_vec();
        robots.resize(MAX_ROBOTS_BYTES - 10, b'\n');
        // If this line were truncated at the limit, it would disallow everything.
        robots.extend(b"Disallow: /private\nDisallow: /b\n");
        let rules = RobotsRules::parse(&robots, "weir");
        assert!(!rules.decide("/a").allowed);
        assert!(rules.decide("/b").allowed && rules.decide("/private").allowed);
    }

    #[test]
    fn many_stars_against_a_long_path_take_linear_time() {
        let robots = format!("User-agent: *\nDisallow: /{}b\n", "*a".repeat(5_000));
        let rules = RobotsRules::parse(robots.as_bytes(), "weir");
        let path = format!("/{}", "a".repeat(1_000_000));
        assert!(rules.decide(&path).allowed);
        assert!(!rules.decide(&(path + "b")).allowed);
    }
}
