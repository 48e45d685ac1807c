//! Tests of a harvester up to the point where it would send a request.

use fetch::FetchSettings;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, channel, unbounded_channel};

use super::*;
use crate::control::handle::CrawlHandle;
use crate::dispatcher::DispatcherRequest;
use crate::item::batch::test_site;

const ADDRESS: [u8; 4] = [192, 0, 2, 1];

/// Harvester that sends no request, with its channels.
struct Fixture {
    harvester: Harvester<'static>,
    items: Receiver<(usize, Vec<HarvestItem>)>,
    requests: UnboundedReceiver<DispatcherRequest>,
    _handle: CrawlHandle,
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
        Fixture { harvester, items, requests, _handle: handle }
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
