//! Workbench: the queue of sites and addresses that enforces politeness.
//!
//! The idea is BUbiNG's (Boldi, Marino, Santini and Vigna, 2014): addresses are queued by the time at which they may be
//! contacted, each with its sites, each site with its jobs. An address is ready when its own ready time and that of one of
//! its sites with jobs have passed. Acquiring a site acquires its address too, so that neither gets two requests at the same
//! time, however many host names one server has. Addresses of the same [`AddressGroup`] are one address here: a server that has
//! a whole IPv6 network waits as one.
//!
//! The queue is fair: the entry that became ready first is acquired first, and no waiting entry is overtaken twice by the
//! same other entry. To this end an entry that joins the queue gets at least the latest time seen so far as its ready time.
//! Times are Unix milliseconds and must not go back.
//!
//! Every operation takes logarithmic time. The workbench does not know what a job is and never reads a clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;

use model::{AddressGroup, SiteId};

/// Sites and addresses with their ready times, and the jobs queued for them. `K` identifies a site.
#[derive(Debug)]
pub struct Workbench<K = SiteId> {
    sites: HashMap<K, Site>,
    addresses: HashMap<AddressGroup, Address>,
    /// Acquired sites, each with the address it holds.
    acquired: HashMap<K, AddressGroup>,
    /// Sites that have jobs and are not acquired, grouped by address.
    queued_sites: BTreeMap<(AddressGroup, QueuePosition), K>,
    /// Addresses that have such sites and are not acquired.
    queued_addresses: BTreeSet<(QueuePosition, AddressGroup)>,
    /// Latest time seen.
    now_ms: u64,
    /// Last sequence number given to a queue position.
    last_seq: u64,
    waiting_jobs: usize,
    sites_with_work: usize,
    /// Number of addresses above which unused ones are removed.
    sweep_threshold: usize,
}

/// Site acquired for one request; it must be released before the site or its address can be acquired again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcquiredSite<K = SiteId> {
    /// Site to contact.
    pub site: K,
    /// Address to contact, whose group is held; an IPv4-mapped IPv6 address appears as IPv4.
    pub address: IpAddr,
    /// Job to carry out.
    pub job: u32,
}

#[derive(Debug)]
struct Site {
    /// Address of the next request; the current one may still hold another address.
    address: IpAddr,
    ready_ms: u64,
    jobs: VecDeque<u32>,
    /// Position among the sites of its address, if queued.
    position: Option<QueuePosition>,
}

#[derive(Debug, Default)]
struct Address {
    ready_ms: u64,
    /// Number of sites at this address.
    sites: usize,
    is_acquired: bool,
    position: Option<QueuePosition>,
}

/// Position in a queue: by ready time, then in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    ready_ms: u64,
    seq: u64,
}

/// Capacity that an empty job queue retains; memory above it is freed.
const RETAINED_QUEUE_CAPACITY: usize = 16;
/// Minimum number of addresses before unused ones are removed.
const MIN_SWEEP_ADDRESSES: usize = 1 << 10;

impl<K> Default for Workbench<K> {
    fn default() -> Workbench<K> {
        Workbench {
            sites: HashMap::new(),
            addresses: HashMap::new(),
            acquired: HashMap::new(),
            queued_sites: BTreeMap::new(),
            queued_addresses: BTreeSet::new(),
            now_ms: 0,
            last_seq: 0,
            waiting_jobs: 0,
            sites_with_work: 0,
            sweep_threshold: 0,
        }
    }
}

impl<K: Copy + Eq + Hash> Workbench<K> {
    /// Creates an empty workbench.
    pub fn new() -> Workbench<K> {
        Workbench::default()
    }

    /// Adds a site, which is not acquired before `ready_ms`. A known site moves to the new address, after its release if it
    /// is acquired, and its ready time becomes the later of both.
    pub fn add_site(&mut self, site: K, address: IpAddr, ready_ms: u64) {
        let address = address.to_canonical();
        match self.sites.get(&site) {
            None => {
                let jobs = VecDeque::new();
                self.sites.insert(site, Site { address, ready_ms, jobs, position: None });
                self.address(address.into()).sites += 1;
            }
            Some(known) if known.address == address => self.delay_site(site, ready_ms),
            Some(_) => {
                self.dequeue_site(site);
                self.move_site(site, address, ready_ms);
                self.enqueue_site(site);
            }
        }
    }

