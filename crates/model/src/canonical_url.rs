//! What is the one name of a page, and which parts has it?
//!
//! Values are made by [`UrlRules`](crate::UrlRules) alone; whatever has this type is in canonical form.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use psl::Psl;

/// A URL in canonical form: `scheme://host[:port]/path[?query]`, ASCII only, no user, no fragment.
///
/// The text is stored once, with the offsets of its parts, so that every part is a free look.
/// Equality, order and hash are those of the text.
#[derive(Debug, Clone)]
pub struct CanonicalUrl {
    text: String,
    scheme: Scheme,
    port: u16,
    host_end: u16,
    site_end: u16,
    path_end: u16,
}

/// The protocols that Weir fetches by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// HTTP without encryption.
    Http,
    /// HTTP over TLS.
    Https,
    /// The file transfer protocol.
    Ftp,
    /// Gopher, RFC 1436.
    Gopher,
}

impl Scheme {
    /// Its name in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ftp => "ftp",
            Scheme::Gopher => "gopher",
        }
    }

    /// The port that a URL means when it names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
            Scheme::Ftp => 21,
            Scheme::Gopher => 70,
        }
    }

    /// The scheme of this name, in any case.
    pub(crate) fn of_name(name: &str) -> Option<Scheme> {
        let all = [Scheme::Http, Scheme::Https, Scheme::Ftp, Scheme::Gopher];
        all.into_iter().find(|scheme| scheme.as_str().eq_ignore_ascii_case(name))
    }
}

impl CanonicalUrl {
    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The protocol to fetch it by.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// A name in DNS as A-labels, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.text[self.host_start()..self.host_end as usize]
    }

    /// The port to connect to, whether the text names it or not.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Scheme, host and port, as the text begins: `https://example.com`, `http://example.com:8080`.
    ///
    /// The unit of robots.txt and of politeness.
    pub fn site(&self) -> &str {
        &self.text[..self.site_end as usize]
    }

    /// The path; it begins with a slash.
    pub fn path(&self) -> &str {
        &self.text[self.site_end as usize..self.path_end as usize]
    }

    /// The query without its question mark; never an empty one.
    pub fn query(&self) -> Option<&str> {
        self.text.get(self.path_end as usize + 1..)
    }

    /// What a request line asks for.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.site_end as usize..]
    }

    /// The domain that somebody registered, by the Public Suffix List: `example.co.uk` of `www.example.co.uk`.
    ///
    /// None for an IP address, and for a bare suffix such as `co.uk`.
    pub fn registered_domain(&self) -> Option<&str> {
        let host = self.host();
        if self.host_is_address() {
            return None;
        }
        let length = psl::List.domain(host.as_bytes())?.as_bytes().len();
        host.get(host.len() - length..)
    }

    /// The last label of the host name; an address has none.
    pub fn top_level_domain(&self) -> Option<&str> {
        let last = self.host().rsplit('.').next();
        last.filter(|label| !self.host_is_address() && label.bytes().any(|byte| byte.is_ascii_alphabetic()))
    }

    /// Whether the host is an IP address and no name. Only an IPv4 address ends in a digit-only label.
    pub(crate) fn host_is_address(&self) -> bool {
        let host = self.host();
        let last = host.rsplit('.').next().unwrap_or(host);
        host.starts_with('[') || last.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Up to and with the last slash of the path: what a relative path is put behind.
    pub(crate) fn directory(&self) -> &str {
        let text = self.site_and_path();
        // The names of files are short: a plain loop from the end beats a search that has to be set up.
        let slash = text.bytes().rposition(|byte| byte == b'/');
        &text[..slash.map_or(0, |slash| slash + 1)]
    }

    /// The port where the text names it, with its colon: `:8080` or nothing.
    pub(crate) fn explicit_port(&self) -> &str {
        &self.text[self.host_end as usize..self.site_end as usize]
    }

    /// All but the query.
    pub(crate) fn site_and_path(&self) -> &str {
        &self.text[..self.path_end as usize]
    }

    fn host_start(&self) -> usize {
        self.scheme.as_str().len() + "://".len()
    }
}

/// How the rules put a URL together: the site, then the text of path and query, then `finish`.
impl CanonicalUrl {
    /// No URL yet: a buffer for one.
    pub(crate) fn blank() -> CanonicalUrl {
        CanonicalUrl {
            text: String::new(),
            scheme: Scheme::Http,
            port: 0,
            host_end: 0,
            site_end: 0,
            path_end: 0,
        }
    }

    /// Becomes equal to `other`, in the memory it has.
    pub(crate) fn copy_from(&mut self, other: &CanonicalUrl) {
        self.text.clear();
        self.text.push_str(&other.text);
        self.copy_site_offsets(other);
        self.path_end = other.path_end;
    }

    /// Begins anew with `prefix`, a part of the text of `other` that holds at least its site.
    pub(crate) fn start_with(&mut self, other: &CanonicalUrl, prefix: &str) {
        self.copy_site_offsets(other);
        self.text.clear();
        self.text.push_str(prefix);
    }

    /// Begins anew with a site; `port` only where it is not the scheme's own.
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

    /// The text under construction.
    pub(crate) fn text_mut(&mut self) -> &mut String {
        &mut self.text
    }

    /// The text is complete and its path ends here (the caller has seen that it is not longer than a u16 counts).
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

/// So that a map keyed by URLs is asked with plain text.
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
    fn a_home_page_has_the_least_of_each_part() {
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
    fn the_registered_domain_is_the_one_below_the_public_suffix() {
        assert_eq!(url("http://www.example.co.uk/").registered_domain(), Some("example.co.uk"));
        assert_eq!(url("http://a.b.example.com./").registered_domain(), Some("example.com"));
        assert_eq!(url("http://www.食狮.公司.cn/").registered_domain(), Some("xn--85x722f.xn--55qx5d.cn"));
        assert_eq!(url("http://co.uk/").registered_domain(), None);
        assert_eq!(url("http://localhost/").registered_domain(), None);
        assert_eq!(url("http://192.168.0.1/").registered_domain(), None);
        assert_eq!(url("http://[2001:db8::1]/").registered_domain(), None);
    }

    #[test]
    fn a_map_of_urls_is_asked_with_text() {
        let known = std::collections::HashSet::from([url("http://example.com")]);
        assert!(known.contains("http://example.com/"));
    }
}
