//! Reasons why a page was rejected, why its fetch failed, or why its content is incomplete.
//!
//! Each reason has a code, a name and a text. The code is one byte in a page's record and is never reused for another
//! reason, so that old collections stay readable.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reason of a rejected page, of a failed fetch or of an incomplete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// Not accepted by `scope.accept`, or by `accept` of the `[[site]]` entry.
    OutOfScope = 1,
    /// The URL matches `scope.reject`, or `reject` of the `[[site]]` entry.
    RejectedByPattern = 2,
    /// The file extension is in a class that is counted and not fetched.
    FileExtension = 3,
    /// The link depth exceeds `limits.max_depth_static` or `limits.max_depth_dynamic`.
    TooDeep = 4,
    /// The site has reached `limits.max_pages_per_site`.
    SitePageLimit = 5,
    /// The registered domain has used the page budget that it gets for links from other domains.
    DomainBudget = 6,
    /// The collection has reached `limits.max_pages` or `limits.max_sites`.
    CollectionLimit = 7,
    /// The URL matches a crawler-trap rule.
    CrawlerTrap = 8,
    /// The site is an alias of another site.
    SiteAlias = 9,
    /// The site is skipped by a `[[site]]` entry.
    SiteSkipped = 10,
    /// `nofollow` in the link's `rel`, in meta robots or in `X-Robots-Tag`.
    Nofollow = 11,
    /// A link from another site to an inner page, ignored because of `scope.enter_by_front_page`.
    DeepLink = 12,
    /// The scheme is not in `scope.schemes`.
    SchemeNotAllowed = 13,
    /// The port belongs to another protocol and is not in `network.allowed_ports`.
    PortBlocked = 14,
    /// The link is in an element that is not in `parse.link_elements`.
    LinkElement = 15,
    /// Disallowed by robots.txt.
    RobotsDisallowed = 20,
    /// robots.txt is unreachable, which disallows all paths until it is fetched.
    RobotsUnreachable = 21,
    /// More than `limits.max_redirects` consecutive redirects.
    TooManyRedirects = 22,
    /// A redirect (3xx) without a valid `Location`.
    RedirectWithoutLocation = 23,
    /// The MIME type is not in `fetch.mime_types`.
    MimeType = 24,
    /// `politeness.max_site_failures` consecutive failures of the site.
    SiteFailing = 25,
    /// The host name does not exist: NXDOMAIN, or no address record.
    DnsNotFound = 40,
    /// The DNS lookup failed: SERVFAIL, timeout or no name server.
    DnsFailed = 41,
    /// The IP address is private, or in `network.blocked_networks`.
    IpBlocked = 42,
    /// The TCP connection failed: refused or unreachable.
    ConnectFailed = 43,
    /// No connection within `fetch.connect_timeout`.
    ConnectTimeout = 44,
    /// The TLS certificate is invalid: expired, for another host or of an unknown issuer.
    InvalidCertificate = 45,
    /// The TLS handshake failed: no common cipher suite or protocol version.
    TlsHandshakeFailed = 46,
    /// No response within `fetch.first_byte_timeout`.
    FirstByteTimeout = 47,
    /// The response was incomplete after `fetch.total_timeout`.
    TotalTimeout = 48,
    /// The transfer rate was below `fetch.min_speed`.
    TooSlow = 49,
    /// The connection was closed before the end of the response.
    ConnectionClosed = 50,
    /// The response headers exceed `fetch.max_header_size`.
    HeadersTooLarge = 51,
    /// The response violates the protocol.
    InvalidResponse = 52,
    /// The transfer coding of the body is invalid: chunks, `Content-Length`.
    InvalidBody = 53,
    /// The proxy refused the request or could not connect.
    ProxyFailed = 54,
    /// Client error: HTTP 4xx.
    ClientError = 55,
    /// Server error: HTTP 5xx.
    ServerError = 56,
    /// The server asked to retry later: HTTP 429, 503 or 5xx with `Retry-After`.
    RetryLater = 57,
    /// HTTP 304 as the response to a request without a condition.
    UnexpectedNotModified = 58,
    /// The content encoding of the body is truncated or invalid.
    InvalidContentEncoding = 59,
    /// The body was cut at `fetch.max_body_size`, at the limit of decoded bytes, or for lack of memory.
    BodyTruncated = 60,
}

/// Reason, its name, its text, and the settings that it depends on.
type ReasonRow = (Reason, &'static str, &'static str, &'static [&'static str]);

