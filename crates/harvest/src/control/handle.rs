//! Control interface of a running crawl, for the terminal, signals and the dashboard.
//!
//! It does not slow the crawl down: threads read the control state before each request anyway, counters are atomics, and
//! the coordinating thread updates the rest of the status twice a second.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use fetch::BodyBudget;
use frontier::Scope;
use tokio::sync::watch;

use crate::control::context::CrawlContext;
use crate::control::control_state::ControlState;
use crate::control::counters::{Counters, Progress};
use crate::control::live_status::LiveStatus;
use crate::control::local_faults::LocalFaults;
use crate::control::process_memory::memory_bytes;
use crate::control::rate_limiter::RateLimiter;
use crate::control::status_state::SharedStatus;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::gather_settings::GatherSettings;
use crate::settings::stop_mode::StopMode;

/// Control interface of a crawl. Clones share the same state.
#[derive(Debug, Clone)]
pub struct CrawlHandle {
    counters: Arc<Counters>,
    control: watch::Sender<ControlState>,
    settings: watch::Sender<Arc<CrawlSettings>>,
    rate_limiter: Arc<RateLimiter>,
    /// Created with the settings of the first crawl.
    body_budget: Arc<OnceLock<BodyBudget>>,
    local_faults: Arc<LocalFaults>,
    status: SharedStatus,
}

impl CrawlHandle {
    /// Creates the handle of a crawl that has not started.
    pub fn new(settings: CrawlSettings) -> CrawlHandle {
        CrawlHandle {
            counters: Arc::default(),
            control: watch::Sender::new(ControlState::default()),
            settings: watch::Sender::new(Arc::new(settings)),
            rate_limiter: Arc::default(),
            body_budget: Arc::default(),
            local_faults: Arc::default(),
            status: SharedStatus::default(),
        }
    }

    /// Handle with its own control state and settings that shares counters, rate limiter, memory budget and local faults
    /// with this one.
    pub fn child(&self) -> CrawlHandle {
        let settings = CrawlSettings::clone(&self.settings.borrow());
        let (counters, pace) = (Arc::clone(&self.counters), Arc::clone(&self.rate_limiter));
        let body_budget = Arc::clone(&self.body_budget);
        let local_faults = Arc::clone(&self.local_faults);
        CrawlHandle { counters, rate_limiter: pace, body_budget, local_faults, ..CrawlHandle::new(settings) }
    }

    /// Forgets the servers that have responded, because the lease on their addresses has ended.
    pub(crate) fn forget_responders(&self) {
        self.local_faults.forget_responders();
    }

    /// Replaces all settings; only before the crawl starts.
    pub fn replace_settings(&self, settings: CrawlSettings) {
        self.settings.send_replace(Arc::new(settings));
    }

    /// Pauses or resumes the crawl.
    pub fn set_paused(&self, paused: bool) {
        self.control.send_modify(|control| control.paused = paused);
    }

    /// Whether the crawl is paused.
    pub fn is_paused(&self) -> bool {
        self.control.borrow().paused
    }

    /// Requested stop mode.
    pub fn stop_mode(&self) -> StopMode {
        self.control.borrow().stop_mode
    }

    /// Starts a crawl that requests at most `max_pages` pages; returns what its threads share.
    pub fn context(&self, max_pages: Option<u64>) -> CrawlContext {
        let (settings, counters) = (self.settings.subscribe(), Arc::clone(&self.counters));
        let rate_limiter = Arc::clone(&self.rate_limiter);
        let max_bytes = settings.borrow().fetch.max_body_memory_bytes;
        let body_budget = self.body_budget.get_or_init(|| BodyBudget::new(max_bytes)).clone();
        let (control, local_faults) = (self.control.clone(), Arc::clone(&self.local_faults));
        let context = CrawlContext::new(
            settings,
            control,
            counters,
            rate_limiter,
            body_budget,
            local_faults,
            max_pages,
        );
        self.status.update(|state| state.start(context.clock));
        context
    }

    /// Status that the crawl updates.
    pub fn shared_status(&self) -> SharedStatus {
        self.status.clone()
    }

    /// Counters.
    pub fn progress(&self) -> Progress {
        let (retried_requests, last_local_fault) = self.local_faults.retried();
        Progress {
            paused: self.control.borrow().paused,
            local_fault: self.local_faults.status(Instant::now()),
            retried_requests,
            last_local_fault,
            ..self.counters.progress()
        }
    }

    /// Full status.
    pub fn status(&self) -> LiveStatus {
        let (progress, control) = (self.progress(), *self.control.borrow());
        let per_second = self.settings.borrow().max_requests_per_second;
        let state = self.status.snapshot();
        LiveStatus {
            now_ms: state.now_ms(),
            started_ms: state.started_ms,
            finished: state.finished,
            stop_mode: control.stop_mode,
            max_requests_per_second: Some(per_second).filter(|per_second| *per_second > 0.0),
            rates: state.throughput(&progress),
            memory_bytes: memory_bytes(),
            batches: state.batches,
            workers: state.workers,
            slowest_sites: state.slowest_sites,
            failing_sites: state.failing_sites,
            last_commit: state.last_commit,
            budgets: state.budgets,
            warnings: state.warnings.into(),
            samples: state.samples.into(),
            progress,
        }
    }

    /// Starts no request and no DNS lookup until [`CrawlHandle::resume`]. Requests in flight complete and are committed, and
    /// delays elapse. The pause is not stored: a crawl that is started again runs.
    pub fn pause(&self) {
        self.set_paused(true);
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.set_paused(false);
    }

    /// Sets the maximum number of requests per second to all sites together; `None` for unlimited. Politeness delays still
    /// apply.
    pub fn set_max_requests_per_second(&self, requests_per_second: Option<f64>) {
        let rate = requests_per_second.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(0.0);
        self.settings.send_modify(|settings| {
            *settings =
                Arc::new(CrawlSettings { max_requests_per_second: rate, ..CrawlSettings::clone(settings) });
        });
    }

    /// Requests a stop; a stronger mode that was requested before remains.
    pub fn stop(&self, mode: StopMode) {
        self.control.send_modify(|control| control.stop_mode = control.stop_mode.max(mode));
    }

    /// Applies new settings to the running crawl, except for those of canonical URLs, parsing, HTTP client and resolver, which
    /// apply from the next start on.
    pub fn update_settings(&self, settings: CrawlSettings) {
        self.settings.send_modify(|old| {
            *old = Arc::new(CrawlSettings {
                gathering: GatherSettings {
                    scope: Scope { ports: old.gathering.scope.ports.clone(), ..settings.gathering.scope },
                    ..old.gathering.clone()
                },
                setting_digests: applied_digests(&old.setting_digests, settings.setting_digests),
                fetch: old.fetch.clone(),
                dns: old.dns.clone(),
                ..settings
            });
        });
    }
}

/// Digests after a change of the settings of a running crawl: those of HTTP client and resolver remain.
fn applied_digests(old: &BTreeMap<String, u64>, new: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_fixed =
        |name: &str| ["fetch.", "dns.", "network."].iter().any(|section| name.starts_with(section));
    let fixed = old.iter().filter(|(name, _)| is_fixed(name)).map(|(name, digest)| (name.clone(), *digest));
    new.into_iter().filter(|(name, _)| !is_fixed(name)).chain(fixed).collect()
}
