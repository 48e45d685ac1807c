//! Harvester: sends the requests of a batch politely and passes the responses on.
//!
//! There is one per core, each on its own thread. The dispatcher assigns all sites of an address to one harvester, so that
//! all clocks of the address are in one [`Workbench`] and no page needs a lock. After each request the site and its
//! address have a cooldown. robots.txt, which must be fetched before the pages of a site, and sitemaps are requests like
//! those for pages.
//!
//! A [`Gatherer`] on the same thread parses each page as soon as it has arrived, while other requests are in flight.
//!
//! A harvester does not select pages, and never opens a collection.

pub(crate) mod active_site;
mod cooldowns;
pub(crate) mod job;
mod outage;
mod parsing;
pub mod pool;
mod requests;
mod robots;
pub(crate) mod sitemaps;
pub mod standalone;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fetch::{Connection, Fetcher, Response};
use frontier::{AcquiredSite, FetchEvent, Workbench};
use model::{AddressGroup, CanonicalUrl, PageId, Reason, Scheme, SiteId};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use self::parsing::UnparsedPage;
use crate::control::context::CrawlContext;
use crate::control::local_faults::Admission;
use crate::dispatcher::host_clocks::Cooldown;
use crate::dispatcher::resolved_site::ResolvedSite;
use crate::dispatcher::robots_fetch::{PendingRobotsFetches, SiteKey};
use crate::dispatcher::{DispatcherHandle, HarvesterTask};
use crate::files::journal::{Journal, JournalEntry};
use crate::gatherer::Gatherer;
use crate::harvester::active_site::ActiveSite;
use crate::harvester::job::{JobSlab, RequestJob};
use crate::item::batch::BatchSite;
use crate::item::harvest_event::HarvestEvent;
use crate::item::harvest_item::HarvestItem;
use crate::item::http_head::HttpHead;
use crate::item::outbox::Outbox;
use crate::item::robots_policy;
use crate::item::robots_response::RobotsResponse;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::stop_mode::StopMode;

/// Harvester of a crawl.
pub(crate) struct Harvester<'s> {
    context: CrawlContext,
    settings: Arc<CrawlSettings>,
    fetcher: Rc<Fetcher>,
    gatherer: Option<Gatherer<'s>>,
    workbench: Workbench<SiteKey>,
    jobs: JobSlab,
    sites: HashMap<SiteId, ActiveSite>,
    /// Site ids by name: scheme, host and port.
    by_name: HashMap<Box<str>, SiteId>,
    robots_fetches: PendingRobotsFetches,
    /// Idle connections that can be reused: at most one per address, of the site that was contacted last.
    idle_connections: HashMap<AddressGroup, (SiteId, Connection)>,
    requests: JoinSet<FinishedRequest>,
    max_requests: usize,
    /// Pages that have arrived but are not parsed.
    unparsed: VecDeque<UnparsedPage>,
    outbox: Outbox<HarvestItem>,
    journal: Journal,
    dispatcher: DispatcherHandle,
    /// Start of this run, if the clocks of the previous run are lost: sites have their full delay from then on.
    clocks_lost_since_ms: Option<u64>,
    /// No request starts before this time, because of the rate limit.
    rate_limited_until_ms: u64,
    /// No request starts before this time, because of a local fault.
    paused_until: Option<Instant>,
    /// No request starts before one in flight has ended, here or in another harvester, because of the page quota.
    waits_for_quota: bool,
}

/// Request that has ended.
struct FinishedRequest {
    acquired: AcquiredSite<SiteKey>,
    job: RequestJob,
    /// `None` if it was aborted because the lease of the batch has expired.
    response: Option<Response>,
    connection: Option<Connection>,
    admission: Admission,
}

/// Parts and configuration of a harvester.
pub(crate) struct HarvesterConfig<'s> {
    pub(crate) context: CrawlContext,
    pub(crate) fetcher: Fetcher,
    pub(crate) gatherer: Option<Gatherer<'s>>,
    pub(crate) outbox: Outbox<HarvestItem>,
    pub(crate) journal: Journal,
    pub(crate) dispatcher: DispatcherHandle,
    pub(crate) max_requests: usize,
    pub(crate) clocks_lost_since_ms: Option<u64>,
    /// Earliest times of the next request to addresses, in Unix milliseconds.
    pub(crate) address_cooldowns: &'s [(IpAddr, u64)],
}

