//! Filter of ports: those of other protocols than the Web's are never contacted.
//!
//! A page can link to any port. Without the filter a link could make the crawler send requests to mail servers and printers,
//! which may take lines of a request as commands.

use crate::canonical_url::CanonicalUrl;

/// The "bad ports" of the Fetch Standard (<https://fetch.spec.whatwg.org/#port-blocking>), which browsers do not contact either,
/// in ascending order.
#[rustfmt::skip]
const BLOCKED_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
    111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540,
    548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
    6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Set of ports that may be contacted. The default blocks the ports of other protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortFilter {
    /// Exceptions to the blocked ports.
    allowed: Vec<u16>,
}

impl PortFilter {
    /// Filter with exceptions.
    pub fn new(allowed: Vec<u16>) -> PortFilter {
        PortFilter { allowed }
    }

    /// Whether a URL has a port that may be contacted; the default port of its scheme always may.
    pub fn permits(&self, url: &CanonicalUrl) -> bool {
        url.port() == url.scheme().default_port() || self.permits_port(url.port())
    }

    /// Whether a port that a server named, such as that of an ftp data connection, may be contacted.
    pub fn permits_port(&self, port: u16) -> bool {
        BLOCKED_PORTS.binary_search(&port).is_err() || self.allowed.contains(&port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UrlRules;

    #[test]
    fn ports_of_other_protocols_are_blocked() {
        assert!(BLOCKED_PORTS.is_sorted());
        let permits =
            |filter: &PortFilter, url: &str| filter.permits(&UrlRules::default().canonical(url).unwrap());
        let filter = PortFilter::default();
        for url in [
            "http://a.example:25/",
            "https://a.example:6667/",
            "gopher://a.example:25/",
            "http://a.example:21/",
        ] {
            assert!(!permits(&filter, url), "{url}");
        }
        for url in ["http://a.example/", "https://a.example/", "http://a.example:8080/", "ftp://a.example/"] {
            assert!(permits(&filter, url), "{url}");
        }
        let filter = PortFilter::new(vec![25]);
        assert!(permits(&filter, "http://a.example:25/") && !permits(&filter, "http://a.example:22/"));
    }
}
