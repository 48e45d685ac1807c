//! Settings of a crawl, typed and checked, for all of its programs.
//!
//! The binary converts `weir.toml` to these types; nothing here reads a file.

use std::collections::BTreeMap;

use fetch::{DnsSettings, FetchSettings, SiteHeaders};
use frontier::{
    Limits, Politeness, PollIntervals, PriorityModel, RetryPolicy, Strategy, UrlPattern, Weights,
};
use model::CanonicalUrl;

use crate::settings::clock::CrawlClock;
use crate::settings::gather_settings::GatherSettings;

/// Settings of a crawl.
#[derive(Debug, Clone)]
pub struct CrawlSettings {
    /// Handling of robots.txt.
    pub robots: RobotsSettings,
    /// Handling of sitemaps.
    pub sitemaps: SitemapSettings,
    /// Frequency of commits.
    pub commits: CommitSettings,
    /// Limits on DNS lookups.
    pub lookups: LookupLimits,
    /// Strategy that orders pages.
    pub strategy: Strategy,
    /// Weights of the quality terms; `None` for those of the strategy.
    pub weight_overrides: Option<Weights>,
    /// Model for the priority of a fetch.
    pub priority: PriorityModel,
    /// Minimum share of a batch for pages that were never fetched, if there are enough of them.
    pub min_discovery_share: f32,
    /// Maximum page requests per day; 0 for unlimited.
    pub max_requests_per_day: u32,
    /// Maximum page requests per site and day; 0 for unlimited.
    pub max_requests_per_site_per_day: u32,
    /// Maximum requests per second, of all kinds and to all sites together; 0 for unlimited.
    pub max_requests_per_second: f64,
    /// Maximum pages of a batch.
    pub max_batch_pages: usize,
    /// Maximum pages of one site in a batch.
    pub max_batch_pages_per_site: usize,
    /// Number of harvester threads; 0 for one per core.
    pub threads: usize,
    /// Maximum requests in flight.
    pub max_connections: usize,
    /// Keeps a connection open if the next request to its site is due within this time.
    pub keep_alive_ms: u64,
    /// Ends the crawl when no page becomes due within this time.
    pub max_idle_ms: u64,
    /// Whether the links of exact duplicates are followed.
    pub follow_links_of_duplicates: bool,
    /// Intervals between two fetches of a page.
    pub revisits: RevisitIntervals,
    /// Patterns that raise or lower the score of a URL.
    pub url_patterns: Vec<UrlPattern>,
    /// Settings for parsing pages, and the scope of the crawl.
    pub gathering: GatherSettings,
    /// Limits on the size of a site and of the collection.
    pub limits: Limits,
    /// Delays between two requests to a site or an address.
    pub politeness: Politeness,
    /// Retries and back-off after failures.
    pub retry: RetryPolicy,
    /// Settings of the HTTP client.
    pub fetch: FetchSettings,
    /// Settings of the DNS resolver.
    pub dns: DnsSettings,
    /// Overrides for some sites; the first match applies.
    pub site_overrides: Vec<SiteOverride>,
    /// Digests of the settings on which stored decisions depend, by the names in [`model::Reason::settings`]. Pages are judged
    /// again when one differs from the digest of the last crawl.
    pub setting_digests: BTreeMap<String, u64>,
    /// Clock for experiments; `None` for the system clock.
    pub clock: Option<CrawlClock>,
}

/// Handling of robots.txt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsSettings {
    /// Product token that is matched against `User-agent` lines.
    pub agent: String,
    /// Maximum age of a stored robots.txt.
    pub max_age_s: u32,
    /// Time after which an unreachable robots.txt is requested again.
    pub retry_s: u32,
}

/// Handling of sitemaps and robots.rdf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SitemapSettings {
    /// Whether sitemaps are fetched.
    pub enabled: bool,
    /// Whether robots.rdf is fetched.
    pub robots_rdf: bool,
    /// Whether /sitemap.xml is requested of sites whose robots.txt names no sitemap.
    pub default_path: bool,
    /// Maximum URLs accepted from the sitemaps of one site.
    pub max_urls: u32,
    /// Maximum size of a sitemap.
    pub max_bytes: usize,
}

