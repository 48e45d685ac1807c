//! Tests of a harvester up to the point where it would send a request.

use fetch::{FetchSettings, LocalFault};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, channel, unbounded_channel};

use super::*;
use crate::control::handle::CrawlHandle;
use crate::control::local_faults::Activity;
use crate::dispatcher::DispatcherRequest;
use crate::item::batch::test_site;

const ADDRESS: [u8; 4] = [192, 0, 2, 1];

/// Harvester that sends no request, with its channels.
struct Fixture {
    harvester: Harvester<'static>,
    items: Receiver<(usize, Vec<HarvestItem>)>,
    requests: UnboundedReceiver<DispatcherRequest>,
    handle: CrawlHandle,
}

impl Fixture {
    fn new(clocks_lost_since_ms: Option<u64>) -> Fixture {
        let handle = CrawlHandle::new(CrawlSettings::default());
        let (item_sender, items) = channel(16);
        let (request_sender, requests) = unbounded_channel();
        let harvester = Harvester::new(HarvesterConfig {
            context: handle.context(None),
            fetcher: Fetcher::new(Arc::new(FetchSettings::default())).unwrap(),
            gatherer: None,
            outbox: Outbox::new(item_sender, 0),
            journal: Journal::create(None, 0, Arc::default()).unwrap(),
            dispatcher: DispatcherHandle(request_sender),
            max_requests: 1,
            clocks_lost_since_ms,
            address_cooldowns: &[],
        });
        Fixture { harvester, items, requests, handle }
    }

    /// Adds the site of the tests, whose robots.txt was fetched just now.
    fn add_site(&mut self, status: u16, robots: &str) {
        let now_s = self.harvester.context.clock.now_s();
        let robots = RobotsResponse { fetched_s: now_s, status, text: robots.as_bytes().to_vec() };
        let mut site = BatchSite {
            robots: Some(robots),
            sitemaps_due: false,
            earliest_request_ms: 0,
            throttle_delay_ms: 0,
            ..test_site()
        };
        // The second URL is not canonical.
        site.pages.truncate(1);
        let front_page =
            self.harvester.settings.gathering.rules.canonical(&format!("{}/", site.name)).unwrap();
        let resolved =
            ResolvedSite { address: ADDRESS.into(), resolved_s: 1, address_expires_s: 2, last_request_ms: 0 };
        self.harvester.accept(HarvesterTask::Site(Box::new(site), front_page, resolved)).unwrap();
    }

    fn events(&mut self) -> Vec<HarvestEvent> {
        self.harvester.outbox.flush();
        let mut events = Vec::new();
        while let Ok((_, items)) = self.items.try_recv() {
            events.extend(
                items
                    .into_iter()
                    .filter_map(|item| if let HarvestItem::Event(event) = item { Some(event) } else { None }),
            );
        }
        events
    }
}

#[test]
fn pages_that_robots_txt_disallows_are_skipped_and_the_host_is_released() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(200, "User-agent: *\nDisallow: /\n");
    let events = fixture.events();
    let [HarvestEvent::PageSkipped { reason, .. }, HarvestEvent::SiteDone(_)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(*reason, Reason::RobotsDisallowed);
    let request = fixture.requests.try_recv();
    assert!(matches!(request, Ok(DispatcherRequest::HostReleased(..))), "{request:?}");
}

#[test]
fn pages_of_a_site_with_an_unreachable_robots_txt_are_returned() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(503, "");
    let events = fixture.events();
    let [HarvestEvent::PageReturned { reason: Some(reason), .. }, HarvestEvent::SiteDone(result)] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(*reason, Reason::RobotsUnreachable);
    assert!(result.back_off_until_ms > fixture.harvester.context.clock.now_ms());
}

#[test]
fn an_allowed_page_waits_in_the_workbench_for_the_delay_after_lost_clocks() {
    let mut ready = Fixture::new(None);
    ready.add_site(404, "");
    assert!(ready.events().is_empty());
    let now_ms = ready.harvester.context.clock.now_ms();
    assert!(ready.harvester.workbench.next_ready_ms().is_some_and(|ready_ms| ready_ms <= now_ms));

    let mut delayed = Fixture::new(Some(now_ms));
    delayed.add_site(404, "");
    let delay_ms = delayed.harvester.settings.max_site_delay_ms();
    assert!(delay_ms > 0);
    assert_eq!(delayed.harvester.workbench.next_ready_ms(), Some(now_ms + delay_ms));
}

#[test]
fn a_crawl_delay_extends_the_delay_of_a_site() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(200, "User-agent: *\nCrawl-delay: 90\n");
    let politeness = fixture.harvester.settings.politeness.clone();
    let active = fixture.harvester.sites.get_mut(&SiteId(3)).unwrap();
    assert_eq!(active.delay_ms(&politeness), 90_000.min(politeness.max_crawl_delay_ms));
}