    /// Appends a job to the queue of a site; returns false if the site is unknown.
    pub fn push(&mut self, site: K, job: u32) -> bool {
        self.enqueue_job(site, |jobs| jobs.push_back(job))
    }

    /// Puts a job at the front of the queue of a site; returns false if the site is unknown.
    pub fn push_first(&mut self, site: K, job: u32) -> bool {
        self.enqueue_job(site, |jobs| jobs.push_front(job))
    }

    /// Acquires the site that became ready first, if any is ready.
    pub fn acquire(&mut self, now_ms: u64) -> Option<AcquiredSite<K>> {
        self.now_ms = self.now_ms.max(now_ms);
        let (position, address) = *self.queued_addresses.first()?;
        if position.ready_ms > now_ms {
            return None;
        }
        let (_, site) = self.first_ready(address)?;
        let job = self.dequeue_job(site)?;
        self.acquired.insert(site, address);
        self.address(address).is_acquired = true;
        self.dequeue_site(site);
        Some(AcquiredSite { site, address: self.sites.get(&site)?.address, job })
    }

    /// Releases a site and its address, which are ready again at these times, or later if a delay was set meanwhile. Does
    /// nothing if the site is not acquired.
    pub fn release(&mut self, site: K, site_ready_ms: u64, address_ready_ms: u64) {
        let Some(address) = self.acquired.remove(&site) else { return };
        let now_ms = self.now_ms;
        let held = self.address(address);
        held.is_acquired = false;
        // At least now: otherwise an address whose other sites have waited for long would be first again.
        held.ready_ms = held.ready_ms.max(address_ready_ms).max(now_ms);
        if let Some(entry) = self.sites.get_mut(&site) {
            entry.ready_ms = entry.ready_ms.max(site_ready_ms);
        }
        self.enqueue_site(site);
        self.requeue_address(address);
    }

    /// Time at which the next site is ready; `None` if no jobs are queued, or only for sites and addresses that are acquired.
    pub fn next_ready_ms(&self) -> Option<u64> {
        self.queued_addresses.first().map(|(position, _)| position.ready_ms)
    }

    /// Delays a site: it is not acquired before this time. Does nothing if the site is unknown.
    pub fn delay_site(&mut self, site: K, until_ms: u64) {
        // A site that is not delayed keeps its position.
        if self.sites.get(&site).is_some_and(|entry| entry.ready_ms < until_ms) {
            self.dequeue_site(site);
            if let Some(entry) = self.sites.get_mut(&site) {
                entry.ready_ms = until_ms;
            }
            self.enqueue_site(site);
        }
    }

    /// Delays an address: it is not acquired before this time. The address need not have a site.
    pub fn delay_address(&mut self, address: IpAddr, until_ms: u64) {
        let address = AddressGroup::from(address);
        let entry = self.address(address);
        entry.ready_ms = entry.ready_ms.max(until_ms);
        self.requeue_address(address);
    }

    /// Removes and returns all queued jobs of a site, first to last; an acquired site stays acquired.
    pub fn drain(&mut self, site: K) -> Vec<u32> {
        self.dequeue_site(site);
        let Some(entry) = self.sites.get_mut(&site) else { return Vec::new() };
        let jobs = Vec::from(std::mem::take(&mut entry.jobs));
        self.waiting_jobs -= jobs.len();
        self.sites_with_work -= usize::from(!jobs.is_empty());
        jobs
    }

    /// Removes a site with its ready time and returns its queued jobs. The ready time of its address stays, and an acquired
    /// site must still be released.
    pub fn remove_site(&mut self, site: K) -> Vec<u32> {
        let jobs = self.drain(site);
        if let Some(gone) = self.sites.remove(&site) {
            self.address(gone.address.into()).sites -= 1;
        }
        jobs
    }

    /// Whether a site is acquired.
    pub fn is_acquired(&self, site: K) -> bool {
        self.acquired.contains_key(&site)
    }

    /// Number of queued jobs of a site.
    pub fn jobs_of(&self, site: K) -> usize {
        self.sites.get(&site).map_or(0, |entry| entry.jobs.len())
    }

    /// Number of queued jobs of all sites.
    pub fn waiting_jobs(&self) -> usize {
        self.waiting_jobs
    }

    /// Number of acquired sites.
    pub fn acquired(&self) -> usize {
        self.acquired.len()
    }

