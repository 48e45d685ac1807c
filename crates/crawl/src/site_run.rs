//! What does a harvester know about a site while it works on it? Its rules, its clock, its trouble.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use fetch::SiteRequest;
use frontier::{Verdict, Waits};
use model::{CanonicalUrl, SiteId};

use crate::batch::RobotsCopy;
use crate::crawl_settings::{CrawlSettings, SiteOverride};
use crate::harvest::SiteReport;
use crate::robots_answer::Robots;

/// A site in work.
#[derive(Debug)]
pub(crate) struct SiteRun {
    pub(crate) site: SiteId,
    /// The URL of its front page.
    pub(crate) front: CanonicalUrl,
    pub(crate) address: IpAddr,
    pub(crate) resolved_s: u32,
    pub(crate) resolve_again_s: u32,
    /// Nothing until robots.txt was asked for.
    pub(crate) robots: Option<Robots>,
    pub(crate) request: Arc<SiteRequest>,
    pub(crate) errors_in_a_row: u16,
    /// Pages that have come and were not read yet.
    pub(crate) unread: u32,
    pub(crate) back_off_until_ms: u64,
    /// When the last request ended; 0 if there was none.
    pub(crate) ended_ms: u64,
    /// When its usual wait is over.
    pub(crate) next_request_ms: u64,
    pub(crate) sitemaps_due: bool,
    pub(crate) sitemaps_read_s: u32,
    /// URLs that may still be taken from its sitemaps.
    pub(crate) sitemap_urls_left: u32,
    /// Sitemaps that it was asked for, or will be.
    pub(crate) sitemap_files: HashSet<CanonicalUrl>,
    robots_agent: String,
    own_wait_ms: Option<u64>,
    pages_known: u32,
    crawl_delay_ms: u64,
    /// What it asked for by answering that we come too often.
    asked_wait_ms: u64,
}

/// A site as the front desk hands it over.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) address: IpAddr,
    pub(crate) resolved_s: u32,
    pub(crate) resolve_again_s: u32,
    /// When it was last asked on an errand; 0 if it was not.
    pub(crate) asked_ms: u64,
}

/// Who complains about requests without any wait gets at least this.
const SHORTEST_ASKED_WAIT_MS: u64 = 250;

impl SiteRun {
    pub(crate) fn new(
        site: &crate::batch::BatchSite,
        front: CanonicalUrl,
        located: &Located,
        settings: &CrawlSettings,
    ) -> SiteRun {
        let mut run = SiteRun {
            site: site.site,
            address: located.address,
            resolved_s: located.resolved_s,
            resolve_again_s: located.resolve_again_s,
            robots: None,
            request: Arc::default(),
            errors_in_a_row: site.errors_in_a_row,
            unread: 0,
            back_off_until_ms: 0,
            ended_ms: 0,
            next_request_ms: site.not_before_ms,
            sitemaps_due: site.sitemaps_due,
            sitemaps_read_s: 0,
            sitemap_urls_left: settings.sitemap_urls,
            sitemap_files: HashSet::new(),
            robots_agent: String::new(),
            own_wait_ms: None,
            pages_known: site.pages_known,
            crawl_delay_ms: 0,
            asked_wait_ms: site.asked_wait_ms,
            front,
        };
        run.follow(settings);
        run
    }

    /// Takes what the settings say about this very site; tells whether it is now called by another name in robots.txt, so
    /// that rules which were read before do not hold any more.
    pub(crate) fn follow(&mut self, settings: &CrawlSettings) -> bool {
        let own: Option<&SiteOverride> = settings.site(&self.front);
        self.request = Arc::new(own.map(|own| own.request.clone()).unwrap_or_default());
        self.own_wait_ms = own.and_then(|own| own.wait_ms);
        let robots_agent = own.and_then(|own| own.robots_agent.as_ref()).unwrap_or(&settings.robots_agent);
        let is_another = self.robots_agent != *robots_agent;
        self.robots_agent.clone_from(robots_agent);
        is_another && self.robots.is_some()
    }

    /// Takes the answer to a request for robots.txt, new or kept.
    pub(crate) fn obey(&mut self, copy: &RobotsCopy) -> &Robots {
        let robots = Robots::of(copy, &self.robots_agent);
        if let Robots::Rules(_) = &robots {
            self.crawl_delay_ms = robots.crawl_delay_ms();
        }
        self.robots.insert(robots)
    }

    /// Whether the rules let us ask for this.
    pub(crate) fn allows(&self, url: &CanonicalUrl) -> bool {
        match &self.robots {
            Some(Robots::Rules(rules)) => rules.decide(url.path_and_query()).allowed,
            _ => false,
        }
    }

    /// How long it is left alone between two requests.
    pub(crate) fn wait_ms(&self, waits: &Waits) -> u64 {
        waits.site_wait_ms(self.pages_known, self.crawl_delay_ms, self.own_wait_ms).max(self.asked_wait_ms)
    }

    /// Who says that we come too often (429) gets twice the wait, up to a limit; it becomes shorter again, slowly, while the
    /// site answers well. Other trouble says nothing about our pace.
    pub(crate) fn pace(&mut self, status: u16, waits: &Waits) {
        let twice_ms = (self.wait_ms(waits) * 2).max(SHORTEST_ASKED_WAIT_MS);
        match status {
            429 => self.asked_wait_ms = twice_ms.min(waits.most_crawl_delay_ms),
            // By a 64th: who was asked too often once would be again soon if this was any faster.
            200..=399 => self.asked_wait_ms -= self.asked_wait_ms.div_ceil(64),
            _ => {}
        }
    }

    /// Takes a verdict on a request that ended at this time.
    pub(crate) fn suffer(&mut self, verdict: &Verdict, ended_ms: u64) {
        self.errors_in_a_row = verdict.errors_in_a_row;
        let until_ms = ended_ms.saturating_add(verdict.site_back_off_ms);
        self.back_off_until_ms = if verdict.site_back_off_ms > 0 { until_ms } else { 0 };
    }

    pub(crate) fn report(&self) -> SiteReport {
        SiteReport {
            site: self.site,
            address: Some(self.address),
            resolved_s: self.resolved_s,
            resolve_again_s: self.resolve_again_s,
            next_request_ms: self.next_request_ms,
            errors_in_a_row: self.errors_in_a_row,
            back_off_until_ms: self.back_off_until_ms,
            asked_wait_ms: self.asked_wait_ms,
            sitemaps_read_s: self.sitemaps_read_s,
        }
    }
}
