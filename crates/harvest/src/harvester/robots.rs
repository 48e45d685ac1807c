//! robots.txt and sitemaps: robots.txt is fetched first, across redirects to other hosts, then sitemaps.

use fetch::Response;
use frontier::AcquiredSite;
use model::{CanonicalUrl, Reason, SiteId};

use super::{Harvester, fetch_event};
use crate::dispatcher::host_clocks::Cooldown;
use crate::dispatcher::robots_fetch::{CrossHostRobotsFetch, SiteKey};
use crate::harvester::job::RequestJob;
use crate::harvester::sitemaps;
use crate::item::harvest_event::{HarvestEvent, SitemapOutcome, UrlList, UrlListKind};
use crate::item::http_head::HttpHead;
use crate::item::robots_policy;
use crate::item::robots_policy::RobotsPolicy;
use crate::item::robots_response::RobotsResponse;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::random::random;

impl Harvester<'_> {
    /// Follows a redirect of robots.txt, or applies the response.
    pub(super) fn on_robots_response(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        redirects: u8,
        response: &Response,
    ) -> std::io::Result<()> {
        let now_s = self.context.clock.now_s();
        let target = redirect(&self.settings, url, response)
            .filter(|_| redirects < robots_policy::MAX_ROBOTS_REDIRECTS);
        match target {
            Some(target) if target.site() == url.site() => {
                let job = self.jobs.add(RequestJob::Robots { url: target, redirects: redirects + 1 });
                self.workbench.push_first(site.into(), job);
                Ok(())
            }
            Some(target) => {
                // Another harvester can own the other host: the pages wait for the result.
                let jobs = self.workbench.drain(site.into());
                self.robots_fetches.hold_jobs(site, jobs);
                self.dispatcher.request_robots(CrossHostRobotsFetch::new(
                    site,
                    self.context.harvester,
                    target,
                    redirects + 1,
                ));
                Ok(())
            }
            None => self.on_robots(site, &RobotsResponse::from_response(response, now_s)),
        }
    }

    pub(super) fn on_robots(&mut self, site: SiteId, robots: &RobotsResponse) -> std::io::Result<()> {
        for job in self.robots_fetches.release_jobs(site) {
            self.workbench.push(site.into(), job);
        }
        // Journal the response first: a crawl that is killed now must not request robots.txt again.
        self.send(HarvestEvent::RobotsFetched { site, response: robots.clone() })?;
        self.apply_robots(site, robots)
    }

    /// Returns a site whose robots.txt is on a host that was not leased with it: the next batch has both.
    pub(super) fn on_robots_not_leased(&mut self, site: SiteId, name: String) -> std::io::Result<()> {
        self.send(HarvestEvent::RobotsRedirect { site, name })?;
        self.return_pages(site, None)?;
        self.close_if_done(site)
    }

    /// Applies a robots.txt: skips disallowed pages and queues sitemaps.
    pub(super) fn apply_robots(&mut self, site: SiteId, robots: &RobotsResponse) -> std::io::Result<()> {
        let Some(active) = self.sites.get_mut(&site) else { return Ok(()) };
        if matches!(active.apply_robots(robots), RobotsPolicy::Unreachable) {
            let retry_ms = (u64::from(robots.fetched_s) + u64::from(self.settings.robots.retry_s)) * 1_000;
            active.back_off_until_ms = active.back_off_until_ms.max(retry_ms);
            self.return_pages(site, Some(Reason::RobotsUnreachable))?;
            return self.close_if_done(site);
        }
        // The Crawl-delay also applies to the cooldown that has started already.
        self.extend_cooldown(site);
        let mut allowed = Vec::new();
        for job in self.workbench.drain(site.into()) {
            match self.jobs.get(job) {
                Some(RequestJob::Page { page, url, .. }) if !self.sites[&site].allows(url) => {
                    let page = *page;
                    self.jobs.remove(job);
                    self.skip_page(page, Reason::RobotsDisallowed)?;
                }
                _ => allowed.push(job),
            }
        }
        for job in self.sitemap_jobs(site).into_iter().chain(allowed) {
            self.workbench.push(site.into(), job);
        }
        self.close_if_done(site)
    }

    /// Jobs for the sitemaps of a site, if they are due.
    fn sitemap_jobs(&mut self, site: SiteId) -> Vec<u32> {
        let Some(active) = self.sites.get_mut(&site) else { return Vec::new() };
        if !std::mem::take(&mut active.sitemaps_due) {
            return Vec::new();
        }
        let urls = sitemaps::sitemap_urls(active, &self.settings);
        if urls.is_empty() {
            active.sitemaps_read_s = self.context.clock.now_s();
        }
        urls.into_iter().map(|url| self.jobs.add(RequestJob::Sitemap { url, depth: 0 })).collect()
    }

    pub(super) fn on_sitemap(
        &mut self,
        site: SiteId,
        url: &CanonicalUrl,
        depth: u8,
        response: &Response,
    ) -> std::io::Result<()> {
        let Some(active) = self.sites.get_mut(&site) else { return Ok(()) };
        let content =
            sitemaps::parse_sitemap(active, url, response, &self.settings, self.context.clock.now_s());
        active.sitemaps_read_s = self.context.clock.now_s();
        // After a server error the next poll is soon; any other response counts as read.
        let has_failed = !(200..500).contains(&response.status) || response.status == 429;
        if has_failed {
            active.sitemaps = SitemapOutcome::Failed;
        } else if active.sitemaps == SitemapOutcome::Absent {
            active.sitemaps = SitemapOutcome::Read;
        }
        if depth < sitemaps::MAX_SITEMAP_DEPTH {
            for url in content.sitemaps {
                let job = self.jobs.add(RequestJob::Sitemap { url, depth: depth + 1 });
                self.workbench.push_first(site.into(), job);
            }
        }
        if content.pages.is_empty() {
            Ok(())
        } else {
            let (file, kind) = (url.as_str().to_owned(), UrlListKind::Sitemap);
            self.send(HarvestEvent::UrlsListed(UrlList { site, file, kind, urls: content.pages }))
        }
    }
}

