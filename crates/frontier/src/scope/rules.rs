//! Rules that select URLs by host, URL prefix, SURT prefix, path pattern or regular expression.
//!
//! | rule | matches |
//! |---|---|
//! | `*` | every URL |
//! | `www.example.org` | this host |
//! | `.example.org` | this domain and its subdomains |
//! | `https://example.org/docs/` | URLs of this host (at its port) whose path begins with `/docs/`, over http and https alike |
//! | `https://example.org` | all URLs of this host, at any port |
//! | `org,example)/docs/` | the same as a SURT prefix |
//! | `org,example,` | this domain and its subdomains, as a SURT prefix |
//! | `/docs/`, `*login`, `.cgi$` | paths and queries, with the [pattern syntax](crate::PathPatterns) of robots.txt |
//! | `~^https?://[a-z]+\.example\.org/` | URLs in which the regular expression is found |
//!
//! Regular expressions are matched in linear time. A SURT prefix ends at a label: `org,example` does not match `examples.org`.

use model::{CanonicalUrl, UrlRules};
use regex::RegexSet;

use crate::error::Error;
use crate::scope::host_table::{HostPart, HostTable, PortRule};
use crate::scope::path_patterns::PathPatterns;

/// Maximum size of the compiled regular expressions.
const MAX_REGEX_BYTES: usize = 10 << 20;

/// Set of rules.
#[derive(Debug, Clone, Default)]
pub struct ScopeRules {
    /// Rules as written.
    texts: Vec<String>,
    matches_everything: bool,
    hosts: HostTable,
    paths: PathPatterns,
    regexes: RegexSet,
}

/// One parsed rule.
enum ParsedRule {
    Everything,
    Host { name: String, is_suffix: bool, port: PortRule, path_prefix: String },
    Path,
    Regex(String),
}

impl ScopeRules {
    /// Parses rules.
    pub fn new(rules: impl IntoIterator<Item = impl AsRef<str>>) -> Result<ScopeRules, Error> {
        let mut parsed = ScopeRules::default();
        let (mut paths, mut regexes) = (Vec::new(), Vec::new());
        for rule in rules {
            let text = rule.as_ref();
            let index = parsed.texts.len() as u32;
            parsed.texts.push(text.to_owned());
            match parse(text)? {
                ParsedRule::Everything => parsed.matches_everything = true,
                ParsedRule::Path => paths.push(text.to_owned()),
                ParsedRule::Regex(regex) => regexes.push(regex),
                ParsedRule::Host { name, is_suffix, port, path_prefix } => {
                    let part = HostPart { port, path_prefix: path_prefix.into(), rule: index };
                    if !parsed.hosts.insert(&name, is_suffix, part) {
                        return Err(Error::InvalidHost { entry: text.to_owned() });
                    }
                }
            }
        }
        parsed.paths = PathPatterns::new(&paths)?;
        let invalid = |error: regex::Error| Error::InvalidRegex { cause: error.to_string() };
        parsed.regexes =
            regex::RegexSetBuilder::new(&regexes).size_limit(MAX_REGEX_BYTES).build().map_err(invalid)?;
        Ok(parsed)
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether the rules restrict hosts, or accept all explicitly; path patterns alone do not.
    pub fn has_host_rules(&self) -> bool {
        self.matches_everything || !self.hosts.is_empty() || !self.regexes.is_empty()
    }

    /// Rules as written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether any rule matches a URL.
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        self.matches_everything || self.matches_host(url) || self.paths.matches(url.path_and_query())
    }

    /// Whether a URL is accepted: by a rule for hosts (or there are none), and by a path pattern (or there are none).
    pub(crate) fn accepts(&self, url: &CanonicalUrl) -> bool {
        (self.matches_everything || !self.has_host_rules() || self.matches_host(url))
            && (self.paths.is_empty() || self.paths.matches(url.path_and_query()))
    }

    /// Index of the first rule for hosts that matches a URL.
    pub(crate) fn first_host_rule(&self, url: &CanonicalUrl) -> Option<usize> {
        self.hosts.first_rule(url).map(|rule| rule as usize)
    }

    /// The first rule that matches a URL, as written; slow, for messages.
    pub fn find(&self, url: &CanonicalUrl) -> Option<&str> {
        let matches = |text: &&String| ScopeRules::new([text]).is_ok_and(|rule| rule.matches(url));
        self.texts.iter().find(matches).map(String::as_str)
    }

    fn matches_host(&self, url: &CanonicalUrl) -> bool {
        self.hosts.matches(url) || (!self.regexes.is_empty() && self.regexes.is_match(url.as_str()))
    }
}

