//! The workbench compared with a naive model that scans everything, under simulated time.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, number).into()
}

fn mapped(number: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, number).to_ipv6_mapped().into()
}

/// One of the addresses of a server that has a whole IPv6 network.
fn ipv6(last: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last).into()
}

/// Operation on a workbench; delays are counted from now.
#[derive(Debug, Clone)]
enum WorkbenchOp {
    Add { site: u32, address: IpAddr, delay: u64 },
    Push { site: u32 },
    PushFirst { site: u32 },
    Acquire,
    Release { index: usize, site_delay: u64, address_delay: u64 },
    ReleaseWithoutDelay { index: usize },
    DelaySite { site: u32, delay: u64 },
    DelayAddress { address: IpAddr, delay: u64 },
    Drain { site: u32 },
    Remove { site: u32 },
    Advance { time: u64 },
    AdvanceToNext,
}

fn any_op() -> impl Strategy<Value = WorkbenchOp> {
    let site = || 0u32..8;
    let address =
        || prop_oneof![(0u8..3).prop_map(address), (0u8..3).prop_map(mapped), (0u16..3).prop_map(ipv6)];
    let delay = || prop_oneof![Just(0u64), 0u64..10, 0u64..1_000];
    prop_oneof![
        2 => (site(), address(), delay()).prop_map(|(site, address, delay)| WorkbenchOp::Add { site, address, delay }),
        8 => site().prop_map(|site| WorkbenchOp::Push { site }),
        1 => site().prop_map(|site| WorkbenchOp::PushFirst { site }),
        8 => Just(WorkbenchOp::Acquire),
        6 => (0usize..4, delay(), delay())
            .prop_map(|(index, site_delay, address_delay)| WorkbenchOp::Release { index, site_delay, address_delay }),
        1 => (0usize..4).prop_map(|index| WorkbenchOp::ReleaseWithoutDelay { index }),
        1 => (site(), delay()).prop_map(|(site, delay)| WorkbenchOp::DelaySite { site, delay }),
        1 => (address(), delay()).prop_map(|(address, delay)| WorkbenchOp::DelayAddress { address, delay }),
        1 => site().prop_map(|site| WorkbenchOp::Drain { site }),
        1 => site().prop_map(|site| WorkbenchOp::Remove { site }),
        3 => delay().prop_map(|time| WorkbenchOp::Advance { time }),
        3 => Just(WorkbenchOp::AdvanceToNext),
    ]
}

#[derive(Debug)]
struct NaiveSite {
    address: IpAddr,
    ready_ms: u64,
    jobs: VecDeque<u32>,
}

/// Naive model without queues, and the real workbench beside it.
#[derive(Default)]
struct Pair {
    real: Workbench,
    sites: BTreeMap<u32, NaiveSite>,
    address_times: BTreeMap<AddressGroup, u64>,
    acquired: BTreeMap<u32, IpAddr>,
    now_ms: u64,
    next_job: u32,
}

impl Pair {
    /// Time at which a site could be acquired if only time passed.
    fn ready_ms(&self, number: u32) -> Option<u64> {
        let site = &self.sites[&number];
        let group = AddressGroup::from(site.address);
        let is_held = self.acquired.contains_key(&number)
            || self.acquired.values().any(|held| AddressGroup::from(*held) == group);
        let ready_ms = self.address_times.get(&group).copied().unwrap_or(0);
        (!site.jobs.is_empty() && !is_held).then_some(ready_ms.max(site.ready_ms))
    }

    fn next_ready_ms(&self) -> Option<u64> {
        self.sites.keys().filter_map(|site| self.ready_ms(*site)).min()
    }

    fn apply(&mut self, op: &WorkbenchOp) {
        let now_ms = self.now_ms;
        match *op {
            WorkbenchOp::Add { site, address, delay } => self.add(site, address, now_ms + delay),
            WorkbenchOp::Push { site } => {
                let is_known = self.real.push(SiteId(site), self.next_job);
                self.put(site, is_known, VecDeque::push_back);
            }
            WorkbenchOp::PushFirst { site } => {
                let is_known = self.real.push_first(SiteId(site), self.next_job);
                self.put(site, is_known, VecDeque::push_front);
            }
            WorkbenchOp::Acquire => self.acquire(),
            WorkbenchOp::Release { index, site_delay, address_delay } => {
                let site = self.acquired.keys().nth(index).copied();
                self.release(site.unwrap_or(0), now_ms + site_delay, now_ms + address_delay);
            }
            WorkbenchOp::ReleaseWithoutDelay { index } => {
                let site = self.acquired.keys().nth(index).copied();
                self.release(site.unwrap_or(0), 0, 0);
            }
            WorkbenchOp::DelaySite { site, delay } => {
                self.real.delay_site(SiteId(site), now_ms + delay);
                self.sites.entry(site).and_modify(|site| site.ready_ms = site.ready_ms.max(now_ms + delay));
            }
            WorkbenchOp::DelayAddress { address, delay } => {
                self.real.delay_address(address, now_ms + delay);
                self.raise(address, now_ms + delay);
            }
            WorkbenchOp::Drain { site } => {
                let expected = self.sites.get_mut(&site).map(|site| std::mem::take(&mut site.jobs));
                assert_eq!(self.real.drain(SiteId(site)), Vec::from(expected.unwrap_or_default()));
            }
            WorkbenchOp::Remove { site } => {
                let expected = self.sites.remove(&site).map(|site| site.jobs);
                assert_eq!(self.real.remove_site(SiteId(site)), Vec::from(expected.unwrap_or_default()));
            }
            WorkbenchOp::Advance { time } => self.now_ms += time,
            WorkbenchOp::AdvanceToNext => self.advance_to_next(),
        }
        self.compare();
    }