    /// Number of sites with queued jobs, acquired or not.
    pub fn sites_with_work(&self) -> usize {
        self.sites_with_work
    }
}

/// Queues of sites and addresses.
impl<K: Copy + Eq + Hash> Workbench<K> {
    /// Queues a site that has jobs and is not acquired.
    fn enqueue_site(&mut self, site: K) {
        let Some(entry) = self.sites.get_mut(&site) else { return };
        if entry.jobs.is_empty() || entry.position.is_some() || self.acquired.contains_key(&site) {
            return;
        }
        self.last_seq += 1;
        let position = QueuePosition { ready_ms: entry.ready_ms.max(self.now_ms), seq: self.last_seq };
        entry.position = Some(position);
        let address = AddressGroup::from(entry.address);
        self.queued_sites.insert((address, position), site);
        self.requeue_address(address);
    }

    /// Removes a site from the queue, if it is queued.
    fn dequeue_site(&mut self, site: K) {
        let Some(entry) = self.sites.get_mut(&site) else { return };
        let Some(position) = entry.position.take() else { return };
        let address = AddressGroup::from(entry.address);
        self.queued_sites.remove(&(address, position));
        self.requeue_address(address);
    }

    /// Updates the position of an address after a change of its ready time or its sites.
    fn requeue_address(&mut self, address: AddressGroup) {
        let first = self.first_ready(address);
        let Some(entry) = self.addresses.get_mut(&address) else { return };
        let (old, ready) = (entry.position, first.filter(|_| !entry.is_acquired));
        entry.position = ready.map(|(first, _)| {
            // The sequence number stays, so that an address keeps its queue position when its sites change.
            let seq = old.map_or(self.last_seq + 1, |position| position.seq);
            QueuePosition { ready_ms: first.ready_ms.max(entry.ready_ms), seq }
        });
        if entry.position == old {
            return;
        }
        if let Some(position) = old {
            self.queued_addresses.remove(&(position, address));
        }
        if let Some(position) = entry.position {
            self.last_seq = self.last_seq.max(position.seq);
            self.queued_addresses.insert((position, address));
        }
    }

    /// Site of an address that became ready first.
    fn first_ready(&self, address: AddressGroup) -> Option<(QueuePosition, K)> {
        let start = (address, QueuePosition { ready_ms: 0, seq: 0 });
        let ((site_address, position), site) = self.queued_sites.range(start..).next()?;
        (*site_address == address).then_some((*position, *site))
    }
}

/// Sites, addresses and jobs.
impl<K: Copy + Eq + Hash> Workbench<K> {
    fn enqueue_job(&mut self, site: K, push: impl FnOnce(&mut VecDeque<u32>)) -> bool {
        let Some(entry) = self.sites.get_mut(&site) else { return false };
        self.sites_with_work += usize::from(entry.jobs.is_empty());
        self.waiting_jobs += 1;
        push(&mut entry.jobs);
        self.enqueue_site(site);
        true
    }

    fn dequeue_job(&mut self, site: K) -> Option<u32> {
        let jobs = &mut self.sites.get_mut(&site)?.jobs;
        let job = jobs.pop_front()?;
        self.waiting_jobs -= 1;
        if jobs.is_empty() {
            self.sites_with_work -= 1;
            jobs.shrink_to(RETAINED_QUEUE_CAPACITY);
        }
        Some(job)
    }

    fn move_site(&mut self, site: K, to: IpAddr, ready_ms: u64) {
        let Some(entry) = self.sites.get_mut(&site) else { return };
        entry.ready_ms = entry.ready_ms.max(ready_ms);
        let from = std::mem::replace(&mut entry.address, to);
        self.address(from.into()).sites -= 1;
        self.address(to.into()).sites += 1;
    }

    /// Entry of an address, created if new.
    fn address(&mut self, address: AddressGroup) -> &mut Address {
        if self.addresses.len() > self.sweep_threshold {
            self.sweep(address);
        }
        self.addresses.entry(address).or_default()
    }

    /// Removes addresses without sites whose ready time has passed: they no longer delay anything.
    fn sweep(&mut self, except: AddressGroup) {
        let now_ms = self.now_ms;
        self.addresses.retain(|address, entry| {
            entry.sites > 0 || entry.is_acquired || entry.ready_ms > now_ms || *address == except
        });
        self.sweep_threshold = MIN_SWEEP_ADDRESSES.max(2 * self.addresses.len());
    }
}

#[cfg(test)]
mod tests;
