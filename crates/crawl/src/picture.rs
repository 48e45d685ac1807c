//! What does the thread that owns a collection show of a crawl? What counters cannot tell: batches, sites, commits, and how
//! the counters were before.
//!
//! It is drawn now and then, never for a page. Whoever looks gets a copy.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::budgets::Budgets;
use crate::clock::Clock;
use crate::live::{LiveBatch, LiveCommit, LiveSite, LiveWorker, Rates, Sample};
use crate::memory::memory_bytes;
use crate::progress::Progress;

/// A picture that one thread draws and others look at.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedPicture(Arc<Mutex<Picture>>);

/// What is shown beside the counters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Picture {
    clock: Option<Clock>,
    pub(crate) began_ms: Option<u64>,
    pub(crate) ended: bool,
    pub(crate) batches: Vec<LiveBatch>,
    pub(crate) workers: Vec<LiveWorker>,
    pub(crate) slowest: Vec<LiveSite>,
    pub(crate) failing: Vec<LiveSite>,
    pub(crate) commit: Option<LiveCommit>,
    pub(crate) budgets: Budgets,
    pub(crate) history: VecDeque<Sample>,
}

/// Ten minutes.
const MOST_SAMPLES: usize = 600;
const SAMPLE_EVERY_MS: u64 = 1_000;
/// The time over which rates are taken.
const RATE_MS: u64 = 10_000;

impl SharedPicture {
    /// Changes the picture.
    pub(crate) fn draw(&self, change: impl FnOnce(&mut Picture)) {
        change(&mut self.lock());
    }

    /// A copy.
    pub(crate) fn look(&self) -> Picture {
        self.lock().clone()
    }

    /// Who panicked while drawing has left a picture that is no worse than an old one.
    fn lock(&self) -> MutexGuard<'_, Picture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Picture {
    /// A crawl begins that goes by this clock.
    pub(crate) fn begin(&mut self, clock: Clock) {
        *self = Picture { clock: Some(clock), began_ms: Some(clock.now_ms()), ..Picture::default() };
    }

    /// What time it is in the crawl.
    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.unwrap_or_else(Clock::start).now_ms()
    }

    /// Remembers the counters, if the last time was long enough ago.
    pub(crate) fn sample(&mut self, progress: &Progress) {
        let time_ms = self.now_ms();
        if self.history.back().is_some_and(|last| time_ms < last.time_ms + SAMPLE_EVERY_MS) {
            return;
        }
        if self.history.len() >= MOST_SAMPLES {
            self.history.pop_front();
        }
        self.history.push_back(Sample {
            time_ms,
            pages: progress.pages,
            bytes: progress.bytes,
            requests: progress.requests,
            errors: progress.errors,
            active_sites: progress.active_sites,
            waiting_pages: progress.waiting_pages,
            pages_known: progress.pages_known,
            memory_bytes: memory_bytes(),
        });
    }

    /// What came in a second, from the first sample of the last ten seconds to now.
    pub(crate) fn rates(&self, now: &Progress) -> Rates {
        let now_ms = self.now_ms();
        // The last one from before, since nothing may have been remembered while nothing happened.
        let before = self.history.iter().rev().find(|sample| sample.time_ms + RATE_MS <= now_ms);
        let Some(before) = before.or(self.history.front()) else { return Rates::default() };
        let seconds = now_ms.saturating_sub(before.time_ms).max(1) as f64 / 1_000.0;
        let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        Rates {
            pages: per_second(now.pages, before.pages),
            bytes: per_second(now.bytes, before.bytes),
            requests: per_second(now.requests, before.requests),
            errors: per_second(now.errors, before.errors),
        }
    }
}
