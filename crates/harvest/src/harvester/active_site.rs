//! State of a site while a harvester works on it: robots.txt policy, clocks and failures.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use fetch::SiteHeaders;
use frontier::{Politeness, RetryDecision};
use model::{CanonicalUrl, SiteId};
use parse::RobotsRules;

use crate::dispatcher::resolved_site::ResolvedSite;
use crate::item::harvest_event::{SiteResult, SitemapOutcome};
use crate::item::robots_policy::RobotsPolicy;
use crate::item::robots_response::RobotsResponse;
use crate::settings::crawl_settings::{CrawlSettings, SiteOverride};

/// Site that a harvester works on.
#[derive(Debug)]
pub(crate) struct ActiveSite {
    pub(crate) site: SiteId,
    /// URL of the front page.
    pub(crate) front_page: CanonicalUrl,
    pub(crate) address: IpAddr,
    pub(crate) resolved_s: u32,
    pub(crate) address_expires_s: u32,
    /// `None` until robots.txt was fetched.
    pub(crate) robots: Option<RobotsPolicy>,
    pub(crate) headers: Arc<SiteHeaders>,
    pub(crate) consecutive_errors: u16,
    /// Pages that have arrived but are not parsed.
    pub(crate) unparsed: u32,
    pub(crate) back_off_until_ms: u64,
    /// End of the last request; 0 if there is none.
    pub(crate) last_request_ended_ms: u64,
    /// End of the cooldown, without back-off.
    pub(crate) next_request_ms: u64,
    pub(crate) sitemaps_due: bool,
    pub(crate) sitemaps_read_s: u32,
    pub(crate) sitemaps: SitemapOutcome,
    /// URLs that can still be accepted from sitemaps.
    pub(crate) sitemap_url_quota: u32,
    /// Sitemaps that were requested or are queued.
    pub(crate) sitemap_files: HashSet<CanonicalUrl>,
    robots_agent: String,
    /// Whether robots.txt does not restrict the crawl of this site.
    ignores_robots: bool,
    site_delay_override_ms: Option<u64>,
    pages_known: u32,
    crawl_delay_ms: u64,
    /// Delay that results from throttling responses (429).
    throttle_delay_ms: u64,
}

/// Minimum delay after a throttling response, for sites that had no delay.
const MIN_THROTTLE_DELAY_MS: u64 = 250;

impl ActiveSite {
    pub(crate) fn new(
        site: &crate::item::batch::BatchSite,
        front_page: CanonicalUrl,
        resolved: &ResolvedSite,
        settings: &CrawlSettings,
    ) -> ActiveSite {
        let mut active = ActiveSite {
            site: site.site,
            address: resolved.address,
            resolved_s: resolved.resolved_s,
            address_expires_s: resolved.address_expires_s,
            robots: None,
            headers: Arc::default(),
            consecutive_errors: site.consecutive_errors,
            unparsed: 0,
            back_off_until_ms: 0,
            last_request_ended_ms: 0,
            next_request_ms: site.earliest_request_ms,
            sitemaps_due: site.sitemaps_due,
            sitemaps_read_s: 0,
            sitemaps: SitemapOutcome::Absent,
            sitemap_url_quota: settings.sitemaps.max_urls,
            sitemap_files: HashSet::new(),
            robots_agent: String::new(),
            ignores_robots: false,
            site_delay_override_ms: None,
            pages_known: site.pages_known,
            crawl_delay_ms: 0,
            throttle_delay_ms: site.throttle_delay_ms,
            front_page,
        };
        active.update_settings(settings);
        active
    }

    /// Applies the settings for this site. Returns true if another product token applies to robots.txt now, so that the
    /// current policy is invalid.
    pub(crate) fn update_settings(&mut self, settings: &CrawlSettings) -> bool {
        let site_override: Option<&SiteOverride> = settings.override_for(&self.front_page);
        self.headers = Arc::new(site_override.map(|own| own.headers.clone()).unwrap_or_default());
        self.site_delay_override_ms = site_override.and_then(|own| own.delay_ms);
        let robots_agent =
            site_override.and_then(|own| own.robots_agent.as_ref()).unwrap_or(&settings.robots.agent);
        let ignores_robots = site_override.is_some_and(|own| own.ignores_robots);
        let has_changed = self.robots_agent != *robots_agent || self.ignores_robots != ignores_robots;
        self.robots_agent.clone_from(robots_agent);
        self.ignores_robots = ignores_robots;
        has_changed && self.robots.is_some()
    }

    /// Applies a response to a request for robots.txt, new or stored.
    pub(crate) fn apply_robots(&mut self, response: &RobotsResponse) -> &RobotsPolicy {
        let robots = match RobotsPolicy::from_response(response, &self.robots_agent) {
            RobotsPolicy::Unreachable if self.ignores_robots => RobotsPolicy::Rules(RobotsRules::default()),
            robots => robots,
        };
        if let RobotsPolicy::Rules(_) = &robots {
            self.crawl_delay_ms = robots.crawl_delay_ms();
        }
        self.robots.insert(robots)
    }

    /// Whether robots.txt allows a URL, or is ignored.
    pub(crate) fn allows(&self, url: &CanonicalUrl) -> bool {
        match &self.robots {
            _ if self.ignores_robots => true,
            Some(RobotsPolicy::Rules(rules)) => rules.decide(url.path_and_query()).allowed,
            _ => false,
        }
    }

    /// Delay between two requests.
    pub(crate) fn delay_ms(&self, politeness: &Politeness) -> u64 {
        politeness
            .delay_for_site_ms(self.pages_known, self.crawl_delay_ms, self.site_delay_override_ms)
            .max(self.throttle_delay_ms)
    }

    /// Doubles the delay after a throttling response (429), up to a limit, and decreases it slowly after successful responses.
    /// Other failures say nothing about the request rate.
    pub(crate) fn apply_throttling(&mut self, status: u16, politeness: &Politeness) {
        let twice_ms = (self.delay_ms(politeness) * 2).max(MIN_THROTTLE_DELAY_MS);
        match status {
            429 => self.throttle_delay_ms = twice_ms.min(politeness.max_crawl_delay_ms),
            // By 1/64 per response: a faster decrease would soon exceed the limit of the server again.
            200..=399 => self.throttle_delay_ms -= self.throttle_delay_ms.div_ceil(64),
            _ => {}
        }
    }

    /// Applies the decision of the retry policy on a request that ended at `ended_ms`.
    pub(crate) fn apply_back_off(&mut self, decision: &RetryDecision, ended_ms: u64) {
        self.consecutive_errors = decision.consecutive_errors;
        let until_ms = ended_ms.saturating_add(decision.site_back_off_ms);
        self.back_off_until_ms = if decision.site_back_off_ms > 0 { until_ms } else { 0 };
    }

    pub(crate) fn result(&self) -> SiteResult {
        SiteResult {
            site: self.site,
            address: Some(self.address),
            resolved_s: self.resolved_s,
            address_expires_s: self.address_expires_s,
            next_request_ms: self.next_request_ms,
            consecutive_errors: self.consecutive_errors,
            back_off_until_ms: self.back_off_until_ms,
            throttle_delay_ms: self.throttle_delay_ms,
            sitemaps_read_s: self.sitemaps_read_s,
            sitemaps: self.sitemaps,
        }
    }
}
