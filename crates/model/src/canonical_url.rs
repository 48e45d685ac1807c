//! Canonical URL of a page, and its parts.
//!
//! Values are created only by [`UrlRules`](crate::UrlRules), so every value of this type is in canonical form.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use psl::Psl;

/// URL in canonical form: `scheme://host[:port]/path[?query]`, ASCII only, without user and fragment.
///
/// The text is stored once with the offsets of its parts, so that access to a part needs no parsing. Equality, order
/// and hash are those of the text.
#[derive(Debug, Clone)]
pub struct CanonicalUrl {
    text: String,
    scheme: Scheme,
    port: u16,
    host_end: u16,
    site_end: u16,
    path_end: u16,
}

/// URL schemes that Weir fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP without encryption.
    Http,
    /// HTTP over TLS.
    Https,
    /// File transfer protocol, RFC 959.
    Ftp,
    /// Gopher, RFC 1436.
    Gopher,
}

impl Scheme {
    /// Name in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ftp => "ftp",
            Scheme::Gopher => "gopher",
        }
    }

    /// Port of a URL without an explicit one.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
            Scheme::Ftp => 21,
            Scheme::Gopher => 70,
        }
    }

    /// Parses the name of a scheme, in any case.
    pub(crate) fn from_name(name: &str) -> Option<Scheme> {
        let all = [Scheme::Http, Scheme::Https, Scheme::Ftp, Scheme::Gopher];
        all.into_iter().find(|scheme| scheme.as_str().eq_ignore_ascii_case(name))
    }
}

impl CanonicalUrl {
    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host: a DNS name in A-labels, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.text[self.host_start()..self.host_end as usize]
    }

    /// The port to connect to, explicit or the default of the scheme.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The site: scheme, host and explicit port (`https://example.com`, `http://example.com:8080`).
    ///
    /// The unit of robots.txt and of politeness.
    pub fn site(&self) -> &str {
        &self.text[..self.site_end as usize]
    }

    /// The path; starts with a slash.
    pub fn path(&self) -> &str {
        &self.text[self.site_end as usize..self.path_end as usize]
    }

    /// The query without its question mark; never empty.
    pub fn query(&self) -> Option<&str> {
        self.text.get(self.path_end as usize + 1..)
    }

    /// The request target: path and query.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.site_end as usize..]
    }

    /// The registered domain by the Public Suffix List: `example.co.uk` for `www.example.co.uk`.
    ///
    /// `None` for an IP address, and for a public suffix itself, such as `co.uk`.
    pub fn registered_domain(&self) -> Option<&str> {
        let host = self.host();
        if self.host_is_ip() {
            return None;
        }
        let length = psl::List.domain(host.as_bytes())?.as_bytes().len();
        host.get(host.len() - length..)
    }

    /// The last label of the host name; `None` for an IP address.
    pub fn top_level_domain(&self) -> Option<&str> {
        let last = self.host().rsplit('.').next();
        last.filter(|label| !self.host_is_ip() && label.bytes().any(|byte| byte.is_ascii_alphabetic()))
    }

    /// Reports whether the host is an IP address. Only an IPv4 address ends in a label of digits.
    pub(crate) fn host_is_ip(&self) -> bool {
        let host = self.host();
        let last = host.rsplit('.').next().unwrap_or(host);
        host.starts_with('[') || last.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The URL up to and including the last slash of the path: the base of relative paths.
    pub(crate) fn directory(&self) -> &str {
        let text = self.site_and_path();
        // File names are short: a loop from the end is faster than the set-up of memrchr.
        let slash = text.bytes().rposition(|byte| byte == b'/');
        &text[..slash.map_or(0, |slash| slash + 1)]
    }

    /// The explicit port with its colon (`:8080`), or an empty string.
    pub(crate) fn explicit_port(&self) -> &str {
        &self.text[self.host_end as usize..self.site_end as usize]
    }

    /// The URL without its query.
    pub(crate) fn site_and_path(&self) -> &str {
        &self.text[..self.path_end as usize]
    }

    fn host_start(&self) -> usize {
        self.scheme.as_str().len() + "://".len()
    }
}

/// Construction by the rules: the site, then the text of path and query, then `finish`.
impl CanonicalUrl {
    /// Creates an empty buffer for a URL; not yet a valid one.
    pub(crate) fn empty() -> CanonicalUrl {
        CanonicalUrl {
            text: String::new(),
            scheme: Scheme::Http,
            port: 0,
            host_end: 0,
            site_end: 0,
            path_end: 0,
        }
    }

