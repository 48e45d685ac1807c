//! Scope of a crawl: decides by the URL alone whether it belongs to the crawl.
//!
//! The check runs for every link of every page, so it never allocates. Depth and number of pages are checked by
//! [`Limits`](crate::Limits), robots.txt by the parser.

pub(crate) mod hosts;
pub(crate) mod limits;
pub(crate) mod linking_domains;
pub(crate) mod reject;
pub(crate) mod trap;
pub(crate) mod url_score;

use model::{CanonicalUrl, ExtensionLists, PortFilter, Reason, Scheme, UrlClass};

use crate::scope::hosts::HostList;
use crate::scope::reject::RejectPatterns;
use crate::scope::trap::TrapLimits;

/// Rules that decide which URLs belong to a crawl.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Hosts in scope; an empty list, the default, accepts all.
    pub accept: HostList,
    /// URL schemes to fetch; by default http and https.
    pub schemes: Vec<Scheme>,
    /// Ports that may be contacted; by default all except those of other protocols.
    pub ports: PortFilter,
    /// Patterns of URLs to reject; none by default.
    pub reject: RejectPatterns,
    /// File extensions by class: fetched, or only counted.
    pub extensions: ExtensionLists,
    /// Whether links from other sites are followed only to the front page of a site; off by default.
    pub enter_by_front_page: bool,
    /// Limits that detect crawler traps.
    pub traps: TrapLimits,
}

impl Scope {
    /// Class of a page in scope, or the reason why the URL is rejected.
    pub fn check(&self, url: &CanonicalUrl) -> Result<UrlClass, Reason> {
        if !self.schemes.contains(&url.scheme()) {
            return Err(Reason::SchemeNotAllowed);
        }
        if !self.accept.is_empty() && !self.accept.contains(url.host()) {
            return Err(Reason::OutOfScope);
        }
        if !self.ports.permits(url) {
            return Err(Reason::PortBlocked);
        }
        let class = url.class(&self.extensions);
        if matches!(class, UrlClass::Logged(_)) {
            return Err(Reason::FileExtension);
        }
        if self.reject.matches(url.path_and_query()) {
            return Err(Reason::RejectedByPattern);
        }
        if self.traps.matches(url) {
            return Err(Reason::CrawlerTrap);
        }
        Ok(class)
    }

    /// Checks the target of a link, which may come from another site.
    pub fn check_link(&self, url: &CanonicalUrl, from_other_site: bool) -> Result<UrlClass, Reason> {
        let class = self.check(url)?;
        let is_deep = url.path_and_query() != "/";
        if self.enter_by_front_page && from_other_site && is_deep { Err(Reason::DeepLink) } else { Ok(class) }
    }
}

impl Default for Scope {
    fn default() -> Scope {
        Scope {
            accept: HostList::default(),
            schemes: vec![Scheme::Http, Scheme::Https],
            ports: PortFilter::default(),
            reject: RejectPatterns::default(),
            extensions: ExtensionLists::default(),
            enter_by_front_page: false,
            traps: TrapLimits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::UrlRules;

    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        UrlRules::default().canonical(text).unwrap()
    }

    fn scope() -> Scope {
        Scope {
            accept: HostList::new([".example.org", "one.example.net"]).unwrap(),
            reject: RejectPatterns::new(["login", "/private/"]).unwrap(),
            ..Scope::default()
        }
    }

    #[test]
    fn each_rejected_url_has_its_reason() {
        let cases = [
            ("http://example.org/", Ok(UrlClass::Static)),
            ("https://a.b.example.org/c?d=1", Ok(UrlClass::Dynamic)),
            ("http://one.example.net:8080/a.php", Ok(UrlClass::Dynamic)),
            ("ftp://example.org/", Err(Reason::SchemeNotAllowed)),
            ("http://example.org:25/", Err(Reason::PortBlocked)),
            ("http://badexample.org/", Err(Reason::OutOfScope)),
            ("http://two.example.net/", Err(Reason::OutOfScope)),
            ("http://example.org/a.JPG", Err(Reason::FileExtension)),
            ("http://example.org/login.pdf", Err(Reason::FileExtension)),
            ("http://example.org/user/LogIn", Err(Reason::RejectedByPattern)),
            ("http://example.org/private/a", Err(Reason::RejectedByPattern)),
            ("http://login.example.org/a/private/", Ok(UrlClass::Static)),
            ("http://example.org/a/b/a/b/a/b/", Err(Reason::CrawlerTrap)),
        ];
        for (text, expected) in cases {
            assert_eq!(scope().check(&url(text)), expected, "{text}");
        }
    }

    #[test]
    fn by_default_all_hosts_are_accepted_over_http_and_https() {
        assert_eq!(Scope::default().check(&url("https://anything.example/")), Ok(UrlClass::Static));
        assert_eq!(Scope::default().check(&url("gopher://anything.example/")), Err(Reason::SchemeNotAllowed));
    }

    #[test]
    fn links_from_other_sites_can_be_limited_to_front_pages() {
        let scope = Scope { enter_by_front_page: true, ..scope() };
        let (front, deep, query) = ("http://example.org/", "http://example.org/a", "http://example.org/?a=1");
        assert_eq!(scope.check_link(&url(front), true), Ok(UrlClass::Static));
        assert_eq!(scope.check_link(&url(deep), true), Err(Reason::DeepLink));
        assert_eq!(scope.check_link(&url(query), true), Err(Reason::DeepLink));
        assert_eq!(scope.check_link(&url(deep), false), Ok(UrlClass::Static));
        assert_eq!(self::scope().check_link(&url(deep), true), Ok(UrlClass::Static));
        assert_eq!(scope.check_link(&url("http://elsewhere.example/a"), true), Err(Reason::OutOfScope));
    }
}