fn parse(text: &str) -> Result<ParsedRule, Error> {
    if text == "*" {
        return Ok(ParsedRule::Everything);
    }
    if let Some(regex) = text.strip_prefix('~') {
        return Ok(ParsedRule::Regex(regex.to_owned()));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return match rest.strip_prefix('(') {
            Some(surt) => surt_rule(text, surt),
            None => url_rule(text, scheme),
        };
    }
    if text.starts_with('/') {
        return Ok(ParsedRule::Path);
    }
    let authority = text.split('/').next().unwrap_or_default();
    if authority.contains([',', ')']) && !authority.contains(['*', '$', '?']) {
        return surt_rule(text, text);
    }
    if text.contains(['*', '$', '?', '=', '/', '&']) {
        return Ok(ParsedRule::Path);
    }
    let (name, is_suffix) = text.strip_prefix('.').map_or((text, false), |name| (name, true));
    let is_host = is_suffix || name.contains(['.', ':']) || name == "localhost";
    if !is_host {
        return Err(Error::AmbiguousRule { rule: text.to_owned() });
    }
    if name.contains(':') && !name.starts_with('[') {
        return Err(Error::InvalidHost { entry: text.to_owned() });
    }
    Ok(ParsedRule::Host { name: name.to_owned(), is_suffix, port: PortRule::Any, path_prefix: String::new() })
}

/// Rule of a URL: its host, its port if it is explicit, and its path as a prefix.
fn url_rule(text: &str, scheme: &str) -> Result<ParsedRule, Error> {
    let invalid = || Error::InvalidHost { entry: text.to_owned() };
    let url = UrlRules::default().canonical(text).map_err(|_| invalid())?;
    let has_path = text[scheme.len() + 3..].contains('/');
    let is_default_port = url.port() == url.scheme().default_port();
    Ok(ParsedRule::Host {
        name: url.host().to_owned(),
        is_suffix: false,
        port: match (is_default_port, has_path) {
            (false, _) => PortRule::Number(url.port()),
            (true, true) => PortRule::Default,
            (true, false) => PortRule::Any,
        },
        path_prefix: if has_path { url.path_and_query().to_owned() } else { String::new() },
    })
}

