//! Scope of a crawl: decides by the URL alone whether it belongs to the crawl.
//!
//! The check runs for every link of every page, so it never allocates. Depth and number of pages are checked by
//! [`Limits`](crate::Limits), robots.txt by the parser.

pub(crate) mod host_table;
pub(crate) mod limits;
pub(crate) mod linking_domains;
pub(crate) mod path_patterns;
pub(crate) mod rules;
pub(crate) mod trap;
pub(crate) mod url_score;

use model::{CanonicalUrl, ExtensionLists, PortFilter, Reason, Scheme, UrlClass};

use crate::scope::rules::ScopeRules;
use crate::scope::trap::TrapLimits;

/// Rules that decide which URLs belong to a crawl.
#[derive(Debug, Clone)]
pub struct Scope {
    /// URLs in scope; an empty set, the default, accepts all.
    pub accept: ScopeRules,
    /// URLs to reject; none by default.
    pub reject: ScopeRules,
    /// Rules of single sites; the first match applies.
    pub sites: SiteScopes,
    /// Number of links that may be followed from a page in scope to pages that are not accepted; 0 by default.
    pub hops_outside: u8,
    /// URL schemes to fetch; by default http and https.
    pub schemes: Vec<Scheme>,
    /// Ports that may be contacted; by default all except those of other protocols.
    pub ports: PortFilter,
    /// File extensions by class: fetched, or only counted.
    pub extensions: ExtensionLists,
    /// Whether links from other sites are followed only to the front page of a site; off by default.
    pub enter_by_front_page: bool,
    /// Limits that detect crawler traps.
    pub traps: TrapLimits,
}

/// Rules for the pages of some sites, in addition to those for all.
#[derive(Debug, Clone, Default)]
pub struct SiteScope {
    /// URLs in scope; an empty set accepts all.
    pub accept: ScopeRules,
    /// URLs to reject.
    pub reject: ScopeRules,
}

/// Rules of single sites, found by host.
#[derive(Debug, Clone, Default)]
pub struct SiteScopes {
    /// Rules that select the sites, in the order of `scopes`.
    selectors: ScopeRules,
    scopes: Vec<SiteScope>,
}

impl SiteScopes {
    /// Creates the rules of some sites: for each entry a rule that selects the sites (a host, host suffix or SURT prefix).
    pub fn new(entries: Vec<(String, SiteScope)>) -> Result<SiteScopes, crate::Error> {
        let (selectors, scopes): (Vec<String>, Vec<SiteScope>) = entries.into_iter().unzip();
        Ok(SiteScopes { selectors: ScopeRules::new(selectors)?, scopes })
    }

    fn find(&self, url: &CanonicalUrl) -> Option<(usize, &SiteScope)> {
        if self.scopes.is_empty() {
            return None;
        }
        let index = self.selectors.first_host_rule(url)?;
        self.scopes.get(index).map(|scope| (index, scope))
    }
}

/// Decision about a URL, and the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeDecision {
    /// Class of a page in scope, or the reason why the URL is rejected.
    pub result: Result<UrlClass, Reason>,
    /// Setting that decides, such as `scope.accept`.
    pub setting: &'static str,
    /// Rule of this setting that matches, as written; `None` if no rule matches, or the setting has no rules.
    pub rule: Option<String>,
}

impl Scope {
    /// Class of a page in scope, or the reason why the URL is rejected.
    pub fn check(&self, url: &CanonicalUrl) -> Result<UrlClass, Reason> {
        if !self.schemes.contains(&url.scheme()) {
            return Err(Reason::SchemeNotAllowed);
        }
        let site = self.sites.find(url).map(|(_, site)| site);
        let is_accepted = self.accept.accepts(url) && site.is_none_or(|site| site.accept.accepts(url));
        if !is_accepted {
            return Err(Reason::OutOfScope);
        }
        self.check_beyond_accept(url, site)
    }

    /// Checks a page that was reached over `hops` links to URLs that are not accepted.
    pub fn check_page(&self, url: &CanonicalUrl, hops: u8) -> Result<UrlClass, Reason> {
        match self.check(url) {
            Err(Reason::OutOfScope) if (1..=self.hops_outside).contains(&hops) => {
                self.check_beyond_accept(url, self.sites.find(url).map(|(_, site)| site))
            }
            result => result,
        }
    }

    fn check_beyond_accept(&self, url: &CanonicalUrl, site: Option<&SiteScope>) -> Result<UrlClass, Reason> {
        if !self.ports.permits(url) {
            return Err(Reason::PortBlocked);
        }
        let class = url.class(&self.extensions);
        if matches!(class, UrlClass::Logged(_)) {
            return Err(Reason::FileExtension);
        }
        if self.reject.matches(url) || site.is_some_and(|site| site.reject.matches(url)) {
            return Err(Reason::RejectedByPattern);
        }
        if self.traps.matches(url) {
            return Err(Reason::CrawlerTrap);
        }
        Ok(class)
    }

