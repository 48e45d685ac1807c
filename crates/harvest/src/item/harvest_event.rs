//! Events of a harvest.

use std::net::IpAddr;

use model::{CanonicalUrl, PageId, Reason, SiteId};
use serde::{Deserialize, Serialize};

use crate::item::robots_response::RobotsResponse;
use crate::settings::clock::seconds;

/// Event of a harvest, apart from fetched pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HarvestEvent {
    /// A page was skipped, for instance because robots.txt disallows it.
    PageSkipped {
        /// Page.
        page: PageId,
        /// Reason, which is recorded for the page.
        reason: Reason,
    },
    /// A page was not requested and is returned to the manager.
    PageReturned {
        /// Page.
        page: PageId,
        /// Failure of its site, if that is the cause.
        reason: Option<Reason>,
    },
    /// robots.txt was requested.
    RobotsFetched {
        /// Site.
        site: SiteId,
        /// Response to the request.
        response: RobotsResponse,
    },
    /// robots.txt redirects to another host, which must be leased together with this site.
    RobotsRedirect {
        /// Site.
        site: SiteId,
        /// Scheme, host and port of the other host.
        name: String,
    },
    /// A site is in back-off after failures.
    SiteBackedOff {
        /// Site.
        site: SiteId,
        /// End of the back-off, in Unix milliseconds.
        until_ms: u64,
        /// Consecutive failed requests.
        consecutive_errors: u16,
    },
    /// A host was contacted that may be in no batch: for the robots.txt of another site, or by a request that was dropped.
    HostContacted {
        /// Scheme, host and port.
        name: String,
        /// Address that was contacted, if known.
        address: Option<IpAddr>,
        /// End of the request, in Unix milliseconds.
        ended_ms: u64,
        /// End of the cooldown of host and address, in Unix milliseconds.
        until_ms: u64,
    },
    /// A sitemap or feed of a site was read.
    UrlsListed(UrlList),
    /// All work for a site is done.
    SiteDone(SiteResult),
}

impl HarvestEvent {
    /// Converts all times to another clock.
    pub fn convert_times(&mut self, convert: impl Fn(u64) -> u64) {
        match self {
            HarvestEvent::SiteBackedOff { until_ms, .. } => *until_ms = convert(*until_ms),
            HarvestEvent::HostContacted { ended_ms, until_ms, .. } => {
                (*ended_ms, *until_ms) = (convert(*ended_ms), convert(*until_ms));
            }
            HarvestEvent::SiteDone(result) => {
                result.next_request_ms = convert(result.next_request_ms);
                result.back_off_until_ms = convert(result.back_off_until_ms);
                for time_s in
                    [&mut result.resolved_s, &mut result.address_expires_s, &mut result.sitemaps_read_s]
                {
                    *time_s = seconds(convert(u64::from(*time_s) * 1_000));
                }
            }
            HarvestEvent::RobotsFetched { response, .. } => {
                response.fetched_s = seconds(convert(u64::from(response.fetched_s) * 1_000));
            }
            HarvestEvent::PageSkipped { .. }
            | HarvestEvent::PageReturned { .. }
            | HarvestEvent::RobotsRedirect { .. }
            | HarvestEvent::UrlsListed(_) => {}
        }
    }
}

/// URLs that a sitemap or feed of a site lists. Those of other sites are verified by the seeder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UrlList {
    /// Site.
    pub site: SiteId,
    /// Canonical URL of the sitemap or feed, which is on the site.
    pub file: String,
    /// Kind of the list.
    pub kind: UrlListKind,
    /// URLs.
    pub urls: Vec<SitemapUrl>,
}

/// Kind of a list of URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlListKind {
    /// Sitemap or robots.rdf, read on the clock of the site.
    Sitemap,
    /// Feed or sitemap that is a page of the crawl, read on its own clock.
    Feed,
}

/// URL in a sitemap or feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitemapUrl {
    /// Canonical URL.
    pub url: String,
    /// Last modification by the sitemap, in Unix seconds; 0 if unknown.
    pub modified_s: u32,
}

impl SitemapUrl {
    /// Entry of a list, with its modification time in Unix seconds.
    pub(crate) fn new(url: &CanonicalUrl, modified: Option<i64>) -> SitemapUrl {
        let modified_s = modified.and_then(|time_s| u64::try_from(time_s).ok());
        SitemapUrl {
            url: url.as_str().to_owned(),
            modified_s: modified_s.map_or(0, |time_s| seconds(time_s.saturating_mul(1_000))),
        }
    }
}

/// Outcome of a poll of the sitemaps of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapOutcome {
    /// The site has no sitemaps that may be requested.
    #[default]
    Absent,
    /// All were read, or do not exist.
    Read,
    /// One could not be fetched.
    Failed,
}

/// State of a site when a harvester has finished it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteResult {
    /// Site.
    pub site: SiteId,
    /// Address, if the name was resolved.
    pub address: Option<IpAddr>,
    /// Time of the DNS lookup, successful or not, in Unix seconds; 0 if there was none.
    pub resolved_s: u32,
    /// Time after which the name must be resolved again, in Unix seconds.
    pub address_expires_s: u32,
    /// Earliest time of the next request, in Unix milliseconds.
    pub next_request_ms: u64,
    /// Consecutive failed requests.
    pub consecutive_errors: u16,
    /// End of the back-off, in Unix milliseconds; 0 if there is none.
    pub back_off_until_ms: u64,
    /// Delay that results from throttling responses (429).
    #[serde(default)]
    pub throttle_delay_ms: u64,
    /// Time at which sitemaps were requested, in Unix seconds; 0 if they were not.
    pub sitemaps_read_s: u32,
    /// Outcome of these requests.
    #[serde(default)]
    pub sitemaps: SitemapOutcome,
}
