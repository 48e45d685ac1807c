//! Which site may be asked now, and if none, when?
//!
//! The idea is BUbiNG's (Boldi, Marino, Santini and Vigna, 2014): addresses wait in line by the time at which they may be
//! asked, each with its sites, each with its jobs. An address is ready when both its own clock and that of one of its sites
//! with work have come. Taking a turn takes the site and its address, so that whoever works by turns can never ask either
//! twice at the same time, however many names one server has.
//!
//! Who was ready first is served first. Nobody who waits is overtaken twice by the same other: who comes (back) to the line
//! is ready at the latest time seen so far at the earliest. Times are Unix milliseconds and must not go back.
//!
//! Every operation takes logarithmic time. The workbench never asks what a job is, and never reads a clock.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

use model::SiteId;

/// Sites and addresses with their clocks, and the jobs that wait for them.
#[derive(Debug, Default)]
pub struct Workbench {
    sites: HashMap<SiteId, Site>,
    addresses: HashMap<IpAddr, Address>,
    /// The turns taken, with the address that each of them holds.
    turns: HashMap<SiteId, IpAddr>,
    /// Sites with work and without a turn, those of one address together.
    site_line: BTreeSet<(IpAddr, Place, SiteId)>,
    /// Addresses without a turn that have such sites.
    address_line: BTreeSet<(Place, IpAddr)>,
    /// The latest time seen.
    now_ms: u64,
    /// Numbers given out to those in line.
    numbers: u64,
    waiting_jobs: usize,
    sites_with_work: usize,
    /// With more addresses than this, those that nobody needs are forgotten.
    sweep_above: usize,
}

/// One request, to be finished before the site or its address get another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The site to ask.
    pub site: SiteId,
    /// The address that is held; one that is IPv4 in the guise of IPv6 is told as IPv4.
    pub address: IpAddr,
    /// What to do there.
    pub job: u32,
}

#[derive(Debug)]
struct Site {
    /// Where it is asked next; an open turn may still hold another.
    address: IpAddr,
    clock_ms: u64,
    jobs: VecDeque<u32>,
    /// Its place among the sites of its address, if it stands in line.
    place: Option<Place>,
}

#[derive(Debug, Default)]
struct Address {
    clock_ms: u64,
    /// How many sites have it.
    sites: usize,
    is_taken: bool,
    place: Option<Place>,
}

/// A place in line: by the time of being ready, then in the order of coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    ready_ms: u64,
    number: u64,
}

/// A queue that was longer gives its memory back when it is empty.
const KEPT_JOBS: usize = 16;
/// Fewer addresses than this are never worth a sweep.
const FEWEST_SWEPT: usize = 1 << 10;

impl Workbench {
    /// An empty one.
    pub fn new() -> Workbench {
        Workbench::default()
    }

    /// A site with its address; it is not asked before `ready_ms`. A known site moves to the address, if it has a turn from
    /// the end of that on, and its clock is set to the later of both times.
    pub fn add_site(&mut self, site: SiteId, address: IpAddr, ready_ms: u64) {
        let address = address.to_canonical();
        match self.sites.get(&site) {
            None => {
                let jobs = VecDeque::new();
                self.sites.insert(site, Site { address, clock_ms: ready_ms, jobs, place: None });
                self.address(address).sites += 1;
            }
            Some(known) if known.address == address => self.delay_site(site, ready_ms),
            Some(_) => {
                self.leave_line(site);
                self.move_site(site, address, ready_ms);
                self.join_line(site);
            }
        }
    }

    /// Puts a job at the end of the site's queue; false if there is no such site.
    pub fn push(&mut self, site: SiteId, job: u32) -> bool {
        self.put(site, |jobs| jobs.push_back(job))
    }

    /// Puts a job before all others of the site; false if there is no such site.
    pub fn push_first(&mut self, site: SiteId, job: u32) -> bool {
        self.put(site, |jobs| jobs.push_front(job))
    }

