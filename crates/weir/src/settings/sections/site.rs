//! Settings of single sites.

use std::time::Duration;

use crate::settings::network_values::{BasicAuth, Header, SiteMatch};
use crate::settings::section::section;
use crate::settings::value::choices;

use super::ScopeRule;
use super::crawl::ProductToken;

section! {
    /// Settings of single sites. Each entry begins with `[[site]]`; the first matching entry applies.
    "site", SiteSection {
        /// Host ("www.example.org"), host suffix (".example.org") or SURT prefix ("org,example:8080)") of the sites.
        r#match: SiteMatch = SiteMatch::default();
        /// Exclude these sites from the crawl.
        skip: Option<bool> = None, reload yes;
        /// Delay between two requests.
        delay: Option<Duration> = None, reload yes;
        /// Maximum number of known pages.
        max_pages: Option<u32> = None, reload yes;
        /// Maximum link depth.
        max_depth: Option<u8> = None, reload yes;
        /// Additional request headers.
        headers: Option<Vec<Header>> = None, reload yes;
        /// Cookie header: "name=value; other=value".
        cookies: Option<String> = None, reload yes;
        /// User name and password for HTTP basic authentication, "user:password".
        basic_auth: Option<BasicAuth> = None, reload yes;
        /// Product token for robots.txt instead of crawl.agent.
        robots_agent: Option<ProductToken> = None, reload yes;
        /// "obey" or "ignore" robots.txt. To ignore it needs a legal basis, such as legal deposit, or the permission of the
        /// site: confirm it once with `weir crawl --i-have-permission`; the warcinfo record lists the sites.
        robots: Option<RobotsObedience> = None, reload yes;
        /// URLs of these sites that are in scope, by the rules of scope.accept: ["/docs/", "/blog/"].
        accept: Option<Vec<ScopeRule>> = None, reload yes;
        /// URLs of these sites to reject, by the rules of scope.reject.
        reject: Option<Vec<ScopeRule>> = None, reload yes;
    }
}

/// Handling of the robots.txt of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RobotsObedience {
    Obey,
    Ignore,
}

choices!(RobotsObedience, "choice", RobotsObedience::Obey = "obey", RobotsObedience::Ignore = "ignore");
