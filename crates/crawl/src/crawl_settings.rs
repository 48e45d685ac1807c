//! What may be chosen about a crawl? Everything that the four programs need to know, checked, in one place.
//!
//! The binary reads `weir.toml` and makes this of it; nothing here reads a file.

use fetch::{DnsSettings, FetchSettings, SiteRequest};
use frontier::{Limits, Patience, Profit, Strategy, Waits, Weights};
use model::CanonicalUrl;
use store::{PageFlags, ScanRow, SiteRecord, Stage};

use crate::clock::Clock;
use crate::gatherer::GatherSettings;
use crate::url_promise::UrlWord;

/// The settings of a crawl.
#[derive(Debug, Clone)]
pub struct CrawlSettings {
    /// The name that robots.txt is searched for.
    pub robots_agent: String,
    /// How pages are chosen.
    pub strategy: Strategy,
    /// How much each term of a page's quality counts; nothing stands for what the strategy says.
    pub own_weights: Option<Weights>,
    /// What visits are to gain.
    pub profit: Profit,
    /// The least share of a batch for pages that were never visited, if there are so many.
    pub discovery_share: f32,
    /// Most requests for pages in a day; 0 for any number.
    pub requests_per_day: u32,
    /// The same for one site.
    pub requests_per_site_per_day: u32,
    /// Most requests that begin in a second, of all kinds and all sites together; 0 for any number.
    pub requests_per_second: f64,
    /// Most pages of a batch.
    pub batch_pages: usize,
    /// Most pages of one site in a batch.
    pub batch_pages_per_site: usize,
    /// Threads that fetch and read pages; 0 for as many as there are cores.
    pub threads: usize,
    /// Most requests under way at the same time.
    pub connections: usize,
    /// Most names that are resolved at the same time.
    pub names_at_once: usize,
    /// Names that are asked for in a second.
    pub names_per_second: u32,
    /// A connection is kept open for the next request of its site if that comes within this time.
    pub keep_connection_ms: u64,
    /// A commit comes when the last is so long ago...
    pub commit_every_ms: u64,
    /// ... or when so many bytes of pages have come since.
    pub commit_bytes: u64,
    /// robots.txt is asked for again after this time.
    pub robots_period_s: u32,
    /// Where robots.txt could not be had, it is asked for again after this time.
    pub robots_retry_s: u32,
    /// Whether sitemaps are read.
    pub sitemaps: bool,
    /// Whether sites are asked for their robots.rdf.
    pub robots_rdf: bool,
    /// Sitemaps and robots.rdf are asked for again after this time.
    pub sitemap_period_s: u32,
    /// Most URLs that are taken from the sitemaps of one site.
    pub sitemap_urls: u32,
    /// Longest sitemap.
    pub sitemap_bytes: usize,
    /// When nothing is left but pages that must wait longer than this, the crawl ends.
    pub longest_pause_ms: u64,
    /// Whether the links of exact duplicates are followed, too.
    pub links_of_duplicates: bool,
    /// When pages are visited again.
    pub revisits: Revisits,
    /// Which words make a URL more or less promising.
    pub url_words: Vec<UrlWord>,
    /// How pages are read, and which links lead to pages that belong.
    pub gather: GatherSettings,
    /// How large a site and the collection may become.
    pub limits: Limits,
    /// How long a site is left alone between two requests.
    pub waits: Waits,
    /// What happens after failures.
    pub patience: Patience,
    /// How pages are asked for.
    pub fetch: FetchSettings,
    /// How names are resolved.
    pub dns: DnsSettings,
    /// What is different for some sites; the first that matches holds.
    pub sites: Vec<SiteOverride>,
    /// A laboratory's clock; nothing for the system's.
    pub clock: Option<Clock>,
}

/// A page is visited again no sooner than so long after the last visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revisits {
    /// When it brought content, or the way to another page.
    pub ok_s: u32,
    /// When the server refused.
    pub not_ok_s: u32,
    /// When there was no answer, or trouble, and all tries were in vain.
    pub error_s: u32,
}

/// Settings for some sites.
#[derive(Debug, Clone)]
pub struct SiteOverride {
    /// Which ones.
    pub sites: SiteMatch,
    /// Time between two requests.
    pub wait_ms: Option<u64>,
    /// Most pages of one of them.
    pub pages: Option<u32>,
    /// Deepest page.
    pub depth: Option<u8>,
    /// What is sent with each request.
    pub request: SiteRequest,
    /// The name that robots.txt is searched for.
    pub robots_agent: Option<String>,
    /// Whether they are left out.
    pub skip: bool,
}