    /// Checks the target of a link, which may come from another site. With `hops_outside`, URLs that are not accepted
    /// pass; the caller counts the hops.
    pub fn check_link(&self, url: &CanonicalUrl, from_other_site: bool) -> Result<UrlClass, Reason> {
        let class = self.check_page(url, 1)?;
        let is_deep = url.path_and_query() != "/";
        if self.enter_by_front_page && from_other_site && is_deep { Err(Reason::DeepLink) } else { Ok(class) }
    }

    /// Decision about a URL, with the setting and the rule that made it.
    pub fn explain(&self, url: &CanonicalUrl) -> ScopeDecision {
        let result = self.check(url);
        let site = self.sites.find(url).map(|(_, site)| site);
        let rule = |rules: &ScopeRules| rules.find(url).map(str::to_owned);
        let (setting, rule) = match result {
            Err(Reason::RejectedByPattern) => match rule(&self.reject) {
                Some(rule) => ("scope.reject", Some(rule)),
                None => ("site.reject", site.and_then(|site| rule(&site.reject))),
            },
            Err(Reason::OutOfScope) if self.accept.accepts(url) => ("site.accept", None),
            Err(Reason::OutOfScope) => ("scope.accept", None),
            Err(reason) => (reason.settings().first().copied().unwrap_or_default(), None),
            Ok(_) => match site.filter(|site| !site.accept.is_empty()) {
                Some(site) => ("site.accept", rule(&site.accept)),
                None => ("scope.accept", rule(&self.accept)),
            },
        };
        ScopeDecision { result, setting, rule }
    }
}

impl Default for Scope {
    fn default() -> Scope {
        Scope {
            accept: ScopeRules::default(),
            reject: ScopeRules::default(),
            sites: SiteScopes::default(),
            hops_outside: 0,
            schemes: vec![Scheme::Http, Scheme::Https],
            ports: PortFilter::default(),
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
            accept: ScopeRules::new([".example.org", "one.example.net"]).unwrap(),
            reject: ScopeRules::new(["*login", "/private/"]).unwrap(),
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
        let page = Ok(UrlClass::Static);
        assert_eq!(scope.check_link(&url(front), true), page);
        assert_eq!(scope.check_link(&url(deep), true), Err(Reason::DeepLink));
        assert_eq!(scope.check_link(&url(query), true), Err(Reason::DeepLink));
        assert_eq!(scope.check_link(&url(deep), false), page);
        assert_eq!(self::scope().check_link(&url(deep), true), page);
        assert_eq!(scope.check_link(&url("http://elsewhere.example/a"), true), Err(Reason::OutOfScope));
    }

    #[test]
    fn hops_outside_admit_links_that_are_not_accepted() {
        let scope = Scope { hops_outside: 2, ..scope() };
        let outside = url("http://elsewhere.example/a");
        assert_eq!(scope.check_link(&outside, true), Ok(UrlClass::Static));
        assert_eq!(
            scope.check_link(&url("http://elsewhere.example/a.jpg"), true),
            Err(Reason::FileExtension)
        );
        let checked = [0, 1, 2, 3].map(|hops| scope.check_page(&outside, hops).is_ok());
        assert_eq!(checked, [false, true, true, false]);
        assert!(scope.check_page(&url("http://example.org/"), 9).is_ok(), "in scope after all");
    }

    fn with_sites() -> Scope {
        let docs = SiteScope {
            accept: ScopeRules::new(["/docs/"]).unwrap(),
            reject: ScopeRules::new(["*print"]).unwrap(),
        };
        let sites = SiteScopes::new(vec![("www.example.org".to_owned(), docs)]).unwrap();
        Scope { sites, ..scope() }
    }

    #[test]
    fn rules_of_a_site_apply_in_addition() {
        let check = |text| with_sites().check(&url(text)).err();
        assert_eq!(check("http://www.example.org/docs/a"), None);
        assert_eq!(check("http://www.example.org/news/a"), Some(Reason::OutOfScope));
        assert_eq!(check("http://www.example.org/docs/print"), Some(Reason::RejectedByPattern));
        assert_eq!(check("http://www.example.org/docs/login"), Some(Reason::RejectedByPattern));
        assert_eq!(check("http://a.example.org/news/a"), None);
    }

    #[test]
    fn a_decision_names_the_setting_and_the_rule() {
        let explain = |text| {
            let ScopeDecision { result, setting, rule } = with_sites().explain(&url(text));
            (result.err(), setting, rule.unwrap_or_default())
        };
        let row = |reason, setting, rule: &str| (reason, setting, rule.to_owned());
        assert_eq!(explain("http://a.example.org/"), row(None, "scope.accept", ".example.org"));
        assert_eq!(explain("http://b.example/"), row(Some(Reason::OutOfScope), "scope.accept", ""));
        assert_eq!(explain("http://www.example.org/x"), row(Some(Reason::OutOfScope), "site.accept", ""));
        assert_eq!(explain("http://www.example.org/docs/"), row(None, "site.accept", "/docs/"));
        let rejected = Some(Reason::RejectedByPattern);
        assert_eq!(explain("http://a.example.org/login"), row(rejected, "scope.reject", "*login"));
        assert_eq!(explain("http://www.example.org/docs/print"), row(rejected, "site.reject", "*print"));
        assert_eq!(explain("http://example.org/a.jpg"), row(Some(Reason::FileExtension), "extensions", ""));
    }
}
