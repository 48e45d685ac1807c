//! State that all threads of a crawl share: clock, counters, current settings, rate limiter and control state.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Instant;

use fetch::{BodyBudget, LocalFault};
use tokio::sync::watch;

use crate::control::control_state::ControlState;
use crate::control::counters::Counters;
use crate::control::lease_deadline::LeaseDeadline;
use crate::control::local_faults::{self, Activity, Admission, LocalFaults};
use crate::control::rate_limiter::RateLimiter;
use crate::settings::clock::CrawlClock;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::stop_mode::StopMode;

/// Shared state of a running crawl, one clone per thread.
#[derive(Debug, Clone)]
pub struct CrawlContext {
    /// Index of the thread among the harvesters.
    pub harvester: usize,
    /// Clock.
    pub clock: CrawlClock,
    /// Counters.
    pub counters: Arc<Counters>,
    settings: watch::Receiver<Arc<CrawlSettings>>,
    control: watch::Sender<ControlState>,
    control_changes: watch::Receiver<ControlState>,
    rate_limiter: Arc<RateLimiter>,
    /// Memory budget of the bodies in flight.
    pub(crate) body_budget: BodyBudget,
    /// Local faults of this process.
    pub(crate) local_faults: Arc<LocalFaults>,
    fault_changes: watch::Receiver<()>,
    /// Deadline of the lease; no request starts after it.
    pub(crate) lease: Arc<LeaseDeadline>,
    /// Pages that can still be fetched, without those in flight; `None` for unlimited.
    page_quota: Arc<Option<AtomicI64>>,
    max_pages: Option<u64>,
}

impl CrawlContext {
    pub(crate) fn new(
        settings: watch::Receiver<Arc<CrawlSettings>>,
        control: watch::Sender<ControlState>,
        counters: Arc<Counters>,
        pace: Arc<RateLimiter>,
        body_budget: BodyBudget,
        local_faults: Arc<LocalFaults>,
        max_pages: Option<u64>,
    ) -> CrawlContext {
        let clock = settings.borrow().start_clock();
        let page_quota = max_pages.map(|pages| AtomicI64::new(i64::try_from(pages).unwrap_or(i64::MAX)));
        CrawlContext {
            harvester: 0,
            clock,
            counters,
            settings,
            control_changes: control.subscribe(),
            control,
            rate_limiter: pace,
            body_budget,
            fault_changes: local_faults.subscribe(),
            local_faults,
            lease: Arc::default(),
            page_quota: Arc::new(page_quota),
            max_pages,
        }
    }

    /// Clone for the harvester with an index.
    pub(crate) fn for_harvester(&self, harvester: usize) -> CrawlContext {
        CrawlContext { harvester, ..self.clone() }
    }

    /// Current settings.
    pub fn settings(&self) -> Arc<CrawlSettings> {
        Arc::clone(&self.settings.borrow())
    }

    /// Requested stop mode.
    pub fn stop_mode(&self) -> StopMode {
        self.control_changes.borrow().stop_mode
    }

    /// Whether control state and lease allow a request to start.
    pub fn may_start(&self) -> bool {
        self.control_changes.borrow().may_start() && self.lease.is_valid()
    }

    /// Acquires a slot of the rate limiter for a request that starts now, or returns the time of the next slot, in Unix
    /// milliseconds.
    pub fn acquire_rate(&self, requests_per_second: f64) -> Result<(), u64> {
        self.rate_limiter
            .acquire(requests_per_second, self.clock.now_us())
            .map_err(|later_us| later_us.div_ceil(1_000))
    }

    /// Admits a request or lookup, or returns the time at which to ask again, because of a local fault.
    pub(crate) fn admit(&self, activity: Activity) -> Result<Admission, Instant> {
        let in_flight = self.counters.requests_in_flight.load(Relaxed);
        self.local_faults.admit(activity, in_flight, local_faults::now())
    }

    /// Records the result of lookups outside of the dispatcher, which are not paused by faults.
    pub fn record_lookups(&self, fault: Option<LocalFault>) {
        self.local_faults.record_lookups(fault, local_faults::now());
    }

    /// Requests a graceful stop; a stronger mode remains.
    pub fn stop_gracefully(&self) {
        self.control.send_if_modified(|control| {
            let first = control.stop_mode == StopMode::Running;
            control.stop_mode = control.stop_mode.max(StopMode::Graceful);
            first
        });
    }

    /// Waits for new settings, a new control state, or the start or end of a local fault.
    pub async fn changed(&mut self) {
        tokio::select! {
            changed = self.settings.changed() => if changed.is_err() { std::future::pending().await },
            changed = self.control_changes.changed() => if changed.is_err() { std::future::pending().await },
            changed = self.fault_changes.changed() => if changed.is_err() { std::future::pending().await },
        }
    }

    /// Puts a page back into the quota, because its request failed or is repeated, and wakes harvesters that wait for it.
    pub(crate) fn return_page(&self) {
        if let Some(left) = self.page_quota.as_ref() {
            left.fetch_add(1, Relaxed);
            self.control.send_modify(|_| {});
        }
    }

    /// Subtracts one page from the quota; false if all pages of it are fetched or in flight.
    pub fn acquire_page(&self) -> bool {
        let take = |left: i64| (left > 0).then_some(left - 1);
        self.page_quota.as_ref().as_ref().is_none_or(|left| left.fetch_update(Relaxed, Relaxed, take).is_ok())
    }

    /// Stops the crawl gracefully once all pages of the quota are fetched.
    pub(crate) fn stop_at_quota(&self) {
        if self.max_pages.is_some_and(|max_pages| self.counters.pages_fetched.load(Relaxed) >= max_pages) {
            self.stop_gracefully();
        }
    }
}
