//! Settings of single sites.

use std::time::Duration;

use crate::settings::network_values::{BasicAuth, Header, SiteMatch};
use crate::settings::section::section;

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
    }
}
