//! Scope of the crawl and URL canonicalisation.

use frontier::RejectPatterns;
use model::{SESSION_HASH_PARAMETERS, SESSION_PARAMETERS, Scheme, TRACKING_PARAMETERS};

use super::strings;
use crate::settings::network_values::HostSuffix;
use crate::settings::section::section;
use crate::settings::value::{Size, Value};

section! {
    /// Scope of the crawl and URL canonicalisation.
    "scope", ScopeSection {
        /// Host suffixes in scope, such as ".example.org"; empty = all hosts.
        accept: Vec<HostSuffix> = Vec::new(), wire "seeder/accept/domain-suffixes";
        /// Reject URLs whose path or query matches, case-insensitive. Pattern syntax of robots.txt: a leading `/`
        /// anchors at the start of the path, `*` matches any characters, a final `$` anchors at the end: "login",
        /// "/private/", "*/calendar/*/day/", ".cgi$".
        reject: Vec<RejectPattern> = Vec::new();
        /// URL schemes to fetch: "http", "https", "ftp", "gopher".
        schemes: Vec<Scheme> = vec![Scheme::Http, Scheme::Https];
        /// Ignore links from other sites to inner pages of a site.
        enter_by_front_page: bool = false;
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

/// Pattern of rejected URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RejectPattern(pub(crate) String);

impl Value for RejectPattern {
    const KIND: &'static str = "pattern";

    fn read(written: &toml::Value) -> Result<RejectPattern, String> {
        let text = String::read(written)?;
        match RejectPatterns::new([&text]) {
            Ok(_) => Ok(RejectPattern(text)),
            Err(error) => Err(format!("{error}; example: \"logout\"")),
        }
    }

    fn write(&self) -> String {
        self.0.write()
    }
}
