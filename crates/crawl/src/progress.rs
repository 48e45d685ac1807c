//! How far has a crawl come? Counters that every thread may add to and anybody may look at.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::manager::Due;

/// The counters of a running crawl.
#[derive(Debug, Default)]
pub struct Counters {
    /// Pages that brought content.
    pub pages: AtomicU64,
    /// Bytes of bodies, as transferred.
    pub bytes: AtomicU64,
    /// Visits of pages that brought nothing.
    pub errors: AtomicU64,
    /// Pages that were left out when their turn came.
    pub left_out: AtomicU64,
    /// Sites with work in the harvester.
    pub active_sites: AtomicU64,
    /// Pages in open batches that were not visited yet.
    pub waiting_pages: AtomicU64,
    /// Links that were found.
    pub links: AtomicU64,
    /// Pages of which the URL is known.
    pub pages_known: AtomicU64,
    /// Batches so far.
    pub cycles: AtomicU64,
    /// Until when the crawl does nothing, in Unix milliseconds; 0 if it does something.
    pub paused_until_ms: AtomicU64,
    /// Whether that is because the requests of the day are used up.
    pub paused_by_budget: AtomicBool,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "they are those of Counters")]
pub struct Progress {
    pub pages: u64,
    pub bytes: u64,
    pub errors: u64,
    pub left_out: u64,
    pub active_sites: u64,
    pub waiting_pages: u64,
    pub links: u64,
    pub pages_known: u64,
    pub cycles: u64,
    pub paused_until_ms: u64,
    pub paused_by_budget: bool,
}

impl Counters {
    /// The crawl does nothing until something is due, or goes on.
    pub(crate) fn set_pause(&self, until: Option<Due>) {
        self.paused_by_budget.store(until.is_some_and(|due| due.budget), Relaxed);
        self.paused_until_ms.store(until.map_or(0, |due| due.time_ms), Relaxed);
    }

    /// All of them, now.
    pub fn progress(&self) -> Progress {
        Progress {
            pages: self.pages.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            errors: self.errors.load(Relaxed),
            left_out: self.left_out.load(Relaxed),
            active_sites: self.active_sites.load(Relaxed),
            waiting_pages: self.waiting_pages.load(Relaxed),
            links: self.links.load(Relaxed),
            pages_known: self.pages_known.load(Relaxed),
            cycles: self.cycles.load(Relaxed),
            paused_until_ms: self.paused_until_ms.load(Relaxed),
            paused_by_budget: self.paused_by_budget.load(Relaxed),
        }
    }
}