/// All reasons in the order of their codes. A setting is `section.name`, or a whole section.
#[rustfmt::skip]
const ALL: [ReasonRow; 42] = [
    (Reason::OutOfScope, "out-of-scope", "not accepted by scope.accept or by `accept` of a [[site]] entry", &["scope.accept", "scope.hops_outside", "site.accept"]),
    (Reason::RejectedByPattern, "rejected-by-pattern", "URL matches scope.reject or `reject` of a [[site]] entry", &["scope.reject", "site.reject"]),
    (Reason::FileExtension, "file-extension", "file extension is not fetched ([extensions])", &["extensions"]),
    (Reason::TooDeep, "too-deep", "exceeds limits.max_depth_static or max_depth_dynamic", &["limits.max_depth_static", "limits.max_depth_dynamic", "site.max_depth"]),
    (Reason::SitePageLimit, "site-page-limit", "site has reached limits.max_pages_per_site", &["limits.max_pages_per_site"]),
    (Reason::DomainBudget, "domain-budget", "registered domain has used its page budget (limits.domain_budget_*)", &["limits.domain_budget_base", "limits.domain_budget_per_linking_domain", "limits.domain_budget_max"]),
    (Reason::CollectionLimit, "collection-limit", "collection has reached limits.max_pages or limits.max_sites", &["limits.max_pages", "limits.max_sites"]),
    (Reason::CrawlerTrap, "crawler-trap", "URL matches a crawler-trap rule ([traps])", &["traps"]),
    (Reason::SiteAlias, "site-alias", "site is an alias of another site", &[]),
    (Reason::SiteSkipped, "site-skipped", "site is skipped by a [[site]] entry (skip = true)", &["site.skip"]),
    (Reason::Nofollow, "nofollow", "nofollow in rel, meta robots or X-Robots-Tag", &[]),
    (Reason::DeepLink, "deep-link", "link from another site to an inner page (scope.enter_by_front_page)", &["scope.enter_by_front_page"]),
    (Reason::SchemeNotAllowed, "scheme-not-allowed", "scheme is not in scope.schemes", &["scope.schemes"]),
    (Reason::PortBlocked, "port-blocked", "port of another protocol, such as mail; not in network.allowed_ports", &["network.allowed_ports"]),
    (Reason::LinkElement, "link-element", "link in an element that is not in parse.link_elements", &["parse.link_elements"]),
    (Reason::RobotsDisallowed, "robots-disallowed", "disallowed by robots.txt", &["crawl.agent", "site.robots_agent", "site.robots"]),
    (Reason::RobotsUnreachable, "robots-unreachable", "robots.txt unreachable (5xx or no response); all paths disallowed until it is fetched", &["site.robots"]),
    (Reason::TooManyRedirects, "too-many-redirects", "more than limits.max_redirects consecutive redirects", &["limits.max_redirects"]),
    (Reason::RedirectWithoutLocation, "redirect-without-location", "redirect (3xx) without a valid Location", &[]),
    (Reason::MimeType, "mime-type", "MIME type is not in fetch.mime_types", &["fetch.mime_types"]),
    (Reason::SiteFailing, "site-failing", "politeness.max_site_failures consecutive failures of the site", &[]),
    (Reason::DnsNotFound, "dns-not-found", "host name not found (NXDOMAIN or no address record)", &["dns.servers", "dns.hosts"]),
    (Reason::DnsFailed, "dns-failed", "DNS lookup failed (SERVFAIL, timeout or no name server)", &["dns.servers", "dns.hosts"]),
    (Reason::IpBlocked, "ip-blocked", "IP address is private or in network.blocked_networks", &["network.allowed_networks", "network.blocked_networks", "dns.hosts"]),
    (Reason::ConnectFailed, "connect-failed", "TCP connection failed (refused or unreachable)", &[]),
    (Reason::ConnectTimeout, "connect-timeout", "no connection within fetch.connect_timeout", &["fetch.connect_timeout"]),
    (Reason::InvalidCertificate, "invalid-certificate", "TLS certificate invalid (expired, wrong host or unknown issuer)", &["fetch.accept_invalid_certificates", "fetch.ca_file"]),
    (Reason::TlsHandshakeFailed, "tls-handshake-failed", "TLS handshake failed: no common cipher suite or protocol version", &[]),
    (Reason::FirstByteTimeout, "first-byte-timeout", "no response within fetch.first_byte_timeout", &["fetch.first_byte_timeout"]),
    (Reason::TotalTimeout, "total-timeout", "response incomplete after fetch.total_timeout", &["fetch.total_timeout"]),
    (Reason::TooSlow, "too-slow", "transfer rate below fetch.min_speed", &["fetch.min_speed", "fetch.min_speed_grace"]),
    (Reason::ConnectionClosed, "connection-closed", "connection closed before the end of the response", &[]),
    (Reason::HeadersTooLarge, "headers-too-large", "response headers exceed fetch.max_header_size", &["fetch.max_header_size"]),
    (Reason::InvalidResponse, "invalid-response", "response violates the protocol", &[]),
    (Reason::InvalidBody, "invalid-body", "invalid transfer coding of the body (chunked, Content-Length)", &[]),
    (Reason::ProxyFailed, "proxy-failed", "proxy refused the request or could not connect", &["fetch.proxy"]),
    (Reason::ClientError, "client-error", "client error (HTTP 4xx)", &[]),
    (Reason::ServerError, "server-error", "server error (HTTP 5xx)", &[]),
    (Reason::RetryLater, "retry-later", "server asked to retry later (HTTP 429, 503 or 5xx with Retry-After)", &[]),
    (Reason::UnexpectedNotModified, "unexpected-not-modified", "HTTP 304 without a conditional request", &[]),
    (Reason::InvalidContentEncoding, "invalid-content-encoding", "content encoding of the body truncated or invalid (gzip, deflate, br, zstd)", &[]),
    (Reason::BodyTruncated, "body-truncated", "body cut at fetch.max_body_size or fetch.max_body_memory", &["fetch.max_body_size"]),
];

