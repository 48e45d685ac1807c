//! Status of a crawl beyond the counters: batches, sites, commits and samples of the counters.
//!
//! The thread that owns the collection updates it periodically, never per page. Readers get a copy.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::control::budgets::Budgets;
use crate::control::counters::Progress;
use crate::control::live_status::{CounterSample, LiveBatch, LiveCommit, LiveSite, LiveWorker, Throughput};
use crate::control::process_memory::memory_bytes;
use crate::settings::clock::CrawlClock;

/// Status that one thread updates and others read.
#[derive(Debug, Clone, Default)]
pub struct SharedStatus(Arc<Mutex<StatusState>>);

/// Status beyond the counters.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the fields are those of LiveStatus")]
pub struct StatusState {
    clock: Option<CrawlClock>,
    pub started_ms: Option<u64>,
    pub finished: bool,
    pub batches: Vec<LiveBatch>,
    pub workers: Vec<LiveWorker>,
    pub slowest_sites: Vec<LiveSite>,
    pub failing_sites: Vec<LiveSite>,
    pub last_commit: Option<LiveCommit>,
    pub budgets: Budgets,
    pub samples: VecDeque<CounterSample>,
    /// Last warnings, the oldest first.
    pub warnings: VecDeque<String>,
    /// Warnings that were not taken yet.
    new_warnings: usize,
}

/// Ten minutes, at one sample a second.
const MAX_SAMPLES: usize = 600;
const SAMPLE_INTERVAL_MS: u64 = 1_000;
/// Maximum number of warnings that are kept.
const MAX_WARNINGS: usize = 100;
/// Time over which throughput is averaged.
const RATE_WINDOW_MS: u64 = 10_000;

impl SharedStatus {
    /// Updates the status.
    pub fn update(&self, change: impl FnOnce(&mut StatusState)) {
        change(&mut self.lock());
    }

    /// Copy of the status.
    pub fn snapshot(&self) -> StatusState {
        self.lock().clone()
    }

    /// Adds a warning for the log.
    pub fn warn(&self, message: String) {
        let mut state = self.lock();
        if state.warnings.len() >= MAX_WARNINGS {
            state.warnings.pop_front();
        }
        state.warnings.push_back(message);
        state.new_warnings = (state.new_warnings + 1).min(MAX_WARNINGS);
    }

    /// Warnings since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        let mut state = self.lock();
        let old = state.warnings.len() - std::mem::take(&mut state.new_warnings);
        state.warnings.iter().skip(old).cloned().collect()
    }

    /// Locks the status. Poisoning is ignored: a panic during an update leaves a status that is at worst outdated.
    fn lock(&self) -> MutexGuard<'_, StatusState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusState {
    /// Resets the status for a crawl that starts.
    pub fn start(&mut self, clock: CrawlClock) {
        *self =
            StatusState { clock: Some(clock), started_ms: Some(clock.now_ms()), ..StatusState::default() };
    }

    /// Current time of the crawl, in Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clock.unwrap_or_else(CrawlClock::start).now_ms()
    }

    /// Adds a sample of the counters, if the last one is old enough.
    pub fn sample(&mut self, progress: &Progress) {
        let time_ms = self.now_ms();
        if self.samples.back().is_some_and(|last| time_ms < last.time_ms + SAMPLE_INTERVAL_MS) {
            return;
        }
        if self.samples.len() >= MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(CounterSample {
            time_ms,
            pages_fetched: progress.pages_fetched,
            bytes_received: progress.bytes_received,
            requests: progress.requests,
            failed_fetches: progress.failed_fetches,
            active_sites: progress.active_sites,
            pages_queued: progress.pages_queued,
            pages_known: progress.pages_known,
            memory_bytes: memory_bytes(),
        });
    }

    /// Throughput of the last ten seconds.
    pub fn throughput(&self, now: &Progress) -> Throughput {
        let now_ms = self.now_ms();
        // The last sample before the window: an idle crawl takes no samples.
        let before = self.samples.iter().rev().find(|sample| sample.time_ms + RATE_WINDOW_MS <= now_ms);
        let Some(before) = before.or(self.samples.front()) else { return Throughput::default() };
        let seconds = now_ms.saturating_sub(before.time_ms).max(1) as f64 / 1_000.0;
        let per_second = |new: u64, old: u64| new.saturating_sub(old) as f64 / seconds;
        Throughput {
            pages_per_second: per_second(now.pages_fetched, before.pages_fetched),
            bytes_per_second: per_second(now.bytes_received, before.bytes_received),
            requests_per_second: per_second(now.requests, before.requests),
            failed_fetches_per_second: per_second(now.failed_fetches, before.failed_fetches),
        }
    }
}