    fn add(&mut self, site: u32, address: IpAddr, ready_ms: u64) {
        self.real.add_site(SiteId(site), address, ready_ms);
        let address = address.to_canonical();
        let jobs = VecDeque::new();
        let known = self.sites.entry(site).or_insert(NaiveSite { address, ready_ms: 0, jobs });
        known.address = address;
        known.ready_ms = known.ready_ms.max(ready_ms);
    }

    fn put(&mut self, site: u32, is_known: bool, put: impl FnOnce(&mut VecDeque<u32>, u32)) {
        let known = self.sites.get_mut(&site);
        assert_eq!(is_known, known.is_some());
        if let Some(known) = known {
            put(&mut known.jobs, self.next_job);
            self.next_job += 1;
        }
    }

    fn acquire(&mut self) {
        let is_ready = self.next_ready_ms().is_some_and(|ready_ms| ready_ms <= self.now_ms);
        let acquired_site = self.real.acquire(self.now_ms);
        assert_eq!(acquired_site.is_some(), is_ready, "a site is acquired if and only if one is ready");
        if let Some(acquired_site) = acquired_site {
            self.on_acquired(acquired_site);
        }
    }

    /// Checks that the site was ready, and that neither it nor its address was acquired.
    fn on_acquired(&mut self, acquired_site: AcquiredSite) {
        assert!(
            self.ready_ms(acquired_site.site.0).is_some_and(|ready_ms| ready_ms <= self.now_ms),
            "{acquired_site:?}"
        );
        let site = self.sites.get_mut(&acquired_site.site.0).unwrap();
        assert_eq!((acquired_site.address, Some(acquired_site.job)), (site.address, site.jobs.pop_front()));
        self.acquired.insert(acquired_site.site.0, acquired_site.address);
    }

    fn release(&mut self, site: u32, site_ready_ms: u64, address_ready_ms: u64) {
        self.real.release(SiteId(site), site_ready_ms, address_ready_ms);
        let Some(address) = self.acquired.remove(&site) else { return };
        self.raise(address, address_ready_ms);
        self.sites.entry(site).and_modify(|site| site.ready_ms = site.ready_ms.max(site_ready_ms));
    }

    fn raise(&mut self, address: IpAddr, until_ms: u64) {
        let ready_ms = self.address_times.entry(address.into()).or_default();
        *ready_ms = until_ms.max(*ready_ms);
    }

    /// Checks that nothing is ready just before the next ready time, and that something is ready then.
    fn advance_to_next(&mut self) {
        let Some(next_ms) = self.real.next_ready_ms() else { return };
        if next_ms > self.now_ms {
            assert_eq!(self.real.acquire(next_ms - 1), None);
            self.now_ms = next_ms;
        }
        let acquired_site = self.real.acquire(self.now_ms).unwrap();
        self.on_acquired(acquired_site);
    }

    fn compare(&self) {
        let from_now = |ready_ms: u64| ready_ms.max(self.now_ms);
        assert_eq!(self.real.next_ready_ms().map(from_now), self.next_ready_ms().map(from_now));
        let queues = self.sites.values().map(|site| site.jobs.len());
        assert_eq!(self.real.waiting_jobs(), queues.clone().sum::<usize>());
        assert_eq!(self.real.sites_with_work(), queues.filter(|jobs| *jobs > 0).count());
        assert_eq!(self.real.acquired(), self.acquired.len());
        for (number, site) in &self.sites {
            assert_eq!(self.real.jobs_of(SiteId(*number)), site.jobs.len());
        }
    }