#[test]
fn throttling_doubles_the_delay_and_successes_reduce_it_slowly() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(404, "");
    let politeness = fixture.harvester.settings.politeness.clone();
    let active = fixture.harvester.sites.get_mut(&SiteId(3)).unwrap();
    let normal_ms = active.delay_ms(&politeness);
    active.apply_throttling(429, &politeness);
    let throttled_ms = active.delay_ms(&politeness);
    assert_eq!(throttled_ms, (2 * normal_ms).clamp(250, politeness.max_crawl_delay_ms));
    active.apply_throttling(500, &politeness);
    assert_eq!(active.delay_ms(&politeness), throttled_ms, "other failures say nothing about the rate");
    active.apply_throttling(200, &politeness);
    let reduced_ms = active.delay_ms(&politeness);
    assert!(reduced_ms < throttled_ms && reduced_ms >= throttled_ms - throttled_ms.div_ceil(64));
}

/// Ends the request of the only ready site.
fn end_request(fixture: &mut Fixture, response: Response) {
    let now_ms = fixture.harvester.context.clock.now_ms();
    let acquired = fixture.harvester.workbench.acquire(now_ms).unwrap();
    let job = fixture.harvester.jobs.remove(acquired.job).unwrap();
    let admission = fixture.harvester.context.admit(Activity::Requests).unwrap();
    let counters = &fixture.harvester.context.counters;
    counters.requests.fetch_add(1, Relaxed);
    counters.requests_in_flight.fetch_add(1, Relaxed);
    let ended = FinishedRequest { acquired, job, response: Some(response), connection: None, admission };
    fixture.harvester.finish_request(Ok(ended)).unwrap();
}

#[test]
fn a_request_that_fails_by_a_local_fault_is_repeated_and_leaves_the_site_unchanged() {
    for fault in [LocalFault::TooManyOpenFiles, LocalFault::NetworkUnreachable, LocalFault::NetworkOutage] {
        let mut fixture = Fixture::new(None);
        fixture.add_site(404, "");
        let before = fixture.harvester.sites[&SiteId(3)].result();
        let failed = Response {
            failure: Some(Reason::ConnectFailed),
            local_fault: Some(fault),
            is_unreachable: true,
            ..Response::default()
        };
        end_request(&mut fixture, failed);
        assert!(fixture.events().is_empty());
        assert_eq!(fixture.harvester.sites[&SiteId(3)].result(), before);
        assert_eq!(fixture.harvester.workbench.jobs_of(SiteId(3).into()), 1);
        assert_eq!(fixture.harvester.context.counters.requests.load(Relaxed), 0);
        assert!(fixture.harvester.unparsed.is_empty());
        let progress = fixture.handle.progress();
        assert_eq!(progress.local_fault.map(|status| status.fault), Some(fault));
        assert!(fixture.harvester.context.admit(Activity::Requests).is_err(), "no further request starts");
    }
}

#[test]
fn a_request_that_the_server_may_have_received_starts_the_delay_of_the_site_despite_a_local_fault() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(404, "");
    let now_ms = fixture.harvester.context.clock.now_ms();
    let failed = Response {
        failure: Some(Reason::FirstByteTimeout),
        local_fault: Some(LocalFault::NetworkOutage),
        request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        ..Response::default()
    };
    end_request(&mut fixture, failed);
    let active = &fixture.harvester.sites[&SiteId(3)];
    let delay_ms = active.delay_ms(&fixture.harvester.settings.politeness);
    assert!(active.last_request_ended_ms >= now_ms);
    assert_eq!(active.result().next_request_ms, active.last_request_ended_ms + delay_ms);
}

#[test]
fn the_same_failure_without_a_local_fault_is_one_of_the_site() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(404, "");
    end_request(&mut fixture, Response { failure: Some(Reason::ConnectFailed), ..Response::default() });
    assert!(matches!(fixture.events()[..], [HarvestEvent::SiteBackedOff { .. }, ..]));
    assert_eq!(fixture.harvester.sites[&SiteId(3)].consecutive_errors, test_site().consecutive_errors + 1);
    assert!(fixture.handle.progress().local_fault.is_none());
}

#[test]
fn a_timeout_of_the_probe_is_repeated_even_if_the_outage_has_ended() {
    let mut fixture = Fixture::new(None);
    fixture.add_site(404, "");
    let before = fixture.harvester.sites[&SiteId(3)].result();
    let faults = Arc::clone(&fixture.harvester.context.local_faults);
    let start = Instant::now();
    let long_ago = start.checked_sub(std::time::Duration::from_secs(60)).unwrap();
    faults.admit(Activity::Requests, 0, long_ago).unwrap().fail(LocalFault::NetworkOutage, 0, long_ago);
    let timeout =
        Response { failure: Some(Reason::ConnectTimeout), is_unreachable: true, ..Response::default() };
    end_request(&mut fixture, timeout);
    assert!(fixture.events().is_empty());
    assert_eq!(fixture.harvester.sites[&SiteId(3)].result(), before);
    assert!(fixture.handle.progress().local_fault.is_none(), "the outage has ended");
}