/// Fetches of robots.txt files for other sites that are redirected to them.
impl Harvester<'_> {
    /// Starts a fetch from a host that no harvester works on; the dispatcher reserves the host until it ends.
    pub(super) fn start_robots_fetch(
        &mut self,
        fetch: CrossHostRobotsFetch,
        address: std::net::IpAddr,
        earliest_ms: u64,
    ) {
        let delay_ms = self.host_delay_ms(&fetch.url, 0);
        let ready_ms = earliest_ms.max(self.lost_clock_delay_ms(address, delay_ms));
        let synthetic = self.robots_fetches.allocate_synthetic_site();
        self.workbench.add_site(synthetic, address, ready_ms);
        let job = self.jobs.add(RequestJob::CrossHostRobots(Box::new(fetch)));
        self.workbench.push_first(synthetic, job);
    }

    /// Adds a fetch to the requests of an active site. If the site has just finished, the fetch is returned to the dispatcher,
    /// which has received the release of the site before it.
    pub(super) fn attach_robots_fetch(&mut self, fetch: CrossHostRobotsFetch) {
        match self.by_name.get(fetch.url.site()) {
            Some(site) => {
                let job = self.jobs.add(RequestJob::CrossHostRobots(Box::new(fetch)));
                self.workbench.push_first((*site).into(), job);
            }
            None => self.dispatcher.request_robots(fetch),
        }
    }

    /// Returns the result of a fetch, or follows its redirect.
    pub(super) fn on_cross_host_robots(
        &mut self,
        acquired: AcquiredSite<SiteKey>,
        fetch: CrossHostRobotsFetch,
        response: &Response,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        let robots = RobotsResponse::from_response(response, self.context.clock.now_s());
        if acquired.site.id().is_none_or(|site| !self.sites.contains_key(&site)) {
            self.finish_robots_fetch(acquired, &fetch, response, &robots, ended_ms)?;
        }
        let target = redirect(&self.settings, &fetch.url, response);
        match target.filter(|_| fetch.redirects < robots_policy::MAX_ROBOTS_REDIRECTS) {
            Some(target) => self.dispatcher.request_robots(fetch.redirected_to(target)),
            None => self.dispatcher.return_robots(&fetch, robots),
        }
        Ok(())
    }

    /// Starts the cooldown of a host that was contacted for another site; it also survives the end of the crawl.
    fn finish_robots_fetch(
        &mut self,
        acquired: AcquiredSite<SiteKey>,
        fetch: &CrossHostRobotsFetch,
        response: &Response,
        robots: &RobotsResponse,
        ended_ms: u64,
    ) -> std::io::Result<()> {
        // Its Crawl-delay applies at once, if the URL is the robots.txt of this host.
        let own = fetch.url.path_and_query() == "/robots.txt";
        let crawl_delay_ms = if own {
            RobotsPolicy::from_response(robots, &self.settings.robots.agent).crawl_delay_ms()
        } else {
            0
        };
        let delay_ms = self.host_delay_ms(&fetch.url, crawl_delay_ms);
        let decision = self.settings.retry.decide(fetch_event(response, robots.fetched_s), 0, 0, random());
        let until_ms = ended_ms + delay_ms.max(decision.site_back_off_ms);
        let address_delay_ms = self.settings.politeness.address_delay_ms.unwrap_or(delay_ms);
        self.workbench.release(acquired.site, until_ms, ended_ms + address_delay_ms);
        self.workbench.remove_site(acquired.site);
        let name = fetch.url.site();
        self.dispatcher.release_host(name, Cooldown { until_ms, last_request_ms: ended_ms });
        let name = name.to_owned();
        self.send(HarvestEvent::HostContacted { name, address: Some(acquired.address), ended_ms, until_ms })
    }

    /// Delay of a host of which only the name and perhaps the `Crawl-delay` are known.
    pub(super) fn host_delay_ms(&self, url: &CanonicalUrl, crawl_delay_ms: u64) -> u64 {
        let own = self.settings.override_for(url).and_then(|site| site.delay_ms);
        self.settings.politeness.delay_for_site_ms(0, crawl_delay_ms, own)
    }
}

/// Target of a redirect response.
fn redirect(settings: &CrawlSettings, from: &CanonicalUrl, response: &Response) -> Option<CanonicalUrl> {
    if !matches!(response.status, 300..=303 | 307 | 308) {
        return None;
    }
    let location = HttpHead(&response.head).value("Location")?;
    settings.gathering.rules.join(from, &location).ok()
}