    /// Releases all sites and works until no job is left.
    fn drain_all(&mut self) {
        for site in self.acquired.keys().copied().collect::<Vec<_>>() {
            self.release(site, 0, 0);
        }
        while self.real.waiting_jobs() > 0 {
            self.advance_to_next();
            let (&site, _) = self.acquired.first_key_value().unwrap();
            self.release(site, self.now_ms + 15_000, self.now_ms + 2_000);
            self.compare();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_workbench_agrees_with_the_naive_model(ops in prop::collection::vec(any_op(), 0..300)) {
        let mut pair = Pair::default();
        for op in &ops {
            pair.apply(op);
        }
        pair.drain_all();
        assert!(pair.sites.values().all(|site| site.jobs.is_empty()), "no job starves");
        assert_eq!(pair.real.next_ready_ms(), None);
    }

    #[test]
    fn no_ready_entry_is_overtaken_twice_by_the_same_entry(
        sites in prop::collection::vec(0u8..4, 2..10),
        ops in prop::collection::vec(prop_oneof![
            3 => Just(WorkbenchOp::Acquire),
            3 => (0usize..4, 0u64..3, 0u64..2)
                .prop_map(|(index, site_delay, address_delay)| WorkbenchOp::Release { index, site_delay, address_delay }),
            3 => (0usize..4).prop_map(|index| WorkbenchOp::ReleaseWithoutDelay { index }),
            3 => (0u32..10).prop_map(|site| WorkbenchOp::Push { site }),
            1 => (0u64..3).prop_map(|time| WorkbenchOp::Advance { time }),
        ], 0..300),
    ) {
        let mut pair = Pair::default();
        for (site, of) in (0..).zip(&sites) {
            pair.add(site, address(*of), 0);
            pair.apply(&WorkbenchOp::Push { site });
        }
        let mut overtaken = Overtaken::default();
        for op in &ops {
            let ready = Ready::from_pair(&pair);
            let acquired = pair.acquired.clone();
            pair.apply(op);
            if let Some((site, of)) = pair.acquired.iter().find(|(site, _)| !acquired.contains_key(site)) {
                overtaken.on_acquired(*site, *of, &ready);
            }
        }
    }
}

/// Entries that could be acquired: addresses, and sites whether their address is free or not.
struct Ready {
    addresses: BTreeSet<IpAddr>,
    sites: Vec<(u32, IpAddr)>,
}

impl Ready {
    fn from_pair(pair: &Pair) -> Ready {
        let is_due = |site: &u32| pair.ready_ms(*site).is_some_and(|ready_ms| ready_ms <= pair.now_ms);
        let waits = |(number, site): &(&u32, &NaiveSite)| {
            !site.jobs.is_empty() && !pair.acquired.contains_key(number) && site.ready_ms <= pair.now_ms
        };
        Ready {
            addresses: pair
                .sites
                .keys()
                .filter(|site| is_due(site))
                .map(|site| pair.sites[site].address)
                .collect(),
            sites: pair.sites.iter().filter(waits).map(|(number, site)| (*number, site.address)).collect(),
        }
    }
}

/// Pairs of a waiting entry and the entry that overtook it.
#[derive(Default)]
struct Overtaken {
    addresses: BTreeSet<(IpAddr, IpAddr)>,
    sites: BTreeSet<(u32, u32)>,
}

impl Overtaken {
    fn on_acquired(&mut self, site: u32, of: IpAddr, ready: &Ready) {
        self.addresses.retain(|(waiting, _)| *waiting != of);
        for other in ready.addresses.iter().filter(|other| **other != of) {
            assert!(self.addresses.insert((*other, of)), "{other} was overtaken twice by {of}");
        }
        self.sites.retain(|(waiting, _)| *waiting != site);
        for (other, _) in ready.sites.iter().filter(|(other, address)| *other != site && *address == of) {
            assert!(self.sites.insert((*other, site)), "{other} was overtaken twice by {site}");
        }
    }
}

#[test]
fn a_server_with_many_host_names_gets_one_request_at_a_time() {
    let mut bench = Workbench::new();
    for site in 0..100 {
        // Half of the sites have the IPv4-mapped IPv6 form of the address.
        bench.add_site(SiteId(site), if site % 2 == 0 { address(1) } else { mapped(1) }, 0);
        bench.push(SiteId(site), site);
    }
    let mut now_ms = 0;
    for site in 0..100 {
        let acquired_site = bench.acquire(now_ms).unwrap();
        assert_eq!(acquired_site, AcquiredSite { site: SiteId(site), address: address(1), job: site });
        assert_eq!((bench.acquire(now_ms), bench.next_ready_ms()), (None, None));
        bench.release(acquired_site.site, now_ms + 15_000, now_ms + 2_000);
        now_ms += 2_000;
    }
}

#[test]
fn the_addresses_of_an_ipv6_network_get_one_request_at_a_time() {
    let mut bench = Workbench::new();
    for site in 0..3u16 {
        bench.add_site(SiteId(site.into()), ipv6(site), 0);
        bench.push(SiteId(site.into()), site.into());
    }
    for site in 0..3u16 {
        let now_ms = 2_000 * u64::from(site);
        let acquired_site = bench.acquire(now_ms).unwrap();
        assert_eq!((acquired_site.site, acquired_site.address), (SiteId(site.into()), ipv6(site)));
        assert_eq!(bench.acquire(now_ms), None);
        bench.release(acquired_site.site, now_ms + 15_000, now_ms + 2_000);
        assert_eq!(bench.acquire(now_ms + 1_999), None, "the delay of the address");
    }
}

#[test]
fn a_site_that_moves_while_acquired_holds_its_old_address_until_release() {
    let mut bench = Workbench::new();
    bench.add_site(SiteId(1), address(1), 0);
    bench.add_site(SiteId(2), address(2), 0);
    for (site, job) in [(1, 10), (1, 11), (2, 20)] {
        bench.push(SiteId(site), job);
    }
    let acquired_site = bench.acquire(0).unwrap();
    assert_eq!((acquired_site.site, acquired_site.address), (SiteId(1), address(1)));
    bench.add_site(SiteId(1), address(2), 0);
    // The new address is free, but the site is still acquired.
    assert_eq!(bench.acquire(0).map(|acquired_site| acquired_site.site), Some(SiteId(2)));
    bench.release(SiteId(2), 5, 7);
    assert_eq!(bench.acquire(1_000), None);
    bench.release(SiteId(1), 1_000, 9_000);
    let acquired_site = bench.acquire(1_000).unwrap();
    assert_eq!((acquired_site.site, acquired_site.address, acquired_site.job), (SiteId(1), address(2), 11));
}

#[test]
fn removing_an_acquired_site_does_not_free_its_address() {
    let mut bench = Workbench::new();
    for site in [1, 2] {
        bench.add_site(SiteId(site), address(1), 0);
        bench.push(SiteId(site), site);
    }
    assert_eq!(bench.acquire(0).map(|acquired_site| acquired_site.site), Some(SiteId(1)));
    assert!(bench.remove_site(SiteId(1)).is_empty());
    assert_eq!((bench.acquire(0), bench.acquired()), (None, 1));
    // Added again before its release, it still has to wait for the release.
    bench.add_site(SiteId(1), address(3), 0);
    bench.push(SiteId(1), 12);
    assert_eq!(bench.acquire(0), None);
    bench.release(SiteId(1), 50, 100);
    assert_eq!(bench.acquire(50).map(|acquired_site| acquired_site.job), Some(12));
    assert_eq!(bench.acquire(99), None);
    assert_eq!(bench.acquire(100).map(|acquired_site| acquired_site.job), Some(2));
}

#[test]
fn addresses_without_sites_are_kept_while_they_still_delay_requests() {
    let mut bench = Workbench::new();
    // One address has a long delay, and one is held by a site that was removed.
    bench.delay_address(address(1), 1_000_000);
    let gone = SiteId(u32::MAX);
    bench.add_site(gone, address(2), 0);
    bench.push(gone, 0);
    assert!(bench.acquire(0).is_some());
    bench.remove_site(gone);
    for number in 0..10_000u32 {
        let passing = IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
        bench.add_site(SiteId(number), passing, 0);
        bench.push(SiteId(number), number);
        assert!(bench.acquire(u64::from(number)).is_some());
        bench.release(SiteId(number), 0, u64::from(number) + 2);
        bench.remove_site(SiteId(number));
    }
    assert!(bench.addresses.len() <= 2 * MIN_SWEEP_ADDRESSES, "{}", bench.addresses.len());
    for site in [1, 2] {
        bench.add_site(SiteId(site), address(site as u8), 0);
        bench.push(SiteId(site), 0);
    }
    assert_eq!(bench.next_ready_ms(), Some(1_000_000));
    bench.release(gone, 0, 500_000);
    assert_eq!(bench.next_ready_ms(), Some(500_000));
}

#[test]
fn many_sites_finish_in_the_minimum_time() {
    let mut bench = Workbench::new();
    for site in 0..20_000u32 {
        bench.add_site(SiteId(site), Ipv4Addr::from(0x0a00_0000 + site % 14_000).into(), 0);
        (0..10).for_each(|job| assert!(bench.push(SiteId(site), job)));
    }
    let (mut now_ms, mut acquired) = (0, 0);
    while let Some(next_ms) = bench.next_ready_ms() {
        now_ms = next_ms.max(now_ms);
        let acquired_site = bench.acquire(now_ms).unwrap();
        bench.release(acquired_site.site, now_ms + 15_000, now_ms + 2_000);
        acquired += 1;
    }
    assert_eq!((acquired, now_ms), (200_000, 9 * 15_000 + 2_000));
}