impl<'s> Harvester<'s> {
    pub(crate) fn new(config: HarvesterConfig<'s>) -> Harvester<'s> {
        let HarvesterConfig { context, fetcher, gatherer, outbox, journal, dispatcher, .. } = config;
        let HarvesterConfig { max_requests, clocks_lost_since_ms, address_cooldowns, .. } = config;
        let mut workbench = Workbench::new();
        address_cooldowns.iter().for_each(|(address, ready_ms)| workbench.delay_address(*address, *ready_ms));
        Harvester {
            settings: context.settings(),
            context,
            fetcher: Rc::new(fetcher),
            gatherer,
            workbench,
            jobs: JobSlab::default(),
            sites: HashMap::new(),
            by_name: HashMap::new(),
            robots_fetches: PendingRobotsFetches::default(),
            idle_connections: HashMap::new(),
            requests: JoinSet::new(),
            max_requests,
            unparsed: VecDeque::new(),
            outbox,
            journal,
            dispatcher,
            clocks_lost_since_ms,
            rate_limited_until_ms: 0,
            paused_until: None,
            waits_for_quota: false,
        }
    }

    /// Runs until it is stopped, has no more tasks, or the receiver of its items is gone. Returns its journal.
    pub(crate) async fn run(
        mut self,
        mut tasks: UnboundedReceiver<HarvesterTask>,
    ) -> std::io::Result<Journal> {
        let mut closed = false;
        loop {
            while let Ok(task) = tasks.try_recv() {
                self.accept(task)?;
            }
            while let Some(ended) = self.requests.try_join_next() {
                self.finish_request(ended)?;
            }
            if self.context.stop_mode() == StopMode::Immediate {
                self.context.counters.requests_in_flight.fetch_sub(self.requests.len() as u64, Relaxed);
                return Ok(self.journal);
            }
            if self.context.stop_mode() == StopMode::Graceful {
                self.release_all()?;
            } else {
                self.start_requests();
            }
            if let Some(page) = self.unparsed.pop_front() {
                // Let the requests that were just started be sent first: servers work while this thread parses.
                tokio::task::yield_now().await;
                self.parse_page(page)?;
                if self.outbox.send_chunks() && !self.outbox.is_full() {
                    continue;
                }
            }
            let has_receiver = self.outbox.flush();
            let idle = self.requests.is_empty()
                && self.unparsed.is_empty()
                && self.sites.is_empty()
                && self.outbox.is_empty();
            if !has_receiver || (idle && (closed || self.context.stop_mode() >= StopMode::Graceful)) {
                return Ok(self.journal);
            }
            let can_start = self.has_capacity() && self.context.may_start() && !self.waits_for_quota;
            let next = self.workbench.next_ready_ms().filter(|_| can_start);
            let wake = self.context.clock.instant(next.unwrap_or(0).max(self.rate_limited_until_ms));
            let wake = self.paused_until.map_or(wake, |until| wake.max(until));
            let lease = Arc::clone(&self.context.lease);
            tokio::select! {
                biased;
                ended = self.requests.join_next(), if !self.requests.is_empty() => {
                    if let Some(ended) = ended {
                        self.finish_request(ended)?;
                    }
                }
                () = self.outbox.wait_for_capacity(), if !self.outbox.is_empty() => {}
                task = tasks.recv(), if !closed => match task {
                    Some(task) => self.accept(task)?,
                    None => closed = true,
                },
                () = self.context.changed() => self.apply_settings()?,
                () = lease.expired(), if !self.idle_connections.is_empty() => self.idle_connections.clear(),
                () = tokio::time::sleep_until(wake.into()), if next.is_some() => {}
            }
        }
    }

    /// Applies new settings to the active sites. If another product token applies to the robots.txt of a site, its pages are
    /// returned: the next batch contains the text of the file, which the harvester does not keep.
    fn apply_settings(&mut self) -> std::io::Result<()> {
        if !self.context.may_start() {
            // During a pause it is unknown when the connections would be used again.
            self.idle_connections.clear();
        }
        let settings = self.context.settings();
        if Arc::ptr_eq(&self.settings, &settings) {
            return Ok(());
        }
        self.settings = settings;
        if let Some(gatherer) = &mut self.gatherer {
            gatherer.update_settings(&self.settings.gathering);
        }
        self.return_excluded_pages()?;
        let sites = self.sites.values_mut();
        let changed: Vec<SiteId> = sites
            .filter_map(|active| active.update_settings(&self.settings).then_some(active.site))
            .collect();
        for site in changed {
            self.return_pages(site, None)?;
            self.close_if_done(site)?;
        }
        Ok(())
    }

    fn accept(&mut self, task: HarvesterTask) -> std::io::Result<()> {
        match task {
            HarvesterTask::Site(site, front_page, resolved) => self.add_site(*site, front_page, &resolved),
            HarvesterTask::FetchRobots(fetch, address, earliest_ms) => {
                self.start_robots_fetch(fetch, address, earliest_ms);
                Ok(())
            }
            HarvesterTask::FetchRobotsAtActiveSite(fetch) => {
                self.attach_robots_fetch(fetch);
                Ok(())
            }
            HarvesterTask::RobotsResult { site, response } => self.on_robots(site, &response),
            HarvesterTask::RobotsHostNotLeased { site, name } => self.on_robots_not_leased(site, name.into()),
        }
    }

    /// Adds a site of a batch.
    fn add_site(
        &mut self,
        site: BatchSite,
        front_page: CanonicalUrl,
        resolved: &ResolvedSite,
    ) -> std::io::Result<()> {
        let now_s = self.context.clock.now_s();
        let (max_age_s, retry_s) = (self.settings.robots.max_age_s, self.settings.robots.retry_s);
        let robots = site.robots.as_ref();
        let robots =
            robots.filter(|robots| robots_policy::is_fresh(robots, now_s, max_age_s, retry_s)).cloned();
        let mut active = ActiveSite::new(&site, front_page, resolved, &self.settings);
        // The Crawl-delay applies from the first request on.
        if let Some(robots) = &robots {
            active.apply_robots(robots);
        }
        self.set_clocks(&mut active, site.earliest_request_ms, resolved.last_request_ms);
        for page in site.pages {
            match self
                .settings
                .gathering
                .rules
                .canonical(&page.url)
                .ok()
                .filter(|url| url.as_str() == page.url)
            {
                Some(url) => {
                    let job =
                        self.jobs.add(RequestJob::Page { page: page.page, url, validators: page.validators });
                    self.workbench.push(site.site.into(), job);
                }
                // The rules for canonical URLs have changed since the page was discovered.
                None => self.skip_page(page.page, Reason::RejectedByPattern)?,
            }
        }
        let robots_txt =
            self.settings.gathering.rules.join(&active.front_page, robots_path(&active.front_page));
        self.by_name.insert(active.front_page.site().into(), site.site);
        self.sites.insert(site.site, active);
        self.context.counters.active_sites.fetch_add(1, Relaxed);
        match (robots, robots_txt) {
            (Some(robots), _) => self.apply_robots(site.site, &robots),
            (None, Ok(url)) => {
                let job = self.jobs.add(RequestJob::Robots { url, redirects: 0 });
                self.workbench.push_first(site.site.into(), job);
                Ok(())
            }
            (None, Err(_)) => self.apply_robots(site.site, &RobotsResponse::unreachable(now_s)),
        }
    }

    /// Handles the end of a request.
    fn finish_request(
        &mut self,
        ended: Result<FinishedRequest, tokio::task::JoinError>,
    ) -> std::io::Result<()> {
        let ended_ms = self.context.clock.now_ceil_ms();
        self.context.counters.requests_in_flight.fetch_sub(1, Relaxed);
        let FinishedRequest { acquired, job, response, connection, admission } = match ended {
            Ok(ended) => ended,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        let Some(response) = response else { return self.requeue(acquired, job, ended_ms, true) };
        // A probe starts during an outage, so that its timeout shows nothing about the site, even if the outage has ended.
        let is_probe_timeout = admission.is_network_probe() && outage::is_suspicious(&response);
        if response.local_fault.is_some() || is_probe_timeout {
            let was_sent = !response.request.is_empty();
            self.fail_locally(&job, admission, response.local_fault);
            return self.requeue(acquired, job, ended_ms, was_sent);
        }
        admission.complete();
        let event = fetch_event(&response, self.context.clock.now_s());
        let site = acquired.site.id();
        if let Some(active) = site.and_then(|site| self.sites.get_mut(&site)) {
            active.apply_throttling(response.status, &self.settings.politeness);
        }
        self.start_cooldown(acquired, event, connection, ended_ms)?;
        match (job, site) {
            (RequestJob::CrossHostRobots(fetch), _) => {
                self.on_cross_host_robots(acquired, *fetch, &response, ended_ms)?;
            }
            (RequestJob::Page { page, url, validators }, Some(site)) => {
                self.on_page(site, page, url, response, validators.is_empty());
            }
            (RequestJob::Robots { url, redirects }, Some(site)) => {
                self.on_robots_response(site, &url, redirects, &response)?;
            }
            (RequestJob::Sitemap { url, depth }, Some(site)) => {
                self.on_sitemap(site, &url, depth, &response)?;
            }
            // Synthetic sites have no other jobs.
            (_, None) => {}
        }
        site.map_or(Ok(()), |site| self.close_if_done(site))
    }

    /// Returns the pages of a site that are not requested yet to the manager.
    fn return_pages(&mut self, site: SiteId, reason: Option<Reason>) -> std::io::Result<()> {
        let held = self.robots_fetches.release_jobs(site);
        for job in self.workbench.drain(site.into()).into_iter().chain(held) {
            match self.jobs.remove(job) {
                Some(RequestJob::Page { page, .. }) => {
                    self.context.counters.pages_queued.fetch_sub(1, Relaxed);
                    self.send(HarvestEvent::PageReturned { page, reason })?;
                }
                // Another harvester waits for the result.
                Some(RequestJob::CrossHostRobots(fetch)) => {
                    self.dispatcher
                        .return_robots(&fetch, RobotsResponse::unreachable(self.context.clock.now_s()));
                }
                Some(RequestJob::Robots { .. } | RequestJob::Sitemap { .. }) | None => {}
            }
        }
        Ok(())
    }

    /// Returns the pages that the scope of new settings excludes; the manager records the reason.
    fn return_excluded_pages(&mut self) -> std::io::Result<()> {
        let sites: Vec<SiteId> = self.sites.keys().copied().collect();
        for site in sites {
            for job in self.workbench.drain(site.into()) {
                let scope = &self.settings.gathering.scope;
                match self.jobs.get(job) {
                    Some(RequestJob::Page { page, url, .. }) if scope.check_link(url, false).is_err() => {
                        let page = *page;
                        self.jobs.remove(job);
                        self.context.counters.pages_queued.fetch_sub(1, Relaxed);
                        self.send(HarvestEvent::PageReturned { page, reason: None })?;
                    }
                    _ => {
                        self.workbench.push(site.into(), job);
                    }
                }
            }
            self.close_if_done(site)?;
        }
        Ok(())
    }

    /// Releases all sites at the end. The pages need no event, because the coordinator requeues what was not fetched.
    fn release_all(&mut self) -> std::io::Result<()> {
        let sites: Vec<SiteId> = self.sites.keys().copied().collect();
        for site in sites {
            self.robots_fetches.release_jobs(site);
            self.workbench.drain(site.into());
            self.close_if_done(site)?;
        }
        Ok(())
    }

    fn skip_page(&mut self, page: PageId, reason: Reason) -> std::io::Result<()> {
        self.context.counters.pages_queued.fetch_sub(1, Relaxed);
        self.context.counters.pages_skipped.fetch_add(1, Relaxed);
        self.send(HarvestEvent::PageSkipped { page, reason })
    }

    /// Finishes a site without work; the workbench keeps the cooldown of its address.
    fn close_if_done(&mut self, site: SiteId) -> std::io::Result<()> {
        let has_work = self.workbench.jobs_of(site.into()) > 0
            || self.workbench.is_acquired(site.into())
            || self.robots_fetches.is_pending(site)
            || self.sites.get(&site).is_some_and(|active| active.unparsed > 0);
        if has_work {
            return Ok(());
        }
        let Some(active) = self.sites.remove(&site) else { return Ok(()) };
        self.by_name.remove(active.front_page.site());
        let until_ms = active.next_request_ms.max(active.back_off_until_ms);
        self.dispatcher.release_host(active.front_page.site(), Cooldown { until_ms, last_request_ms: 0 });
        self.workbench.remove_site(site.into());
        let address = AddressGroup::from(active.address);
        if self.idle_connections.get(&address).is_some_and(|(owner, _)| *owner == site) {
            self.idle_connections.remove(&address);
        }
        self.context.counters.active_sites.fetch_sub(1, Relaxed);
        self.send(HarvestEvent::SiteDone(active.result()))
    }

    fn send(&mut self, event: HarvestEvent) -> std::io::Result<()> {
        self.journal.next_seq();
        let look_up = |site| self.sites.get(&site).map(|active| (active.front_page.site(), active.address));
        if let Some(entry) = JournalEntry::from_event(&event, look_up) {
            self.journal.append(&entry)?;
        }
        let bytes = if let HarvestEvent::UrlsListed(list) = &event { list.urls.len() * 64 } else { 64 };
        self.outbox.push(HarvestItem::Event(event), bytes);
        Ok(())
    }
}

/// Path of the robots.txt of a site. The first character of a gopher path is the type of the item: 0 is a text.
fn robots_path(front_page: &CanonicalUrl) -> &'static str {
    if front_page.scheme() == Scheme::Gopher { "/0/robots.txt" } else { "/robots.txt" }
}

/// Classifies a response for the retry policy. An unwanted MIME type is not a failure of the site.
fn fetch_event(response: &Response, now_s: u32) -> FetchEvent {
    match response.failure {
        None | Some(Reason::MimeType) => {
            let head = HttpHead(&response.head);
            FetchEvent::from_status(response.status, head.retry_after_ms(now_s))
        }
        Some(reason) => FetchEvent::NoResponse(reason),
    }
}

#[cfg(test)]
mod tests;
