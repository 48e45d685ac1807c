//! Counters of a crawl, updated by all threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use fetch::LocalFault;
use serde::Serialize;

use crate::control::local_faults::LocalFaultStatus;
use crate::item::fetch_outcome::FetchOutcome;
use crate::item::harvest_event::HarvestEvent;
use crate::item::harvest_item::HarvestItem;

/// Counters of a running crawl.
#[derive(Debug, Default)]
pub struct Counters {
    /// Pages that were fetched successfully.
    pub pages_fetched: AtomicU64,
    /// Bytes of bodies, as transferred.
    pub bytes_received: AtomicU64,
    /// Requests that were started: for pages, robots.txt and sitemaps.
    pub requests: AtomicU64,
    /// Requests in flight.
    pub requests_in_flight: AtomicU64,
    /// Page fetches by outcome, in the order of [`FetchOutcome::ALL`].
    pub outcomes: [AtomicU64; FetchOutcome::ALL.len()],
    /// Page fetches that failed.
    pub failed_fetches: AtomicU64,
    /// Pages whose body was cut at a limit on size or time.
    pub pages_truncated: AtomicU64,
    /// Pages that were skipped, for instance because of robots.txt.
    pub pages_skipped: AtomicU64,
    /// Sites that harvesters work on.
    pub active_sites: AtomicU64,
    /// Pages of open batches that are not fetched yet.
    pub pages_queued: AtomicU64,
    /// Links that were discovered.
    pub links: AtomicU64,
    /// Pages of all stages that the collection knows.
    pub pages_known: AtomicU64,
    /// Batches that were created.
    pub batches: AtomicU64,
    /// Items of workers that were dropped because they contradict their batch, and segments in quarantine.
    pub rejected_items: AtomicU64,
    /// End of the idle time, in Unix milliseconds; 0 if the crawl is not idle.
    pub idle_until_ms: AtomicU64,
    /// Whether the crawl is idle because the daily request limit is reached.
    pub daily_limit_reached: AtomicBool,
}

/// Values of the counters at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs, reason = "the fields are those of Counters")]
pub struct Progress {
    pub pages_fetched: u64,
    pub bytes_received: u64,
    pub requests: u64,
    pub requests_in_flight: u64,
    pub outcomes: Outcomes,
    pub failed_fetches: u64,
    pub pages_truncated: u64,
    pub pages_skipped: u64,
    pub active_sites: u64,
    pub pages_queued: u64,
    pub links: u64,
    pub pages_known: u64,
    pub batches: u64,
    pub rejected_items: u64,
    pub idle_until_ms: u64,
    pub daily_limit_reached: bool,
    /// Whether the crawl is paused.
    pub paused: bool,
    /// Current fault of this machine, which pauses requests or DNS lookups.
    pub local_fault: Option<LocalFaultStatus>,
    /// Requests and DNS lookups that were retried because of a fault of this machine.
    pub retried_requests: u64,
    /// Last fault of this machine.
    pub last_local_fault: Option<LocalFault>,
}

/// Number of page fetches by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcomes([u64; FetchOutcome::ALL.len()]);

impl Outcomes {
    /// Number of fetches with an outcome.
    pub fn of(&self, outcome: FetchOutcome) -> u64 {
        self.0[outcome as usize]
    }

    /// All outcomes with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (FetchOutcome, u64)> {
        FetchOutcome::ALL.into_iter().zip(self.0)
    }
}

impl Serialize for Outcomes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(outcome, fetches)| (outcome.as_str(), fetches)))
    }
}

impl Counters {
    /// Counts a page fetch.
    pub fn count_fetch(&self, outcome: FetchOutcome, success: bool, bytes: u64) {
        self.pages_queued.fetch_sub(1, Relaxed);
        self.bytes_received.fetch_add(bytes, Relaxed);
        self.outcomes[outcome as usize].fetch_add(1, Relaxed);
        if success { &self.pages_fetched } else { &self.failed_fetches }.fetch_add(1, Relaxed);
    }

    /// Number of page fetches, failed ones included.
    pub fn fetches(&self) -> u64 {
        self.pages_fetched.load(Relaxed) + self.failed_fetches.load(Relaxed)
    }

    /// Counts an item of a remote worker as if it had been fetched here.
    pub fn count_item(&self, item: &HarvestItem) {
        match item {
            HarvestItem::Gathered(page) => {
                let success = (200..400).contains(&page.status) && page.failure.is_none();
                self.requests.fetch_add(1, Relaxed);
                self.count_fetch(page.outcome, success, page.content_bytes());
            }
            HarvestItem::Event(HarvestEvent::RobotsFetched { .. }) => {
                self.requests.fetch_add(1, Relaxed);
            }
            HarvestItem::Event(HarvestEvent::PageSkipped { .. }) => {
                self.pages_skipped.fetch_add(1, Relaxed);
            }
            HarvestItem::Event(_) | HarvestItem::Fetched(..) | HarvestItem::Cursor(_) => {}
        }
    }

    /// Sets the time until which the crawl is idle, 0 for none, and whether the reason is the daily request limit.
    pub fn set_idle_until(&self, until_ms: u64, by_budget: bool) {
        self.daily_limit_reached.store(by_budget, Relaxed);
        self.idle_until_ms.store(until_ms, Relaxed);
    }

    /// Current values.
    pub fn progress(&self) -> Progress {
        Progress {
            pages_fetched: self.pages_fetched.load(Relaxed),
            bytes_received: self.bytes_received.load(Relaxed),
            requests: self.requests.load(Relaxed),
            requests_in_flight: self.requests_in_flight.load(Relaxed),
            outcomes: Outcomes(std::array::from_fn(|outcome| self.outcomes[outcome].load(Relaxed))),
            failed_fetches: self.failed_fetches.load(Relaxed),
            pages_truncated: self.pages_truncated.load(Relaxed),
            pages_skipped: self.pages_skipped.load(Relaxed),
            active_sites: self.active_sites.load(Relaxed),
            // Pages of an abandoned batch can be subtracted twice for a moment.
            pages_queued: (self.pages_queued.load(Relaxed) as i64).max(0) as u64,
            links: self.links.load(Relaxed),
            pages_known: self.pages_known.load(Relaxed),
            batches: self.batches.load(Relaxed),
            rejected_items: self.rejected_items.load(Relaxed),
            idle_until_ms: self.idle_until_ms.load(Relaxed),
            daily_limit_reached: self.daily_limit_reached.load(Relaxed),
            paused: false,
            local_fault: None,
            retried_requests: 0,
            last_local_fault: None,
        }
    }
}