/// Rule of a SURT prefix: `org,example,` for a domain, `org,example:8080)/docs/` for a part of a host.
fn surt_rule(text: &str, surt: &str) -> Result<ParsedRule, Error> {
    let invalid = || Error::InvalidHost { entry: text.to_owned() };
    let (authority, path_prefix) = match surt.split_once(')') {
        Some((authority, path)) => (authority, Some(path)),
        None => (surt, None),
    };
    let is_ipv6 = authority.starts_with('[');
    let (labels, port) = match authority.rsplit_once(':').filter(|_| !is_ipv6) {
        Some((labels, port)) => (labels, PortRule::Number(port.parse().map_err(|_| invalid())?)),
        None if path_prefix.is_some() => (authority, PortRule::Default),
        None => (authority, PortRule::Any),
    };
    let labels: Vec<&str> = labels.trim_end_matches(',').split(',').rev().collect();
    Ok(ParsedRule::Host {
        name: labels.join("."),
        is_suffix: path_prefix.is_none(),
        port,
        path_prefix: path_prefix.unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonical(text).unwrap()
    }

    fn matches(rule: &str, text: &str) -> bool {
        ScopeRules::new([rule]).unwrap().matches(&url(text))
    }

    /// Rules, with URLs that match and URLs that do not.
    const CASES: &[(&str, &[&str], &[&str])] = &[
        ("*", &["http://a.example/", "https://b.example:8080/x"], &[]),
        ("Example.org", &["http://example.org/", "https://example.org:8443/a"], &["http://www.example.org/"]),
        (
            ".example.org",
            &["http://example.org/", "http://a.b.example.org/"],
            &["http://badexample.org/", "http://example.org.evil.example/"],
        ),
        ("localhost", &["http://localhost:8080/"], &["http://a.localhost/"]),
        ("[::1]", &["http://[::1]:8080/"], &["http://[::2]/"]),
        (
            "https://example.org/docs/",
            &["https://example.org/docs/", "http://example.org/docs/a?b=1"],
            &["https://example.org/doc", "https://example.org:8443/docs/", "https://www.example.org/docs/"],
        ),
        (
            "https://example.org",
            &["https://example.org/x", "http://example.org:8080/"],
            &["http://a.example.org/"],
        ),
        ("http://example.org:8080/", &["http://example.org:8080/a"], &["http://example.org/a"]),
        (
            "org,example)/docs/",
            &["https://example.org/docs/a"],
            &["https://example.org/", "https://a.example.org/docs/"],
        ),
        (
            "org,example:8080)",
            &["http://example.org:8080/a"],
            &["http://example.org/", "http://a.example.org:8080/"],
        ),
        ("org,example,", &["http://example.org/", "http://a.example.org:81/b"], &["http://examples.org/"]),
        ("http://(org,example,www,)/a", &["http://www.example.org/ab"], &["http://www.example.org/b"]),
        ("/docs/", &["http://a.example/docs/x"], &["http://a.example/a/docs/"]),
        ("*login", &["http://a.example/user/Login?x"], &["http://login.example/"]),
        (".cgi$", &["http://a.example/x.cgi"], &["http://a.example/x.cgi?y=1"]),
        ("a=b", &["http://a.example/?a=b"], &["http://a.example/?a=c"]),
        (r"~^https?://[a-z]+\.example\.org/", &["http://abc.example.org/"], &["http://a1.example.org/"]),
    ];

    #[test]
    fn each_kind_of_rule_matches_its_urls_only() {
        for (rule, inside, outside) in CASES {
            for text in *inside {
                assert!(matches(rule, text), "{rule} should match {text}");
                assert_eq!(ScopeRules::new([*rule]).unwrap().find(&url(text)), Some(*rule));
            }
            for text in *outside {
                assert!(!matches(rule, text), "{rule} should not match {text}");
            }
        }
    }

    #[test]
    fn accepted_urls_match_a_host_rule_and_a_path_pattern() {
        let accepts = |rules: &[&str], text: &str| ScopeRules::new(rules).unwrap().accepts(&url(text));
        assert!(accepts(&[], "http://a.example/x"));
        assert!(accepts(&[".example", "other.test"], "http://other.test/x"));
        assert!(accepts(&["/docs/"], "http://a.example/docs/") && !accepts(&["/docs/"], "http://a.example/"));
        let both = ["a.example", "/docs/", "/blog/"];
        assert!(accepts(&both, "http://a.example/blog/1") && !accepts(&both, "http://b.example/blog/1"));
        assert!(!accepts(&both, "http://a.example/news/"));
        assert!(accepts(&["*", "a.example"], "http://b.example/"));
    }

    #[test]
    fn the_first_of_several_host_rules_is_found() {
        let rules = ScopeRules::new([".example.org", "www.example.org", "org,example,www)/docs/"]).unwrap();
        assert_eq!(rules.first_host_rule(&url("http://www.example.org/docs/")), Some(0));
        let rules = ScopeRules::new(["www.example.org", ".example.org"]).unwrap();
        assert_eq!(rules.first_host_rule(&url("http://www.example.org/")), Some(0));
        assert_eq!(rules.first_host_rule(&url("http://a.example.org/")), Some(1));
        assert_eq!(rules.first_host_rule(&url("http://a.example/")), None);
    }

    #[test]
    fn long_names_are_found_too() {
        let name = format!("{}.{}.example.org", "a".repeat(63), "b".repeat(63));
        let rule = format!(".{name}");
        assert!(matches(&rule, &format!("http://{name}/")) && matches(&rule, &format!("http://c.{name}/")));
        assert!(!matches(&rule, &format!("http://{}/", &name[1..])));
    }

    #[test]
    fn rules_that_match_no_url_or_are_ambiguous_are_errors() {
        for rule in
            ["", ".", "..org", "b\u{fc}cher.example", "http://", "org,example:x)", "a b.org", "a.org:80"]
        {
            assert!(ScopeRules::new([rule]).is_err(), "{rule}");
        }
        let ambiguous = ScopeRules::new(["login"]).unwrap_err().to_string();
        assert!(ambiguous.contains("`*login`"), "{ambiguous}");
        let regex = ScopeRules::new(["~("]).unwrap_err().to_string();
        assert!(regex.contains("cannot use the regular expression"), "{regex}");
        assert!(ScopeRules::new(["~(a{1000}){1000}"]).is_err(), "too large");
        assert!(ScopeRules::new(["**"]).is_err(), "matches everything");
    }

    proptest! {
        #[test]
        fn no_rule_panics(rule in "[a-z.,:()\\[\\]/*$~?-]{0,20}") {
            if let Ok(rules) = ScopeRules::new([&rule]) {
                rules.accepts(&url("http://www.example.org:8080/a/b?c=d"));
            }
        }
    }
}