/// Reasons by code; a table, because page scans decode one for each row.
static BY_CODE: [Option<Reason>; 256] = {
    let mut table = [None; 256];
    let mut index = 0;
    while index < ALL.len() {
        let reason = ALL[index].0;
        table[reason as usize] = Some(reason);
        index += 1;
    }
    table
};

impl Serialize for Reason {
    /// Serializes the code.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.code())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
        let code = u8::deserialize(deserializer)?;
        Reason::from_code(code).ok_or_else(|| serde::de::Error::custom(format!("unknown reason code {code}")))
    }
}

impl Reason {
    /// Returns all reasons in the order of their codes.
    pub fn all() -> impl Iterator<Item = Reason> {
        ALL.iter().map(|(reason, ..)| *reason)
    }

    /// Byte in a page's record; never 0, which means "no reason".
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Reason of a byte in a page's record.
    pub fn from_code(code: u8) -> Option<Reason> {
        BY_CODE[usize::from(code)]
    }

    /// Name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// Settings that this reason depends on, as `section.name` or as a whole section; none if only the server decides.
    ///
    /// A page with this reason is judged again when one of them changes.
    pub fn settings(self) -> &'static [&'static str] {
        self.row().3
    }

    /// Whether the settings alone decide, by URL, depth and counts, so that the page is excluded without a request.
    pub fn excludes(self) -> bool {
        self.code() < Reason::RobotsDisallowed.code() && self != Reason::Nofollow
    }

    fn row(self) -> &'static ReasonRow {
        // Every variant is in the table: `a_name_is_the_variant_in_kebab_case` and `codes_and_names_are_unique` check it.
        ALL.iter().find(|(reason, ..)| *reason == self).unwrap_or(&ALL[0])
    }
}

/// The text, shown after the stage of the page: `rejected: disallowed by robots.txt`.
impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_and_names_are_unique() {
        let codes: BTreeSet<u8> = Reason::all().map(Reason::code).collect();
        let names: BTreeSet<&str> = Reason::all().map(Reason::as_str).collect();
        assert_eq!((codes.len(), names.len()), (ALL.len(), ALL.len()));
        assert!(!codes.contains(&0));
        for reason in Reason::all() {
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
        }
        let known = (0..=255).filter_map(Reason::from_code).count();
        assert_eq!(known, ALL.len());
    }

    #[test]
    fn every_reason_is_documented() {
        let document = include_str!("../../../docs/crawling.md");
        for (reason, name, text, settings) in ALL {
            let row = format!("| `{name}` | {text} | {} |", settings.join(", "));
            assert!(document.contains(&row), "{reason:?} is not in docs/crawling.md: {row}");
        }
    }

    #[test]
    fn a_name_is_the_variant_in_kebab_case() {
        for reason in Reason::all() {
            let letters: String = reason.as_str().split('-').collect();
            assert_eq!(format!("{reason:?}").to_lowercase(), letters);
        }
    }
}
