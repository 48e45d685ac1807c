//! Live status of a crawl for the API and the dashboard: plain data. All times are those of the crawl clock, in Unix
//! milliseconds.

use fetch::LocalFault;
use serde::Serialize;

use crate::control::budgets::Budgets;
use crate::control::counters::Progress;
use crate::settings::stop_mode::StopMode;
use crate::transport::messages::{WorkerReport, plain_worker_name};

/// Status of a crawl at one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LiveStatus {
    /// Time of the status.
    pub now_ms: u64,
    /// Start of the crawl; `None` before it.
    pub started_ms: Option<u64>,
    /// Whether the crawl has finished.
    pub finished: bool,
    /// Requested stop mode.
    pub stop_mode: StopMode,
    /// Maximum requests per second; `None` for unlimited.
    pub max_requests_per_second: Option<f64>,
    /// Counters.
    pub progress: Progress,
    /// Throughput of the last ten seconds.
    pub rates: Throughput,
    /// Resident memory of this process, if the system reports it.
    pub memory_bytes: Option<u64>,
    /// Open batches, the oldest first.
    pub batches: Vec<LiveBatch>,
    /// Remote workers, by name; empty if this process fetches.
    pub workers: Vec<LiveWorker>,
    /// Sites of this run with the slowest responses.
    pub slowest_sites: Vec<LiveSite>,
    /// Sites of this run with the most failed fetches.
    pub failing_sites: Vec<LiveSite>,
    /// Last commit of this run.
    pub last_commit: Option<LiveCommit>,
    /// Budgets and their use.
    pub budgets: Budgets,
    /// Last warnings, the oldest first.
    pub warnings: Vec<String>,
    /// Counters of the last ten minutes, about one sample per second, the oldest first.
    pub samples: Vec<CounterSample>,
}

/// Throughput, averaged over ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Throughput {
    /// Pages that were fetched successfully.
    pub pages_per_second: f64,
    /// Bytes of bodies, as transferred.
    pub bytes_per_second: f64,
    /// Requests of all kinds that were started.
    pub requests_per_second: f64,
    /// Page fetches that failed.
    pub failed_fetches_per_second: f64,
}

/// Sample of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields are those of Counters")]
pub struct CounterSample {
    pub time_ms: u64,
    pub pages_fetched: u64,
    pub bytes_received: u64,
    pub requests: u64,
    pub failed_fetches: u64,
    pub active_sites: u64,
    pub pages_queued: u64,
    pub pages_known: u64,
    pub memory_bytes: Option<u64>,
}

/// Open batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LiveBatch {
    /// Id.
    pub id: u64,
    /// Time of its creation.
    pub created_ms: u64,
    /// Number of sites.
    pub sites: u32,
    /// Number of sites that are not finished.
    pub sites_remaining: u32,
    /// Number of pages.
    pub pages: u32,
    /// Number of pages of unfinished sites.
    pub pages_remaining: u32,
}

/// Statistics of a site in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LiveSite {
    /// Scheme, host and port.
    pub site: String,
    /// Page fetches.
    pub fetches: u64,
    /// Page fetches that failed.
    pub failed_fetches: u64,
    /// Mean time from the request to the last byte; `None` without a response.
    pub mean_duration_ms: Option<u64>,
    /// Consecutive failed requests.
    pub consecutive_failures: u16,
    /// End of the back-off after failures.
    pub back_off_until_ms: Option<u64>,
}

/// Commit of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LiveCommit {
    /// Time of the commit.
    pub time_ms: u64,
    /// Generation of the collection.
    pub generation: u64,
    /// Duration.
    pub duration_ms: u64,
    /// Number of commits of this run.
    pub commits_this_run: u64,
}

/// Remote worker, as of its last report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields are those of Counters")]
pub struct LiveWorker {
    pub name: String,
    /// Time of the last report.
    pub last_heartbeat_ms: u64,
    /// Batches that the worker holds.
    pub batches: Vec<u64>,
    pub pages_fetched: u64,
    pub bytes_received: u64,
    pub requests: u64,
    pub requests_in_flight: u64,
    pub failed_fetches: u64,
    pub active_sites: u64,
    pub memory_bytes: Option<u64>,
    /// Current fault of the worker's machine.
    pub local_fault: Option<LocalFault>,
}

/// Maximum number of batches in the status of a worker. It holds a few; a report could state any number.
const MAX_WORKER_BATCHES: usize = 1_000;

impl LiveWorker {
    /// Builds the status of a worker from a report that was received at `received_ms`.
    pub fn from_report(report: &WorkerReport, received_ms: u64) -> LiveWorker {
        LiveWorker {
            name: plain_worker_name(&report.worker),
            last_heartbeat_ms: received_ms,
            batches: report.batches.iter().copied().take(MAX_WORKER_BATCHES).collect(),
            pages_fetched: report.pages_fetched,
            bytes_received: report.bytes_received,
            requests: report.requests,
            requests_in_flight: report.requests_in_flight,
            failed_fetches: report.failed_fetches,
            active_sites: report.active_sites,
            memory_bytes: report.memory_bytes,
            local_fault: report.local_fault,
        }
    }
}
