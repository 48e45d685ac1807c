//! Tests of the dispatcher with static host names and paused time.

use fetch::DnsSettings;
use model::UrlRules;
use tokio::sync::mpsc::{Receiver, channel, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

use super::*;
use crate::control::handle::CrawlHandle;
use crate::item::batch::test_site;
use crate::settings::crawl_settings::{CrawlSettings, LookupLimits};

/// Running dispatcher with its channels.
struct Fixture {
    requests: UnboundedSender<DispatcherRequest>,
    harvesters: Vec<UnboundedReceiver<HarvesterTask>>,
    items: Receiver<(usize, Vec<HarvestItem>)>,
    _handle: CrawlHandle,
}

impl Fixture {
    fn start(hosts: &[(&str, u8)], harvesters: usize, policy: AddressPolicy) -> Fixture {
        let hosts = hosts.iter().map(|(host, last)| ((*host).to_owned(), address(*last))).collect();
        let dns =
            DnsSettings { hosts, name_servers: vec![(address(53), 53).into()], ..DnsSettings::default() };
        let lookups = LookupLimits { max_per_second: 10, ..LookupLimits::default() };
        let handle = CrawlHandle::new(CrawlSettings { dns, lookups, ..CrawlSettings::default() });
        let context = handle.context(None);
        let resolver = Resolver::new(&context.settings().dns).unwrap();
        let (senders, receivers) = (0..harvesters).map(|_| unbounded_channel()).unzip();
        let (item_sender, items) = channel(16);
        let outbox = Outbox::new(item_sender, harvesters);
        let dispatcher = Dispatcher::new(context, resolver, senders, outbox, Vec::new(), policy);
        let (requests, receiver) = unbounded_channel();
        spawn_local(dispatcher.run(receiver));
        Fixture { requests, harvesters: receivers, items, _handle: handle }
    }

    fn submit(&self, sites: Vec<BatchSite>) {
        let batch = Batch { id: 1, sites, ..Batch::default() };
        self.requests.send(DispatcherRequest::Batch(batch)).unwrap();
    }

    async fn events(&mut self) -> Vec<HarvestEvent> {
        let (_, items) = self.items.recv().await.unwrap();
        let event = |item| if let HarvestItem::Event(event) = item { Some(event) } else { None };
        items.into_iter().filter_map(event).collect()
    }
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn no_claims() -> AddressPolicy {
    AddressPolicy::AllExcept { addresses: [].into(), names: [].into() }
}

/// Site with one page whose name is not resolved.
fn site(id: u32, host: &str) -> BatchSite {
    let mut site = BatchSite {
        site: SiteId(id),
        name: format!("http://{host}"),
        address: None,
        earliest_request_ms: 0,
        ..test_site()
    };
    site.pages.truncate(1);
    site
}

fn robots_fetch(host: &str) -> CrossHostRobotsFetch {
    let url = UrlRules::default().canonical(&format!("http://{host}/robots.txt")).unwrap();
    CrossHostRobotsFetch::new(SiteId(9), 0, url, 1)
}

#[tokio::test(start_paused = true)]
async fn all_sites_of_an_address_go_to_one_harvester() {
    let test = async {
        let hosts = [("a.example", 1), ("b.example", 2), ("c.example", 1)];
        let mut fixture = Fixture::start(&hosts, 2, no_claims());
        fixture.submit(vec![site(1, "a.example"), site(2, "b.example"), site(3, "c.example")]);
        for expected in [[1, 3].as_slice(), [2].as_slice()] {
            let tasks = fixture.harvesters.remove(0);
            let received = receive(tasks, expected.len()).await;
            let ids: Vec<u32> = received.iter().filter_map(site_id).collect();
            assert_eq!(ids, expected);
        }
    };
    LocalSet::new().run_until(test).await;
}

async fn receive(mut tasks: UnboundedReceiver<HarvesterTask>, count: usize) -> Vec<HarvesterTask> {
    let mut received = Vec::new();
    while received.len() < count {
        received.push(tasks.recv().await.unwrap());
    }
    received
}

fn site_id(task: &HarvesterTask) -> Option<u32> {
    if let HarvesterTask::Site(site, ..) = task { Some(site.site.0) } else { None }
}

#[tokio::test(start_paused = true)]
async fn lookups_are_rate_limited() {
    let test = async {
        let hosts = [("a.example", 1), ("b.example", 2), ("c.example", 3), ("d.example", 4)];
        let mut fixture = Fixture::start(&hosts, 1, no_claims());
        let started = Instant::now();
        fixture.submit(hosts.iter().zip(1..).map(|((host, _), id)| site(id, host)).collect());
        receive(fixture.harvesters.remove(0), 4).await;
        let elapsed = started.elapsed();
        // Four lookups at ten per second: the first at once, then three intervals.
        assert!((300..400).contains(&elapsed.as_millis()), "{elapsed:?}");
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_site_at_a_claimed_address_is_returned_with_its_address() {
    let test = async {
        let policy = AddressPolicy::AllExcept { addresses: [address(1).into()].into(), names: [].into() };
        let mut fixture = Fixture::start(&[("a.example", 1)], 1, policy);
        fixture.submit(vec![site(1, "a.example")]);
        let events = fixture.events().await;
        let [HarvestEvent::PageReturned { reason: None, .. }, HarvestEvent::SiteDone(result)] = &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!((result.site, result.address), (SiteId(1), Some(address(1))));
        assert!(fixture.harvesters[0].try_recv().is_err(), "no harvester gets the site");
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_site_that_cannot_be_resolved_is_returned_with_the_reason() {
    let test = async {
        let mut fixture = Fixture::start(&[], 1, no_claims());
        fixture.submit(vec![BatchSite { name: "not a site".to_owned(), ..site(1, "a.example") }]);
        let events = fixture.events().await;
        let [HarvestEvent::PageReturned { reason: Some(reason), .. }, HarvestEvent::SiteDone(_)] =
            &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!(*reason, Reason::DnsNotFound);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_robots_fetch_goes_to_the_owner_of_its_host_or_waits_for_the_cooldown() {
    let test = async {
        let mut fixture = Fixture::start(&[("a.example", 1)], 1, no_claims());
        fixture.submit(vec![site(1, "a.example")]);
        let mut tasks = fixture.harvesters.remove(0);
        assert!(matches!(tasks.recv().await, Some(HarvesterTask::Site(..))));
        let dispatcher = DispatcherHandle(fixture.requests.clone());
        dispatcher.request_robots(robots_fetch("a.example"));
        assert!(matches!(tasks.recv().await, Some(HarvesterTask::FetchRobotsAtActiveSite(_))));
        let until_ms = u64::MAX / 2;
        dispatcher.release_host("http://a.example", Cooldown { until_ms, last_request_ms: 0 });
        dispatcher.request_robots(robots_fetch("a.example"));
        let task = tasks.recv().await;
        let Some(HarvesterTask::FetchRobots(_, to, earliest_ms)) = task else { panic!("{task:?}") };
        assert_eq!((to, earliest_ms), (address(1), until_ms));
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn a_robots_host_that_is_not_leased_is_reported_to_the_origin() {
    let test = async {
        let mut fixture = Fixture::start(&[], 1, AddressPolicy::LeasedOnly(HashMap::new()));
        DispatcherHandle(fixture.requests.clone()).request_robots(robots_fetch("b.example"));
        let task = fixture.harvesters[0].recv().await;
        let Some(HarvesterTask::RobotsHostNotLeased { site, name }) = task else { panic!("{task:?}") };
        assert_eq!((site, &*name), (SiteId(9), "http://b.example"));
    };
    LocalSet::new().run_until(test).await;
}
