//! How far has a crawl come? Counters that every thread may add to and anybody may look at.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::Serialize;

use crate::harvest::HarvestNews;
use crate::harvester::Piece;
use crate::manager::Due;
use crate::outcome::Outcome;

/// The counters of a running crawl.
#[derive(Debug, Default)]
pub struct Counters {
    /// Pages that brought content.
    pub pages: AtomicU64,
    /// Bytes of bodies, as transferred.
    pub bytes: AtomicU64,
    /// Requests that began: for pages, robots.txt, sitemaps.
    pub requests: AtomicU64,
    /// Those of them that have not ended.
    pub requests_under_way: AtomicU64,
    /// Visits of pages by what they brought, in the order of [`Outcome::ALL`].
    pub outcomes: [AtomicU64; Outcome::ALL.len()],
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs, reason = "they are those of Counters")]
pub struct Progress {
    pub pages: u64,
    pub bytes: u64,
    pub requests: u64,
    pub requests_under_way: u64,
    pub outcomes: Outcomes,
    pub errors: u64,
    pub left_out: u64,
    pub active_sites: u64,
    pub waiting_pages: u64,
    pub links: u64,
    pub pages_known: u64,
    pub cycles: u64,
    pub paused_until_ms: u64,
    pub paused_by_budget: bool,
    /// Whether the one at the helm lets nothing begin.
    pub paused: bool,
}

/// How many visits of pages brought what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    /// So many brought this.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL.into_iter().zip(self.0)
    }
}

impl Serialize for Outcomes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(outcome, visits)| (outcome.as_str(), visits)))
    }
}

impl Counters {
    /// A page was visited.
    pub(crate) fn count_visit(&self, outcome: Outcome, good: bool, bytes: u64) {
        self.waiting_pages.fetch_sub(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        self.outcomes[outcome as usize].fetch_add(1, Relaxed);
        if good { &self.pages } else { &self.errors }.fetch_add(1, Relaxed);
    }

    /// Pages that were visited, in vain or not.
    pub(crate) fn visits(&self) -> u64 {
        self.pages.load(Relaxed) + self.errors.load(Relaxed)
    }

    /// Counts what was done elsewhere as if it had been done here.
    pub(crate) fn count_piece(&self, piece: &Piece) {
        match piece {
            Piece::Gathered(page) => {
                let good = (200..400).contains(&page.status) && page.failure.is_none();
                self.requests.fetch_add(1, Relaxed);
                self.count_visit(page.outcome, good, page.content_bytes());
            }
            Piece::News(HarvestNews::Robots { .. }) => {
                self.requests.fetch_add(1, Relaxed);
            }
            Piece::News(HarvestNews::Left { .. }) => {
                self.left_out.fetch_add(1, Relaxed);
            }
            Piece::News(_) | Piece::Fetched(..) | Piece::Log(_) => {}
        }
    }

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
            requests: self.requests.load(Relaxed),
            requests_under_way: self.requests_under_way.load(Relaxed),
            outcomes: Outcomes(std::array::from_fn(|outcome| self.outcomes[outcome].load(Relaxed))),
            errors: self.errors.load(Relaxed),
            left_out: self.left_out.load(Relaxed),
            active_sites: self.active_sites.load(Relaxed),
            // Of what is given up, some may count twice for a moment.
            waiting_pages: (self.waiting_pages.load(Relaxed) as i64).max(0) as u64,
            links: self.links.load(Relaxed),
            pages_known: self.pages_known.load(Relaxed),
            cycles: self.cycles.load(Relaxed),
            paused_until_ms: self.paused_until_ms.load(Relaxed),
            paused_by_budget: self.paused_by_budget.load(Relaxed),
            paused: false,
        }
    }
}