/// Frequency of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitSettings {
    /// Maximum time between two commits.
    pub interval_ms: u64,
    /// Bytes of pages after which a commit is made before its interval has passed.
    pub max_bytes: u64,
}

/// Limits on DNS lookups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupLimits {
    /// Maximum lookups in flight.
    pub max_concurrent: usize,
    /// Maximum lookups per second.
    pub max_per_second: u32,
}

/// Minimum intervals between two fetches of a page, by the outcome of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisitIntervals {
    /// After content or a redirect.
    pub success_s: u32,
    /// After a client error (4xx).
    pub client_error_s: u32,
    /// After a server error or no response, when all retries have failed.
    pub failure_s: u32,
    /// Of robots.txt, sitemaps and feeds.
    pub polls: PollIntervals,
}

/// Settings that differ for some sites.
#[derive(Debug, Clone)]
pub struct SiteOverride {
    /// Sites that the override applies to.
    pub sites: SiteMatch,
    /// Delay between two requests.
    pub delay_ms: Option<u64>,
    /// Maximum pages of a site.
    pub max_pages: Option<u32>,
    /// Maximum depth of a page.
    pub max_depth: Option<u8>,
    /// Headers that are added to each request.
    pub headers: SiteHeaders,
    /// Product token that is matched against robots.txt.
    pub robots_agent: Option<String>,
    /// Whether robots.txt does not restrict the crawl of these sites; its `Crawl-delay` and sitemaps still apply.
    pub ignores_robots: bool,
    /// Whether the sites are excluded from the crawl.
    pub skip: bool,
}

/// Condition that selects sites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteMatch {
    /// Exact host name.
    Host(String),
    /// Suffix of host names, such as `.example.org`; matches `example.org` itself, too.
    Suffix(String),
    /// Prefix of the SURT key.
    Surt(String),
}

/// Seconds of a day.
pub const DAY_S: u32 = 86_400;

impl Default for CrawlSettings {
    fn default() -> CrawlSettings {
        CrawlSettings {
            robots: RobotsSettings::default(),
            sitemaps: SitemapSettings::default(),
            commits: CommitSettings::default(),
            lookups: LookupLimits::default(),
            strategy: Strategy::default(),
            weight_overrides: None,
            priority: PriorityModel::default(),
            min_discovery_share: 0.0,
            max_requests_per_day: 0,
            max_requests_per_site_per_day: 0,
            max_requests_per_second: 0.0,
            max_batch_pages: 100_000,
            max_batch_pages_per_site: 500,
            threads: 0,
            max_connections: 1_000,
            keep_alive_ms: 5_000,
            max_idle_ms: 10 * 60 * 1_000,
            follow_links_of_duplicates: false,
            revisits: RevisitIntervals::default(),
            url_patterns: Vec::new(),
            gathering: GatherSettings::default(),
            limits: Limits::default(),
            politeness: Politeness::default(),
            retry: RetryPolicy::default(),
            fetch: FetchSettings::default(),
            dns: DnsSettings::default(),
            site_overrides: Vec::new(),
            setting_digests: BTreeMap::new(),
            clock: None,
        }
    }
}

impl Default for RobotsSettings {
    fn default() -> RobotsSettings {
        RobotsSettings { agent: "weir".to_owned(), max_age_s: DAY_S, retry_s: 3_600 }
    }
}

impl Default for SitemapSettings {
    fn default() -> SitemapSettings {
        SitemapSettings {
            enabled: true,
            robots_rdf: true,
            default_path: false,
            max_urls: 50_000,
            max_bytes: 10 << 20,
        }
    }
}

impl Default for CommitSettings {
    fn default() -> CommitSettings {
        CommitSettings { interval_ms: 5_000, max_bytes: 64 << 20 }
    }
}

impl Default for LookupLimits {
    fn default() -> LookupLimits {
        LookupLimits { max_concurrent: 100, max_per_second: 500 }
    }
}

impl Default for RevisitIntervals {
    fn default() -> RevisitIntervals {
        RevisitIntervals {
            success_s: 180 * DAY_S,
            client_error_s: 365 * DAY_S,
            failure_s: 30 * DAY_S,
            polls: PollIntervals::default(),
        }
    }
}