/// Which sites are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteMatch {
    /// The host of this name.
    Host(String),
    /// Hosts that end so, such as `.example.org`, and `example.org` itself.
    Suffix(String),
    /// Sites whose SURT key begins so.
    Surt(String),
}

const DAY_S: u32 = 86_400;

impl Default for CrawlSettings {
    fn default() -> CrawlSettings {
        CrawlSettings {
            robots_agent: "weir".to_owned(),
            strategy: Strategy::default(),
            own_weights: None,
            profit: Profit::default(),
            discovery_share: 0.0,
            requests_per_day: 0,
            requests_per_site_per_day: 0,
            requests_per_second: 0.0,
            batch_pages: 100_000,
            batch_pages_per_site: 500,
            threads: 0,
            connections: 1_000,
            names_at_once: 100,
            names_per_second: 500,
            keep_connection_ms: 5_000,
            commit_every_ms: 5_000,
            commit_bytes: 64 << 20,
            robots_period_s: DAY_S,
            robots_retry_s: 3_600,
            sitemaps: true,
            robots_rdf: true,
            sitemap_period_s: 7 * DAY_S,
            sitemap_urls: 50_000,
            sitemap_bytes: 10 << 20,
            longest_pause_ms: 10 * 60 * 1_000,
            links_of_duplicates: false,
            revisits: Revisits::default(),
            url_words: Vec::new(),
            gather: GatherSettings::default(),
            limits: Limits::default(),
            waits: Waits::default(),
            patience: Patience::default(),
            fetch: FetchSettings::default(),
            dns: DnsSettings::default(),
            sites: Vec::new(),
            clock: None,
        }
    }
}

impl Default for Revisits {
    fn default() -> Revisits {
        Revisits { ok_s: 180 * DAY_S, not_ok_s: 365 * DAY_S, error_s: 30 * DAY_S }
    }
}

impl Revisits {
    /// From when on a page may be visited, in Unix seconds. Of a page that was fetched, the settings of the moment decide; one
    /// that has changed, as its site says, waits a day at most.
    pub fn due_s(&self, row: &ScanRow) -> u32 {
        let known_stale = row.flags.has(PageFlags::STALE);
        match row.stage {
            Stage::Fetched if known_stale => row.last_visit_s.saturating_add(self.ok_s.min(DAY_S)),
            Stage::Fetched => row.last_visit_s.saturating_add(self.ok_s),
            Stage::New | Stage::Queued | Stage::Failed | Stage::Rejected => row.not_before_s,
        }
    }
}

impl CrawlSettings {
    /// What is different for the site of this URL.
    pub fn site(&self, url: &CanonicalUrl) -> Option<&SiteOverride> {
        self.sites.iter().find(|site| site.sites.holds(url))
    }

    /// Time between two requests to a site of which this is recorded, and that has this wait of its own.
    pub(crate) fn wait_ms(&self, site: &SiteRecord, own_wait_ms: Option<u64>) -> u64 {
        let wait_ms = self.waits.site_wait_ms(site.pages_known, u64::from(site.crawl_delay_ms), own_wait_ms);
        wait_ms.max(u64::from(site.asked_wait_ms))
    }

    /// The clock that a crawl which begins now goes by.
    pub(crate) fn start_clock(&self) -> Clock {
        self.clock.unwrap_or_else(Clock::start)
    }

    /// How much each term of a page's quality counts.
    pub(crate) fn weights(&self) -> Weights {
        self.own_weights.unwrap_or_else(|| self.strategy.weights())
    }

    /// The longest wait of any site, but for what its robots.txt asks for.
    pub(crate) fn longest_wait_ms(&self) -> u64 {
        let own = self.sites.iter().filter_map(|site| site.wait_ms).max().unwrap_or(0);
        own.max(self.waits.wait_ms).max(self.waits.large_site_wait_ms)
    }
}

impl SiteMatch {
    /// Whether the site of this URL is meant.
    pub fn holds(&self, url: &CanonicalUrl) -> bool {
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
    fn overrides_are_found_by_host_suffix_and_surt() {
        let url = UrlRules::default().canonical("http://www.example.org/a").unwrap();
        let holds = |sites: SiteMatch| sites.holds(&url);
        assert!(
            holds(SiteMatch::Host("www.example.org".into())) && !holds(SiteMatch::Host("example.org".into()))
        );
        assert!(
            holds(SiteMatch::Suffix(".example.org".into()))
                && holds(SiteMatch::Suffix("www.example.org".into()))
        );
        assert!(!holds(SiteMatch::Suffix("ample.org".into())));
        assert!(holds(SiteMatch::Surt(url.surt()[..6].to_owned())));
    }
}