    /// The turn of whoever was ready first, if anybody is ready.
    pub fn take(&mut self, now_ms: u64) -> Option<Turn> {
        self.now_ms = self.now_ms.max(now_ms);
        let (place, address) = *self.address_line.first()?;
        if place.ready_ms > now_ms {
            return None;
        }
        let (_, site) = self.first_in_line(address)?;
        let job = self.pop(site)?;
        self.turns.insert(site, address);
        self.address(address).is_taken = true;
        self.leave_line(site);
        Some(Turn { site, address, job })
    }

    /// Ends the turn of a site: it and the address that was held may be asked again at these times, or later if a clock
    /// says so already. Nothing happens if it has no turn.
    pub fn finish(&mut self, site: SiteId, site_ready_ms: u64, address_ready_ms: u64) {
        let Some(address) = self.turns.remove(&site) else { return };
        let now_ms = self.now_ms;
        let held = self.address(address);
        held.is_taken = false;
        // Never in the past, or an address whose other sites have waited for long would be first again.
        held.clock_ms = held.clock_ms.max(address_ready_ms).max(now_ms);
        if let Some(known) = self.sites.get_mut(&site) {
            known.clock_ms = known.clock_ms.max(site_ready_ms);
        }
        self.join_line(site);
        self.line_up(address);
    }

    /// When there is somebody to take; none if nobody waits, or all who wait are held up by turns.
    pub fn next_ready_ms(&self) -> Option<u64> {
        self.address_line.first().map(|(place, _)| place.ready_ms)
    }

    /// The site is not asked before this time. Nothing happens if it is unknown.
    pub fn delay_site(&mut self, site: SiteId, until_ms: u64) {
        // Who is not really delayed keeps its place.
        if self.sites.get(&site).is_some_and(|known| known.clock_ms < until_ms) {
            self.leave_line(site);
            if let Some(known) = self.sites.get_mut(&site) {
                known.clock_ms = until_ms;
            }
            self.join_line(site);
        }
    }

    /// The address is not asked before this time, whether a site has it or not.
    pub fn delay_address(&mut self, address: IpAddr, until_ms: u64) {
        let address = address.to_canonical();
        let known = self.address(address);
        known.clock_ms = known.clock_ms.max(until_ms);
        self.line_up(address);
    }

    /// Takes all waiting jobs of a site out, first to last; a turn goes on.
    pub fn drain(&mut self, site: SiteId) -> Vec<u32> {
        self.leave_line(site);
        let Some(known) = self.sites.get_mut(&site) else { return Vec::new() };
        let jobs = Vec::from(std::mem::take(&mut known.jobs));
        self.waiting_jobs -= jobs.len();
        self.sites_with_work -= usize::from(!jobs.is_empty());
        jobs
    }

    /// Forgets a site and its clock; its waiting jobs come back. The clock of its address stays, and a turn still has to be
    /// finished.
    pub fn remove_site(&mut self, site: SiteId) -> Vec<u32> {
        let jobs = self.drain(site);
        if let Some(gone) = self.sites.remove(&site) {
            self.address(gone.address).sites -= 1;
        }
        jobs
    }

    /// Whether a site has a turn that is not finished.
    pub fn has_turn(&self, site: SiteId) -> bool {
        self.turns.contains_key(&site)
    }

    /// How many jobs wait for a site.
    pub fn jobs(&self, site: SiteId) -> usize {
        self.sites.get(&site).map_or(0, |known| known.jobs.len())
    }

    /// How many jobs wait for any site.
    pub fn waiting(&self) -> usize {
        self.waiting_jobs
    }

    /// How many turns are taken and not finished.
    pub fn open(&self) -> usize {
        self.turns.len()
    }

    /// How many sites have waiting jobs, with a turn or without.
    pub fn sites_with_work(&self) -> usize {
        self.sites_with_work
    }
}

