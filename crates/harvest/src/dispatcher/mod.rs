//! Dispatcher: resolves the host names of a batch and assigns each site to a harvester.
//!
//! DNS lookups are rate-limited and run ahead of the harvesters. All sites of an address go to one harvester, whatever
//! batch they are in. A site whose name cannot be resolved is returned to the manager.

pub mod address_policy;
pub mod batch_resolver;
pub(crate) mod host_clocks;
pub(crate) mod resolved_site;
pub(crate) mod robots_fetch;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fetch::{Failure, ResolvedHost, Resolver};
use frontier::FetchEvent;
use model::{AddressGroup, CanonicalUrl, Reason, SiteId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use crate::control::context::CrawlContext;
use crate::control::local_faults;
use crate::control::local_faults::{Activity, Admission};
use crate::dispatcher::address_policy::{AddressPolicy, RobotsRoute};
use crate::dispatcher::host_clocks::{Cooldown, HostClocks, HostOwner};
use crate::dispatcher::resolved_site::ResolvedSite;
use crate::dispatcher::robots_fetch::CrossHostRobotsFetch;
use crate::item::batch::{Batch, BatchSite};
use crate::item::harvest_event::{HarvestEvent, SiteResult, SitemapOutcome};
use crate::item::harvest_item::HarvestItem;
use crate::item::outbox::Outbox;
use crate::item::robots_response::RobotsResponse;
use crate::settings::clock::seconds;
use crate::settings::random::random;
use crate::settings::stop_mode::StopMode;

/// Task of a harvester.
#[derive(Debug)]
pub(crate) enum HarvesterTask {
    /// Site of a batch, with its front page and address.
    Site(Box<BatchSite>, CanonicalUrl, ResolvedSite),
    /// Fetch of a robots.txt for another site: address to contact, and earliest time in Unix milliseconds.
    FetchRobots(CrossHostRobotsFetch, IpAddr, u64),
    /// Fetch of a robots.txt for another site, from a site that the harvester works on.
    FetchRobotsAtActiveSite(CrossHostRobotsFetch),
    /// Result of a fetch of robots.txt by another harvester, for a site of this one.
    RobotsResult { site: SiteId, response: RobotsResponse },
    /// The host of the robots.txt was not leased with the batch.
    RobotsHostNotLeased { site: SiteId, name: Box<str> },
}

/// Request to the dispatcher.
#[derive(Debug)]
pub(crate) enum DispatcherRequest {
    Batch(Batch),
    FetchRobots(CrossHostRobotsFetch),
    RobotsResult(CrossHostRobotsFetch, RobotsResponse),
    /// No harvester works on a host any more.
    HostReleased(Box<str>, Cooldown),
}

/// Sender of requests to the dispatcher.
#[derive(Debug, Clone)]
pub(crate) struct DispatcherHandle(pub(crate) UnboundedSender<DispatcherRequest>);

impl DispatcherHandle {
    /// Requests a fetch. At the end of a crawl the dispatcher can be gone: the site is then returned without a fetch.
    pub(crate) fn request_robots(&self, fetch: CrossHostRobotsFetch) {
        let _ = self.0.send(DispatcherRequest::FetchRobots(fetch));
    }

    pub(crate) fn return_robots(&self, fetch: &CrossHostRobotsFetch, response: RobotsResponse) {
        let _ = self.0.send(DispatcherRequest::RobotsResult(fetch.clone(), response));
    }

    /// Releases a host; the next request must wait for its cooldown.
    pub(crate) fn release_host(&self, name: &str, cooldown: Cooldown) {
        let _ = self.0.send(DispatcherRequest::HostReleased(name.into(), cooldown));
    }
}

/// Dispatcher of a crawl.
pub(crate) struct Dispatcher {
    context: CrawlContext,
    resolver: Arc<Resolver>,
    harvesters: Vec<UnboundedSender<HarvesterTask>>,
    /// Harvester of each address, for the first addresses.
    address_owners: HashMap<AddressGroup, usize>,
    host_clocks: HostClocks<HarvesterTask>,
    address_policy: AddressPolicy,
    outbox: Outbox<HarvestItem>,
    lookups: JoinSet<ResolveResult>,
    waiting: VecDeque<ResolveJob>,
    next_lookup: tokio::time::Instant,
    /// No lookup starts before this time, because of a local fault.
    paused_until: Option<tokio::time::Instant>,
}

/// Maximum size of the table of address owners, at about 40 bytes per entry.
const MAX_ADDRESS_OWNERS: usize = 1 << 20;

/// Name to resolve.
enum ResolveJob {
    Site(Box<BatchSite>, CanonicalUrl),
    RobotsHost(CrossHostRobotsFetch),
}

struct ResolveResult {
    job: ResolveJob,
    result: Result<ResolvedHost, Failure>,
    admission: Admission,
}

impl Dispatcher {
    pub(crate) fn new(
        context: CrawlContext,
        resolver: Resolver,
        harvesters: Vec<UnboundedSender<HarvesterTask>>,
        outbox: Outbox<HarvestItem>,
        host_cooldowns: Vec<(String, u64)>,
        address_policy: AddressPolicy,
    ) -> Dispatcher {
        Dispatcher {
            context,
            resolver: Arc::new(resolver),
            harvesters,
            address_owners: HashMap::new(),
            host_clocks: HostClocks::new(host_cooldowns),
            address_policy,
            outbox,
            lookups: JoinSet::new(),
            waiting: VecDeque::new(),
            next_lookup: tokio::time::Instant::now(),
            paused_until: None,
        }
    }

    /// Runs until the crawl stops or all senders are gone.
    pub(crate) async fn run(mut self, mut requests: UnboundedReceiver<DispatcherRequest>) {
        loop {
            // Pages that are not dispatched need no event: the coordinator requeues them.
            if !self.outbox.flush() || self.context.stop_mode() >= StopMode::Graceful {
                return;
            }
            let settings = self.context.settings();
            let may_look_up = !self.waiting.is_empty()
                && self.lookups.len() < settings.lookups.max_concurrent
                && self.context.may_start();
            let next_lookup = self.paused_until.map_or(self.next_lookup, |until| self.next_lookup.max(until));
            tokio::select! {
                biased;
                result = self.lookups.join_next(), if !self.lookups.is_empty() => {
                    match result {
                        Some(Ok(result)) => self.finish_lookup(result),
                        Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
                        None => {}
                    }
                }
                request = requests.recv() => match request {
                    Some(request) => self.accept(request),
                    None => return,
                },
                () = self.context.changed() => self.paused_until = None,
                () = tokio::time::sleep_until(next_lookup), if may_look_up => {
                    let interval = Duration::from_secs(1) / settings.lookups.max_per_second.max(1);
                    self.next_lookup = tokio::time::Instant::now() + interval;
                    match self.context.admit(Activity::Lookups) {
                        Ok(admission) => self.start_lookup(admission),
                        Err(until) => self.paused_until = Some(until.into()),
                    }
                }
                () = self.outbox.wait_for_capacity(), if !self.outbox.is_empty() => {}
            }
        }
    }

    fn accept(&mut self, request: DispatcherRequest) {
        match request {
            DispatcherRequest::Batch(batch) => {
                batch.sites.into_iter().for_each(|site| self.accept_site(site));
            }
            DispatcherRequest::FetchRobots(fetch) => match self.host_clocks.harvester(fetch.url.site()) {
                Some(harvester) => self.send_to(harvester, HarvesterTask::FetchRobotsAtActiveSite(fetch)),
                None => self.accept_robots_fetch(fetch),
            },
            DispatcherRequest::RobotsResult(fetch, response) => {
                let (harvester, site) = fetch.origin();
                self.send_to(harvester, HarvesterTask::RobotsResult { site, response });
            }
            DispatcherRequest::HostReleased(name, cooldown) => {
                let now_ms = self.context.clock.now_ms();
                for task in self.host_clocks.release(&name, cooldown, now_ms) {
                    match task {
                        HarvesterTask::Site(site, front_page, resolved) => {
                            self.send_site(site, front_page, resolved);
                        }
                        HarvesterTask::FetchRobots(fetch, address, _) => {
                            self.send_robots_fetch(fetch, address);
                        }
                        HarvesterTask::FetchRobotsAtActiveSite(_)
                        | HarvesterTask::RobotsResult { .. }
                        | HarvesterTask::RobotsHostNotLeased { .. } => {}
                    }
                }
            }
        }
    }

    fn accept_site(&mut self, site: BatchSite) {
        let settings = self.context.settings();
        let Ok(front_page) = settings.gathering.rules.canonical(&format!("{}/", site.name)) else {
            return self.fail_resolution(&site, Reason::DnsNotFound);
        };
        let now_s = self.context.clock.now_s();
        match site.address.filter(|_| now_s < site.address_expires_s) {
            Some(address) => {
                let expires_s = site.address_expires_s;
                self.assign_address(Box::new(site), front_page, &[address], expires_s);
            }
            None => self.waiting.push_back(ResolveJob::Site(Box::new(site), front_page)),
        }
    }

    fn accept_robots_fetch(&mut self, fetch: CrossHostRobotsFetch) {
        let (harvester, site) = fetch.origin();
        let name = fetch.url.site();
        match self.address_policy.robots_route(site, name) {
            RobotsRoute::Resolve => self.waiting.push_back(ResolveJob::RobotsHost(fetch)),
            RobotsRoute::Address(address) => self.send_robots_fetch(fetch, address),
            RobotsRoute::Unreachable => {
                let unreachable = RobotsResponse::unreachable(self.context.clock.now_s());
                self.accept(DispatcherRequest::RobotsResult(fetch, unreachable));
            }
            RobotsRoute::NotLeased => {
                self.send_to(harvester, HarvesterTask::RobotsHostNotLeased { site, name: name.into() });
            }
        }
    }

    /// Starts the next DNS lookup.
    fn start_lookup(&mut self, admission: Admission) {
        let Some(job) = self.waiting.pop_front() else { return };
        let host = match &job {
            ResolveJob::Site(_, front_page) => front_page.host().to_owned(),
            ResolveJob::RobotsHost(fetch) => fetch.url.host().to_owned(),
        };
        let (resolver, now_ms) = (Arc::clone(&self.resolver), self.context.clock.now_ms());
        self.lookups.spawn_local(async move {
            let result = resolver.resolve(&host, now_ms).await;
            ResolveResult { job, result, admission }
        });
    }

    fn finish_lookup(&mut self, ResolveResult { job, result, admission }: ResolveResult) {
        let result = match result {
            // Nothing is known about the host: the lookup is repeated, after the other names, so that the next probe is another
            // name.
            Err(Failure::Local(fault)) => {
                let in_flight = self.context.counters.requests_in_flight.load(Relaxed);
                admission.fail(fault, in_flight, local_faults::now());
                return self.waiting.push_back(job);
            }
            Err(Failure::Site(reason)) => Err(reason),
            Ok(resolved) => Ok(resolved),
        };
        admission.complete();
        let now_s = self.context.clock.now_s();
        match (job, result) {
            (ResolveJob::Site(site, front_page), Ok(resolved)) => {
                self.assign_address(site, front_page, &resolved.addresses, seconds(resolved.expires_ms));
            }
            (ResolveJob::Site(site, _), Err(reason)) => self.fail_resolution(&site, reason),
            (ResolveJob::RobotsHost(fetch), result) => {
                let addresses = result.map(|host| host.addresses).unwrap_or_default();
                match self.address_policy.allowed_address(&addresses, None) {
                    Some(address) => self.send_robots_fetch(fetch, address),
                    None => self
                        .accept(DispatcherRequest::RobotsResult(fetch, RobotsResponse::unreachable(now_s))),
                }
            }
        }
    }

    /// Assigns a site to the first of its addresses that may be contacted.
    fn assign_address(
        &mut self,
        site: Box<BatchSite>,
        front_page: CanonicalUrl,
        addresses: &[IpAddr],
        expires_s: u32,
    ) {
        let resolved_s = self.context.clock.now_s();
        match (self.address_policy.allowed_address(addresses, site.address), addresses.first()) {
            (Some(address), _) => {
                let resolved =
                    ResolvedSite { address, resolved_s, address_expires_s: expires_s, last_request_ms: 0 };
                self.send_site(site, front_page, resolved);
            }
            (None, Some(address)) => self.reject_claimed_address(&site, *address, expires_s),
            (None, None) => self.fail_resolution(&site, Reason::DnsNotFound),
        }
    }

    fn send_site(&mut self, mut site: Box<BatchSite>, front_page: CanonicalUrl, mut resolved: ResolvedSite) {
        let name: Box<str> = front_page.site().into();
        let address = resolved.address;
        if let Some(HostOwner::RobotsFetch) = self.host_clocks.owner(&name) {
            return self.host_clocks.enqueue(&name, HarvesterTask::Site(site, front_page, resolved));
        }
        let harvester = self.harvester_for(address);
        let cooldown = self.host_clocks.claim_for_harvester(&name, harvester);
        site.earliest_request_ms = site.earliest_request_ms.max(cooldown.until_ms);
        resolved.last_request_ms = cooldown.last_request_ms;
        self.send_to(harvester, HarvesterTask::Site(site, front_page, resolved));
    }

    fn send_robots_fetch(&mut self, fetch: CrossHostRobotsFetch, address: IpAddr) {
        let name: Box<str> = fetch.url.site().into();
        match self.host_clocks.owner(&name) {
            Some(HostOwner::Harvester(harvester)) => {
                self.send_to(harvester, HarvesterTask::FetchRobotsAtActiveSite(fetch));
            }
            Some(HostOwner::RobotsFetch) => {
                self.host_clocks.enqueue(&name, HarvesterTask::FetchRobots(fetch, address, 0));
            }
            None => {
                let cooldown = self.host_clocks.claim_for_robots(&name);
                let harvester = self.harvester_for(address);
                self.send_to(harvester, HarvesterTask::FetchRobots(fetch, address, cooldown.until_ms));
            }
        }
    }

    /// Harvester of an address, fixed for the whole crawl because its clock is there. New addresses are assigned round-robin, so
    /// that a few addresses are spread evenly; beyond the size limit of the table, by hash.
    fn harvester_for(&mut self, address: IpAddr) -> usize {
        let address = AddressGroup::from(address);
        let (next, harvesters) = (self.address_owners.len(), self.harvesters.len());
        match self.address_owners.get(&address) {
            Some(harvester) => *harvester,
            None if next < MAX_ADDRESS_OWNERS => {
                *self.address_owners.entry(address).or_insert(next % harvesters)
            }
            None => {
                let mut hasher = DefaultHasher::new();
                address.hash(&mut hasher);
                hasher.finish() as usize % harvesters
            }
        }
    }

    /// A harvester that is gone has failed; the crawl ends with its error.
    fn send_to(&self, harvester: usize, task: HarvesterTask) {
        let _ = self.harvesters[harvester].send(task);
    }

    /// Returns the pages of a site whose address another batch claims. The next batch is created with the new address.
    fn reject_claimed_address(&mut self, site: &BatchSite, address: IpAddr, expires_s: u32) {
        self.release_site(site, None);
        let result = SiteResult {
            site: site.site,
            address: Some(address),
            // The site was not contacted.
            resolved_s: 0,
            address_expires_s: expires_s,
            next_request_ms: site.earliest_request_ms,
            consecutive_errors: site.consecutive_errors,
            back_off_until_ms: 0,
            throttle_delay_ms: site.throttle_delay_ms,
            sitemaps_read_s: 0,
            sitemaps: SitemapOutcome::Absent,
        };
        self.outbox.push(HarvestItem::Event(HarvestEvent::SiteDone(result)), 64);
    }

    fn release_site(&mut self, site: &BatchSite, reason: Option<Reason>) {
        for page in &site.pages {
            self.context.counters.pages_queued.fetch_sub(1, Relaxed);
            let event = HarvestEvent::PageReturned { page: page.page, reason };
            self.outbox.push(HarvestItem::Event(event), 64);
        }
    }

    /// Returns the pages of a site whose name cannot be resolved, and puts it into back-off.
    fn fail_resolution(&mut self, site: &BatchSite, reason: Reason) {
        let settings = self.context.settings();
        let decision =
            settings.retry.decide(FetchEvent::NoResponse(reason), site.consecutive_errors, 0, random());
        self.release_site(site, Some(reason));
        let back_off_until_ms = self.context.clock.now_ms() + decision.site_back_off_ms;
        let result = SiteResult {
            site: site.site,
            address: site.address,
            resolved_s: self.context.clock.now_s(),
            address_expires_s: seconds(back_off_until_ms),
            next_request_ms: site.earliest_request_ms,
            consecutive_errors: decision.consecutive_errors,
            back_off_until_ms,
            throttle_delay_ms: site.throttle_delay_ms,
            sitemaps_read_s: 0,
            sitemaps: SitemapOutcome::Absent,
        };
        self.outbox.push(HarvestItem::Event(HarvestEvent::SiteDone(result)), 64);
    }
}

#[cfg(test)]
mod tests;
