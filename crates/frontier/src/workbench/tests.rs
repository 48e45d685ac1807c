//! The workbench against one that looks at everything each time, under a clock that only the test moves.

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

/// What may be done with a workbench; times are counted from now.
#[derive(Debug, Clone)]
enum Step {
    Add { site: u32, address: IpAddr, wait: u64 },
    Push { site: u32 },
    PushFirst { site: u32 },
    Take,
    Finish { turn: usize, site_wait: u64, address_wait: u64 },
    FinishWithoutWait { turn: usize },
    DelaySite { site: u32, wait: u64 },
    DelayAddress { address: IpAddr, wait: u64 },
    Drain { site: u32 },
    Remove { site: u32 },
    Pass { time: u64 },
    PassToNext,
}

fn any_step() -> impl Strategy<Value = Step> {
    let site = || 0u32..8;
    let address = || {
        prop_oneof![(0u8..3).prop_map(address), (0u8..3).prop_map(mapped), Just(Ipv6Addr::LOCALHOST.into())]
    };
    let wait = || prop_oneof![Just(0u64), 0u64..10, 0u64..1_000];
    prop_oneof![
        2 => (site(), address(), wait()).prop_map(|(site, address, wait)| Step::Add { site, address, wait }),
        8 => site().prop_map(|site| Step::Push { site }),
        1 => site().prop_map(|site| Step::PushFirst { site }),
        8 => Just(Step::Take),
        6 => (0usize..4, wait(), wait())
            .prop_map(|(turn, site_wait, address_wait)| Step::Finish { turn, site_wait, address_wait }),
        1 => (0usize..4).prop_map(|turn| Step::FinishWithoutWait { turn }),
        1 => (site(), wait()).prop_map(|(site, wait)| Step::DelaySite { site, wait }),
        1 => (address(), wait()).prop_map(|(address, wait)| Step::DelayAddress { address, wait }),
        1 => site().prop_map(|site| Step::Drain { site }),
        1 => site().prop_map(|site| Step::Remove { site }),
        3 => wait().prop_map(|time| Step::Pass { time }),
        3 => Just(Step::PassToNext),
    ]
}

#[derive(Debug)]
struct NaiveSite {
    address: IpAddr,
    clock_ms: u64,
    jobs: VecDeque<u32>,
}

/// A workbench that knows no lines, and the real one beside it.
#[derive(Default)]
struct Pair {
    real: Workbench,
    sites: BTreeMap<u32, NaiveSite>,
    clocks: BTreeMap<IpAddr, u64>,
    turns: BTreeMap<u32, IpAddr>,
    now_ms: u64,
    next_job: u32,
}

impl Pair {
    /// When a site could be asked if only time passed.
    fn ready_ms(&self, number: u32) -> Option<u64> {
        let site = &self.sites[&number];
        let is_held =
            self.turns.contains_key(&number) || self.turns.values().any(|held| *held == site.address);
        let clock_ms = self.clocks.get(&site.address).copied().unwrap_or(0);
        (!site.jobs.is_empty() && !is_held).then_some(clock_ms.max(site.clock_ms))
    }

    fn next_ready_ms(&self) -> Option<u64> {
        self.sites.keys().filter_map(|site| self.ready_ms(*site)).min()
    }