/// The lines.
impl Workbench {
    /// A site with work and without a turn gets in line; any other stays out.
    fn join_line(&mut self, site: SiteId) {
        let Some(known) = self.sites.get_mut(&site) else { return };
        if known.jobs.is_empty() || known.place.is_some() || self.turns.contains_key(&site) {
            return;
        }
        self.numbers += 1;
        let place = Place { ready_ms: known.clock_ms.max(self.now_ms), number: self.numbers };
        known.place = Some(place);
        let address = known.address;
        self.site_line.insert((address, place, site));
        self.line_up(address);
    }

    /// Takes a site out of line, if it stands there.
    fn leave_line(&mut self, site: SiteId) {
        let Some(known) = self.sites.get_mut(&site) else { return };
        let Some(place) = known.place.take() else { return };
        let address = known.address;
        self.site_line.remove(&(address, place, site));
        self.line_up(address);
    }

    /// Gives an address the place that its clock and its sites demand.
    fn line_up(&mut self, address: IpAddr) {
        let first = self.first_in_line(address);
        let Some(known) = self.addresses.get_mut(&address) else { return };
        let (old, ready) = (known.place, first.filter(|_| !known.is_taken));
        known.place = ready.map(|(first, _)| {
            // Its number shows how long it is in line, whatever happens to its sites meanwhile.
            let number = old.map_or(self.numbers + 1, |place| place.number);
            Place { ready_ms: first.ready_ms.max(known.clock_ms), number }
        });
        if known.place == old {
            return;
        }
        if let Some(place) = old {
            self.address_line.remove(&(place, address));
        }
        if let Some(place) = known.place {
            self.numbers = self.numbers.max(place.number);
            self.address_line.insert((place, address));
        }
    }

    /// The site of an address that was ready first.
    fn first_in_line(&self, address: IpAddr) -> Option<(Place, SiteId)> {
        let start = (address, Place { ready_ms: 0, number: 0 }, SiteId(0));
        let (of, place, site) = self.site_line.range(start..).next()?;
        (*of == address).then_some((*place, *site))
    }
}

/// The sites, the addresses and the jobs.
impl Workbench {
    fn put(&mut self, site: SiteId, put: impl FnOnce(&mut VecDeque<u32>)) -> bool {
        let Some(known) = self.sites.get_mut(&site) else { return false };
        self.sites_with_work += usize::from(known.jobs.is_empty());
        self.waiting_jobs += 1;
        put(&mut known.jobs);
        self.join_line(site);
        true
    }

    fn pop(&mut self, site: SiteId) -> Option<u32> {
        let jobs = &mut self.sites.get_mut(&site)?.jobs;
        let job = jobs.pop_front()?;
        self.waiting_jobs -= 1;
        if jobs.is_empty() {
            self.sites_with_work -= 1;
            jobs.shrink_to(KEPT_JOBS);
        }
        Some(job)
    }

    fn move_site(&mut self, site: SiteId, to: IpAddr, ready_ms: u64) {
        let Some(known) = self.sites.get_mut(&site) else { return };
        known.clock_ms = known.clock_ms.max(ready_ms);
        let from = std::mem::replace(&mut known.address, to);
        self.address(from).sites -= 1;
        self.address(to).sites += 1;
    }

    /// An address, with a clock that says nothing if it is new.
    fn address(&mut self, address: IpAddr) -> &mut Address {
        if self.addresses.len() > self.sweep_above {
            self.sweep(address);
        }
        self.addresses.entry(address).or_default()
    }

    /// Forgets addresses that no site has and whose clocks have come; they would say nothing any more.
    fn sweep(&mut self, except: IpAddr) {
        let now_ms = self.now_ms;
        self.addresses.retain(|address, known| {
            known.sites > 0 || known.is_taken || known.clock_ms > now_ms || *address == except
        });
        self.sweep_above = FEWEST_SWEPT.max(2 * self.addresses.len());
    }
}

#[cfg(test)]
mod tests;
