//! Scope of the crawl and URL canonicalisation.

use frontier::ScopeRules;
use model::{SESSION_HASH_PARAMETERS, SESSION_PARAMETERS, Scheme, TRACKING_PARAMETERS};

use super::strings;
use crate::settings::network_values::host_rule;
use crate::settings::section::section;
use crate::settings::value::{Size, Value};

section! {
    /// Scope of the crawl and URL canonicalisation.
    "scope", ScopeSection {
        /// URLs in scope; empty = the hosts of the seeds, with and without "www."; "*" = the whole Web. Rules: a host
        /// ("www.example.org"), a domain with its subdomains (".example.org"), a URL or SURT prefix
        /// (`https://example.org/docs/`, `org,example)/docs/`), a regular expression for the URL ("~^https?://[a-z]+[.]example[.]org/")
        /// or a path pattern ("/docs/"). With path patterns, one of them must match, too.
        accept: Vec<ScopeRule> = Vec::new(), wire "seeder/accept/domain-suffixes", reload yes;
        /// URLs to reject, by the same kinds of rules. Path patterns are case-insensitive and have the syntax of robots.txt: a
        /// leading `/` anchors at the start of the path, `*` matches any characters, a final `$` anchors at the end:
        /// "*login", "/private/", "*/calendar/*/day/", ".cgi$".
        reject: Vec<ScopeRule> = Vec::new(), reload yes;
        /// Number of links to follow from pages in scope to pages that `accept` does not cover; their other links are not
        /// followed.
        hops_outside: u8 = 0, within 0..=7, reload yes;
        /// URL schemes to fetch: "http", "https", "ftp", "gopher".
        schemes: Vec<Scheme> = vec![Scheme::Http, Scheme::Https], reload yes;
        /// Ignore links from other sites to inner pages of a site.
        enter_by_front_page: bool = false, reload yes;
        /// Follow the links of byte-identical duplicates. Sites that serve the same page under many URLs are then
        /// crawled up to the limits of a site.
        follow_duplicates: bool = false;
        /// Query parameters with session ids, removed from every URL; `*` matches the rest of a name.
        session_parameters: Vec<String> = strings(SESSION_PARAMETERS), wire "seeder/sessionids";
        /// Query parameters removed only if their value is a long hexadecimal number.
        session_hash_parameters: Vec<String> = strings(SESSION_HASH_PARAMETERS);
        /// Tracking parameters, removed from every URL.
        tracking_parameters: Vec<String> = strings(TRACKING_PARAMETERS);
        /// Sort query parameters by name, so that their order does not create duplicates.
        sort_query: bool = false;
        /// Maximum URL length in bytes; longer URLs are rejected.
        max_url_length: Size = Size(2_048), within Size(64)..=Size(16_000);
    }
}

/// Rule that selects URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScopeRule(pub(crate) String);

impl Value for ScopeRule {
    const KIND: &'static str = "rule";

    fn read(written: &toml::Value) -> Result<ScopeRule, String> {
        let text = String::read(written)?;
        let rule = host_rule(&text).unwrap_or(text);
        match ScopeRules::new([&rule]) {
            Ok(_) => Ok(ScopeRule(rule)),
            Err(error) => Err(format!("{error}; examples: \".example.org\", \"/private/\"")),
        }
    }

    fn write(&self) -> String {
        self.0.write()
    }
}