    /// Copies `other` and reuses the allocation.
    pub(crate) fn copy_from(&mut self, other: &CanonicalUrl) {
        self.text.clear();
        self.text.push_str(&other.text);
        self.copy_site_offsets(other);
        self.path_end = other.path_end;
    }

    /// Replaces the URL by `prefix`, a prefix of `other` that contains at least its site.
    pub(crate) fn start_with(&mut self, other: &CanonicalUrl, prefix: &str) {
        self.copy_site_offsets(other);
        self.text.clear();
        self.text.push_str(prefix);
    }

    /// Starts again with a site; `port` only if it is not the default of the scheme.
    pub(crate) fn start_site(&mut self, scheme: Scheme, host: &str, port: Option<u16>) {
        self.text.clear();
        self.text.push_str(scheme.as_str());
        self.text.push_str("://");
        self.text.push_str(host);
        self.scheme = scheme;
        self.host_end = self.text.len() as u16;
        self.port = port.unwrap_or(scheme.default_port());
        if let Some(port) = port {
            self.text.push(':');
            self.text.push_str(&port.to_string());
        }
        self.site_end = self.text.len() as u16;
    }

    /// The buffer of the text.
    pub(crate) fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }

    /// Completes the URL, whose path ends at `path_end`. The caller has checked that the length fits into a `u16`.
    pub(crate) fn finish(&mut self, path_end: usize) {
        debug_assert!(self.text.len() <= usize::from(u16::MAX));
        self.path_end = path_end as u16;
    }

    fn copy_site_offsets(&mut self, other: &CanonicalUrl) {
        self.scheme = other.scheme;
        self.port = other.port;
        self.host_end = other.host_end;
        self.site_end = other.site_end;
    }
}

impl fmt::Display for CanonicalUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl AsRef<str> for CanonicalUrl {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Allows lookups by text in maps with URLs as keys.
impl Borrow<str> for CanonicalUrl {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl From<CanonicalUrl> for String {
    fn from(url: CanonicalUrl) -> String {
        url.text
    }
}

impl PartialEq for CanonicalUrl {
    fn eq(&self, other: &CanonicalUrl) -> bool {
        self.text == other.text
    }
}

impl Eq for CanonicalUrl {}

impl PartialOrd for CanonicalUrl {
    fn partial_cmp(&self, other: &CanonicalUrl) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for CanonicalUrl {
    fn cmp(&self, other: &CanonicalUrl) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl Hash for CanonicalUrl {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UrlRules;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonical(text).unwrap()
    }

    #[test]
    fn parts_are_slices_of_the_text() {
        let page = url("https://www.example.com:8443/a/b.html?q=1&r=2");
        assert_eq!(page.as_str(), "https://www.example.com:8443/a/b.html?q=1&r=2");
        assert_eq!(page.scheme(), Scheme::Https);
        assert_eq!(page.host(), "www.example.com");
        assert_eq!(page.port(), 8443);
        assert_eq!(page.site(), "https://www.example.com:8443");
        assert_eq!(page.path(), "/a/b.html");
        assert_eq!(page.query(), Some("q=1&r=2"));
        assert_eq!(page.path_and_query(), "/a/b.html?q=1&r=2");
        assert_eq!(page.directory(), "https://www.example.com:8443/a/");
    }

    #[test]
    fn a_front_page_has_the_path_slash_and_no_query() {
        let home = url("http://[::1]");
        assert_eq!(home.host(), "[::1]");
        assert_eq!(home.port(), 80);
        assert_eq!(home.site(), "http://[::1]");
        assert_eq!(home.path(), "/");
        assert_eq!(home.query(), None);
        assert_eq!(home.path_and_query(), "/");
        assert_eq!(home.directory(), "http://[::1]/");
    }

    #[test]
    fn the_registered_domain_is_one_label_more_than_the_public_suffix() {
        assert_eq!(url("http://www.example.co.uk/").registered_domain(), Some("example.co.uk"));
        assert_eq!(url("http://a.b.example.com./").registered_domain(), Some("example.com"));
        assert_eq!(url("http://www.食狮.公司.cn/").registered_domain(), Some("xn--85x722f.xn--55qx5d.cn"));
        assert_eq!(url("http://co.uk/").registered_domain(), None);
        assert_eq!(url("http://localhost/").registered_domain(), None);
        assert_eq!(url("http://192.168.0.1/").registered_domain(), None);
        assert_eq!(url("http://[2001:db8::1]/").registered_domain(), None);
    }

    #[test]
    fn a_set_of_urls_can_be_queried_by_text() {
        let known = std::collections::HashSet::from([url("http://example.com")]);
        assert!(known.contains("http://example.com/"));
    }
}
