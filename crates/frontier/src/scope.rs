//! Does a URL belong to this crawl, judged by the URL alone?
//!
//! Called for every link of every page, so it never allocates and looks at most at the text itself; how deep a page lies
//! and how many there are already is for [`Limits`](crate::Limits), robots.txt for the parser.

use model::{CanonicalUrl, ExtensionLists, Reason, Scheme, UrlClass};

use crate::{HostList, RejectPatterns, TrapRules};

/// What a crawl is about.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The hosts that belong to it. None by default, which accepts all.
    pub accept: HostList,
    /// The protocols it speaks. HTTP with and without encryption by default.
    pub schemes: Vec<Scheme>,
    /// What it leaves out. Nothing by default.
    pub reject: RejectPatterns,
    /// What is fetched, and what only counted, by the ends of names.
    pub extensions: ExtensionLists,
    /// Whether a link from another site may lead to the front page only. It may lead anywhere by default.
    pub front_page_only: bool,
    /// What looks like one of endlessly many pages.
    pub traps: TrapRules,
}

impl Scope {
    /// The class of a page that may be fetched, or why it is left out.
    pub fn judge(&self, url: &CanonicalUrl) -> Result<UrlClass, Reason> {
        if !self.schemes.contains(&url.scheme()) {
            return Err(Reason::Scheme);
        }
        if !self.accept.is_empty() && !self.accept.contains(url.host()) {
            return Err(Reason::OutOfScope);
        }
        let class = url.class(&self.extensions);
        if matches!(class, UrlClass::Logged(_)) {
            return Err(Reason::NotAPage);
        }
        if self.reject.matches(url.path_and_query()) {
            return Err(Reason::RejectedByPattern);
        }
        if self.traps.matches(url) {
            return Err(Reason::Trap);
        }
        Ok(class)
    }

    /// The same for a link, which may come from another site than it leads to.
    pub fn judge_entry(&self, url: &CanonicalUrl, from_other_site: bool) -> Result<UrlClass, Reason> {
        let class = self.judge(url)?;
        let is_deep = url.path_and_query() != "/";
        if self.front_page_only && from_other_site && is_deep { Err(Reason::DeepLink) } else { Ok(class) }
    }
}

impl Default for Scope {
    fn default() -> Scope {
        Scope {
            accept: HostList::default(),
            schemes: vec![Scheme::Http, Scheme::Https],
            reject: RejectPatterns::default(),
            extensions: ExtensionLists::default(),
            front_page_only: false,
            traps: TrapRules::default(),
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
    fn each_page_that_is_left_out_has_its_reason() {
        let cases = [
            ("http://example.org/", Ok(UrlClass::Static)),
            ("https://a.b.example.org/c?d=1", Ok(UrlClass::Dynamic)),
            ("http://one.example.net:8080/a.php", Ok(UrlClass::Dynamic)),
            ("ftp://example.org/", Err(Reason::Scheme)),
            ("http://badexample.org/", Err(Reason::OutOfScope)),
            ("http://two.example.net/", Err(Reason::OutOfScope)),
            ("http://example.org/a.JPG", Err(Reason::NotAPage)),
            ("http://example.org/login.pdf", Err(Reason::NotAPage)),
            ("http://example.org/user/LogIn", Err(Reason::RejectedByPattern)),
            ("http://example.org/private/a", Err(Reason::RejectedByPattern)),
            ("http://login.example.org/a/private/", Ok(UrlClass::Static)),
            ("http://example.org/a/b/a/b/a/b/", Err(Reason::Trap)),
        ];
        for (text, expected) in cases {
            assert_eq!(scope().judge(&url(text)), expected, "{text}");
        }
    }

    #[test]
    fn by_default_all_hosts_of_the_web_are_accepted() {
        assert_eq!(Scope::default().judge(&url("https://anything.example/")), Ok(UrlClass::Static));
        assert_eq!(Scope::default().judge(&url("gopher://anything.example/")), Err(Reason::Scheme));
    }

    #[test]
    fn sites_can_be_entered_by_their_front_page_only() {
        let scope = Scope { front_page_only: true, ..scope() };
        let (front, deep, query) = ("http://example.org/", "http://example.org/a", "http://example.org/?a=1");
        assert_eq!(scope.judge_entry(&url(front), true), Ok(UrlClass::Static));
        assert_eq!(scope.judge_entry(&url(deep), true), Err(Reason::DeepLink));
        assert_eq!(scope.judge_entry(&url(query), true), Err(Reason::DeepLink));
        assert_eq!(scope.judge_entry(&url(deep), false), Ok(UrlClass::Static));
        assert_eq!(self::scope().judge_entry(&url(deep), true), Ok(UrlClass::Static));
        assert_eq!(scope.judge_entry(&url("http://elsewhere.example/a"), true), Err(Reason::OutOfScope));
    }
}