    fn step(&mut self, step: &Step) {
        let now_ms = self.now_ms;
        match *step {
            Step::Add { site, address, wait } => self.add(site, address, now_ms + wait),
            Step::Push { site } => {
                let is_known = self.real.push(SiteId(site), self.next_job);
                self.put(site, is_known, VecDeque::push_back);
            }
            Step::PushFirst { site } => {
                let is_known = self.real.push_first(SiteId(site), self.next_job);
                self.put(site, is_known, VecDeque::push_front);
            }
            Step::Take => self.take(),
            Step::Finish { turn, site_wait, address_wait } => {
                let site = self.turns.keys().nth(turn).copied();
                self.finish(site.unwrap_or(0), now_ms + site_wait, now_ms + address_wait);
            }
            Step::FinishWithoutWait { turn } => {
                let site = self.turns.keys().nth(turn).copied();
                self.finish(site.unwrap_or(0), 0, 0);
            }
            Step::DelaySite { site, wait } => {
                self.real.delay_site(SiteId(site), now_ms + wait);
                self.sites.entry(site).and_modify(|site| site.clock_ms = site.clock_ms.max(now_ms + wait));
            }
            Step::DelayAddress { address, wait } => {
                self.real.delay_address(address, now_ms + wait);
                self.raise(address.to_canonical(), now_ms + wait);
            }
            Step::Drain { site } => {
                let expected = self.sites.get_mut(&site).map(|site| std::mem::take(&mut site.jobs));
                assert_eq!(self.real.drain(SiteId(site)), Vec::from(expected.unwrap_or_default()));
            }
            Step::Remove { site } => {
                let expected = self.sites.remove(&site).map(|site| site.jobs);
                assert_eq!(self.real.remove_site(SiteId(site)), Vec::from(expected.unwrap_or_default()));
            }
            Step::Pass { time } => self.now_ms += time,
            Step::PassToNext => self.pass_to_next(),
        }
        self.compare();
    }

    fn add(&mut self, site: u32, address: IpAddr, ready_ms: u64) {
        self.real.add_site(SiteId(site), address, ready_ms);
        let address = address.to_canonical();
        let jobs = VecDeque::new();
        let known = self.sites.entry(site).or_insert(NaiveSite { address, clock_ms: 0, jobs });
        known.address = address;
        known.clock_ms = known.clock_ms.max(ready_ms);
    }

    fn put(&mut self, site: u32, is_known: bool, put: impl FnOnce(&mut VecDeque<u32>, u32)) {
        let known = self.sites.get_mut(&site);
        assert_eq!(is_known, known.is_some());
        if let Some(known) = known {
            put(&mut known.jobs, self.next_job);
            self.next_job += 1;
        }
    }

    fn take(&mut self) {
        let is_ready = self.next_ready_ms().is_some_and(|ready_ms| ready_ms <= self.now_ms);
        let turn = self.real.take(self.now_ms);
        assert_eq!(turn.is_some(), is_ready, "all that is ready is found, and nothing else");
        if let Some(turn) = turn {
            self.taken(turn);
        }
    }

    /// The turn was due, and neither its site nor its address had one.
    fn taken(&mut self, turn: Turn) {
        assert!(self.ready_ms(turn.site.0).is_some_and(|ready_ms| ready_ms <= self.now_ms), "{turn:?}");
        let site = self.sites.get_mut(&turn.site.0).unwrap();
        assert_eq!((turn.address, Some(turn.job)), (site.address, site.jobs.pop_front()));
        self.turns.insert(turn.site.0, turn.address);
    }

    fn finish(&mut self, site: u32, site_ready_ms: u64, address_ready_ms: u64) {
        self.real.finish(SiteId(site), site_ready_ms, address_ready_ms);
        let Some(address) = self.turns.remove(&site) else { return };
        self.raise(address, address_ready_ms);
        self.sites.entry(site).and_modify(|site| site.clock_ms = site.clock_ms.max(site_ready_ms));
    }

    fn raise(&mut self, address: IpAddr, until_ms: u64) {
        let clock_ms = self.clocks.entry(address).or_default();
        *clock_ms = until_ms.max(*clock_ms);
    }

    /// Just before the time told there is nothing, and then there is something.
    fn pass_to_next(&mut self) {
        let Some(next_ms) = self.real.next_ready_ms() else { return };
        if next_ms > self.now_ms {
            assert_eq!(self.real.take(next_ms - 1), None);
            self.now_ms = next_ms;
        }
        let turn = self.real.take(self.now_ms).unwrap();
        self.taken(turn);
    }