/// Descriptors for everything but connections, lookups and threads: files of the collection and the text index, connections of
/// the dashboard. A crawl with 2 threads has 30 open, and up to 20 more during a commit.
const RESERVED_OPEN_FILES: usize = 96;
/// Descriptors of a thread: its event queue and its journals.
const OPEN_FILES_PER_THREAD: usize = 8;

impl CrawlSettings {
    /// Override for the site of a URL.
    pub fn override_for(&self, url: &CanonicalUrl) -> Option<&SiteOverride> {
        self.site_overrides.iter().find(|site| site.sites.matches(url))
    }

    /// Reduces the numbers of connections and lookups so that a process with `threads` threads that can open `max_open_files`
    /// files does not run out of descriptors. Returns whether they were reduced.
    pub fn fit_open_files(&mut self, max_open_files: u64, threads: usize) -> bool {
        let max_open_files = usize::try_from(max_open_files).unwrap_or(usize::MAX);
        let reserved = RESERVED_OPEN_FILES + OPEN_FILES_PER_THREAD * threads;
        // A very low limit leaves little for either, but the files of the collection come first.
        let available = (max_open_files - reserved.min(max_open_files / 8 * 7)).max(2);
        if self.max_connections.saturating_add(self.lookups.max_concurrent) <= available {
            return false;
        }
        // Lookups run ahead of requests and are short: they need few descriptors.
        self.lookups.max_concurrent = self.lookups.max_concurrent.min(available / 4).max(1);
        self.max_connections = self.max_connections.min(available - self.lookups.max_concurrent);
        true
    }

    /// Clock for a crawl that starts now.
    pub fn start_clock(&self) -> CrawlClock {
        self.clock.unwrap_or_else(CrawlClock::start)
    }

    /// Weights of the quality terms: overrides, or those of the strategy.
    pub fn weights(&self) -> Weights {
        self.weight_overrides.unwrap_or_else(|| self.strategy.weights())
    }

    /// Maximum delay of any site, except for the `Crawl-delay` of its robots.txt.
    pub fn max_site_delay_ms(&self) -> u64 {
        let own = self.site_overrides.iter().filter_map(|site| site.delay_ms).max().unwrap_or(0);
        own.max(self.politeness.site_delay_ms).max(self.politeness.large_site_delay_ms)
    }
}

impl SiteMatch {
    /// Whether the site of a URL is selected.
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        match self {
            SiteMatch::Host(host) => url.host() == host,
            SiteMatch::Suffix(suffix) => {
                let bare = suffix.trim_start_matches('.');
                let before = url.host().strip_suffix(bare);
                before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
            SiteMatch::Surt(prefix) => url.surt().starts_with(prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::UrlRules;

    use super::*;

    #[test]
    fn connections_and_lookups_fit_into_the_limit_of_open_files() {
        let fitted = |max_open_files| {
            let mut settings = CrawlSettings::default();
            let is_reduced = settings.fit_open_files(max_open_files, 2);
            (is_reduced, settings.max_connections, settings.lookups.max_concurrent)
        };
        assert_eq!(fitted(65_536), (false, 1_000, 100));
        assert_eq!(fitted(1_024), (true, 812, 100));
        assert_eq!(fitted(256), (true, 108, 36));
        assert_eq!(fitted(64), (true, 6, 2));
        assert_eq!(fitted(0), (true, 1, 1));
    }

    #[test]
    fn overrides_are_found_by_host_suffix_and_surt() {
        let url = UrlRules::default().canonical("http://www.example.org/a").unwrap();
        let matches = |sites: SiteMatch| sites.matches(&url);
        assert!(
            matches(SiteMatch::Host("www.example.org".into()))
                && !matches(SiteMatch::Host("example.org".into()))
        );
        assert!(
            matches(SiteMatch::Suffix(".example.org".into()))
                && matches(SiteMatch::Suffix("www.example.org".into()))
        );
        assert!(!matches(SiteMatch::Suffix("ample.org".into())));
        assert!(matches(SiteMatch::Surt(url.surt()[..6].to_owned())));
    }
}
