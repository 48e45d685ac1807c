//! What is different for some sites?

use std::time::Duration;

use crate::settings::place::{Header, Login, SiteMatch};
use crate::settings::section::section;

use super::crawl::AgentName;

section! {
    /// What is different for some sites. Each entry begins with `[[site]]`; where several fit, the first counts.
    "site", SiteSection {
        /// For which sites: a host, an ending of hosts (".example.org"), or the beginning of a site in SURT form
        /// ("org,example:8080)").
        site: SiteMatch = SiteMatch::default();
        /// Whether it is left out.
        skip: Option<bool> = None, applies at_once;
        /// How long to wait between two requests.
        wait: Option<Duration> = None, applies at_once;
        /// How many pages of it may be known.
        pages: Option<u32> = None, applies at_once;
        /// How many links from where it was entered a page may lie away.
        depth: Option<u8> = None, applies at_once;
        /// Headers of each request.
        headers: Option<Vec<Header>> = None, applies at_once;
        /// Cookies of each request: "name=value; other=value".
        cookies: Option<String> = None, applies at_once;
        /// Name and password, "name:password", for sites that ask for them (HTTP basic authentication).
        login: Option<Login> = None, applies at_once;
        /// The name by which its robots.txt is read, instead of that of the crawl.
        robots_agent: Option<AgentName> = None, applies at_once;
    }
}