    fn compare(&self) {
        let from_now = |ready_ms: u64| ready_ms.max(self.now_ms);
        assert_eq!(self.real.next_ready_ms().map(from_now), self.next_ready_ms().map(from_now));
        let queues = self.sites.values().map(|site| site.jobs.len());
        assert_eq!(self.real.waiting(), queues.clone().sum::<usize>());
        assert_eq!(self.real.sites_with_work(), queues.filter(|jobs| *jobs > 0).count());
        assert_eq!(self.real.open(), self.turns.len());
        for (number, site) in &self.sites {
            assert_eq!(self.real.jobs(SiteId(*number)), site.jobs.len());
        }
    }

    /// Ends all turns and works until nothing is left.
    fn work_off(&mut self) {
        for site in self.turns.keys().copied().collect::<Vec<_>>() {
            self.finish(site, 0, 0);
        }
        while self.real.waiting() > 0 {
            self.pass_to_next();
            let (&site, _) = self.turns.first_key_value().unwrap();
            self.finish(site, self.now_ms + 15_000, self.now_ms + 2_000);
            self.compare();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn it_does_what_the_naive_one_does(steps in prop::collection::vec(any_step(), 0..300)) {
        let mut pair = Pair::default();
        for step in &steps {
            pair.step(step);
        }
        pair.work_off();
        assert!(pair.sites.values().all(|site| site.jobs.is_empty()), "nothing starves");
        assert_eq!(pair.real.next_ready_ms(), None);
    }

    #[test]
    fn nobody_who_is_ready_is_overtaken_twice_by_the_same(
        sites in prop::collection::vec(0u8..4, 2..10),
        steps in prop::collection::vec(prop_oneof![
            3 => Just(Step::Take),
            3 => (0usize..4, 0u64..3, 0u64..2)
                .prop_map(|(turn, site_wait, address_wait)| Step::Finish { turn, site_wait, address_wait }),
            3 => (0usize..4).prop_map(|turn| Step::FinishWithoutWait { turn }),
            3 => (0u32..10).prop_map(|site| Step::Push { site }),
            1 => (0u64..3).prop_map(|time| Step::Pass { time }),
        ], 0..300),
    ) {
        let mut pair = Pair::default();
        for (site, of) in (0..).zip(&sites) {
            pair.add(site, address(*of), 0);
            pair.step(&Step::Push { site });
        }
        let mut watch = Watch::default();
        for step in &steps {
            let ready = Ready::of(&pair);
            let turns = pair.turns.clone();
            pair.step(step);
            if let Some((site, of)) = pair.turns.iter().find(|(site, _)| !turns.contains_key(site)) {
                watch.taken(*site, *of, &ready);
            }
        }
    }
}

/// Who could be taken: addresses, and sites whether their address is free or not.
struct Ready {
    addresses: BTreeSet<IpAddr>,
    sites: Vec<(u32, IpAddr)>,
}

impl Ready {
    fn of(pair: &Pair) -> Ready {
        let is_due = |site: &u32| pair.ready_ms(*site).is_some_and(|ready_ms| ready_ms <= pair.now_ms);
        let waits = |(number, site): &(&u32, &NaiveSite)| {
            !site.jobs.is_empty() && !pair.turns.contains_key(number) && site.clock_ms <= pair.now_ms
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

/// Who was overtaken by whom.
#[derive(Default)]
struct Watch {
    addresses: BTreeSet<(IpAddr, IpAddr)>,
    sites: BTreeSet<(u32, u32)>,
}

impl Watch {
    fn taken(&mut self, site: u32, of: IpAddr, ready: &Ready) {
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
fn a_server_with_many_names_is_asked_once_at_a_time() {
    let mut bench = Workbench::new();
    for site in 0..100 {
        // Half of them know it by its IPv6 guise.
        bench.add_site(SiteId(site), if site % 2 == 0 { address(1) } else { mapped(1) }, 0);
        bench.push(SiteId(site), site);
    }
    let mut now_ms = 0;
    for site in 0..100 {
        let turn = bench.take(now_ms).unwrap();
        assert_eq!(turn, Turn { site: SiteId(site), address: address(1), job: site });
        assert_eq!((bench.take(now_ms), bench.next_ready_ms()), (None, None));
        bench.finish(turn.site, now_ms + 15_000, now_ms + 2_000);
        now_ms += 2_000;
    }
}

#[test]
fn a_site_that_moves_while_it_is_asked_holds_its_old_address_to_the_end() {
    let mut bench = Workbench::new();
    bench.add_site(SiteId(1), address(1), 0);
    bench.add_site(SiteId(2), address(2), 0);
    for (site, job) in [(1, 10), (1, 11), (2, 20)] {
        bench.push(SiteId(site), job);
    }
    let turn = bench.take(0).unwrap();
    assert_eq!((turn.site, turn.address), (SiteId(1), address(1)));
    bench.add_site(SiteId(1), address(2), 0);
    // The new address is free, and the site still is not.
    assert_eq!(bench.take(0).map(|turn| turn.site), Some(SiteId(2)));
    bench.finish(SiteId(2), 5, 7);
    assert_eq!(bench.take(1_000), None);
    bench.finish(SiteId(1), 1_000, 9_000);
    let turn = bench.take(1_000).unwrap();
    assert_eq!((turn.site, turn.address, turn.job), (SiteId(1), address(2), 11));
}

#[test]
fn a_site_that_is_removed_while_it_is_asked_does_not_free_its_address() {
    let mut bench = Workbench::new();
    for site in [1, 2] {
        bench.add_site(SiteId(site), address(1), 0);
        bench.push(SiteId(site), site);
    }
    assert_eq!(bench.take(0).map(|turn| turn.site), Some(SiteId(1)));
    assert!(bench.remove_site(SiteId(1)).is_empty());
    assert_eq!((bench.take(0), bench.open()), (None, 1));
    // Back before its turn has ended, it still has to wait for that.
    bench.add_site(SiteId(1), address(3), 0);
    bench.push(SiteId(1), 12);
    assert_eq!(bench.take(0), None);
    bench.finish(SiteId(1), 50, 100);
    assert_eq!(bench.take(50).map(|turn| turn.job), Some(12));
    assert_eq!(bench.take(99), None);
    assert_eq!(bench.take(100).map(|turn| turn.job), Some(2));
}

#[test]
fn addresses_that_nobody_has_are_kept_as_long_as_they_mean_something() {
    let mut bench = Workbench::new();
    // One is not to be asked for long, and one is being asked for a site that is gone.
    bench.delay_address(address(1), 1_000_000);
    let gone = SiteId(u32::MAX);
    bench.add_site(gone, address(2), 0);
    bench.push(gone, 0);
    assert!(bench.take(0).is_some());
    bench.remove_site(gone);
    for number in 0..10_000u32 {
        let passing = IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
        bench.add_site(SiteId(number), passing, 0);
        bench.push(SiteId(number), number);
        assert!(bench.take(u64::from(number)).is_some());
        bench.finish(SiteId(number), 0, u64::from(number) + 2);
        bench.remove_site(SiteId(number));
    }
    assert!(bench.addresses.len() <= 2 * FEWEST_SWEPT, "{}", bench.addresses.len());
    for site in [1, 2] {
        bench.add_site(SiteId(site), address(site as u8), 0);
        bench.push(SiteId(site), 0);
    }
    assert_eq!(bench.next_ready_ms(), Some(1_000_000));
    bench.finish(gone, 0, 500_000);
    assert_eq!(bench.next_ready_ms(), Some(500_000));
}

#[test]
fn many_sites_are_worked_off_in_the_least_time() {
    let mut bench = Workbench::new();
    for site in 0..20_000u32 {
        bench.add_site(SiteId(site), Ipv4Addr::from(0x0a00_0000 + site % 14_000).into(), 0);
        (0..10).for_each(|job| assert!(bench.push(SiteId(site), job)));
    }
    let (mut now_ms, mut turns) = (0, 0);
    while let Some(next_ms) = bench.next_ready_ms() {
        now_ms = next_ms.max(now_ms);
        let turn = bench.take(now_ms).unwrap();
        bench.finish(turn.site, now_ms + 15_000, now_ms + 2_000);
        turns += 1;
    }
    assert_eq!((turns, now_ms), (200_000, 9 * 15_000 + 2_000));
}
