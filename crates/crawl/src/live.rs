//! What does a crawl look like while it runs? Plain data, for whoever shows it. All times are the crawl's, in Unix
//! milliseconds.

use serde::Serialize;

use crate::budgets::Budgets;
use crate::messages::WorkerReport;
use crate::progress::Progress;
use crate::stop::Stop;

/// A crawl at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Live {
    /// The moment.
    pub now_ms: u64,
    /// When it began; nothing if it has not.
    pub began_ms: Option<u64>,
    /// Whether it is over.
    pub ended: bool,
    /// How soon it is to end.
    pub stop: Stop,
    /// How many requests may begin in a second; nothing stands for any number.
    pub requests_per_second: Option<f64>,
    /// The counters.
    pub progress: Progress,
    /// What came in a second, of late.
    pub rates: Rates,
    /// What this process occupies, where the system tells.
    pub memory_bytes: Option<u64>,
    /// Batches with sites that have not come back, the oldest first.
    pub batches: Vec<LiveBatch>,
    /// Who fetches elsewhere, by name; nobody if it is done here.
    pub workers: Vec<LiveWorker>,
    /// The sites of this run that take longest to answer.
    pub slowest: Vec<LiveSite>,
    /// The sites of this run of which most visits were in vain.
    pub failing: Vec<LiveSite>,
    /// The last commit of this run.
    pub commit: Option<LiveCommit>,
    /// What the settings allow, and how much of it is used.
    pub budgets: Budgets,
    /// The counters of the last minutes, about one entry a second, the oldest first.
    pub history: Vec<Sample>,
}

/// What came in a second, over the last ten.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Rates {
    /// Pages that brought content.
    pub pages: f64,
    /// Bytes of bodies, as transferred.
    pub bytes: f64,
    /// Requests of all kinds that began.
    pub requests: f64,
    /// Visits of pages that brought nothing.
    pub errors: f64,
}

/// The counters at a moment that has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "they are those of Counters")]
pub struct Sample {
    pub time_ms: u64,
    pub pages: u64,
    pub bytes: u64,
    pub requests: u64,
    pub errors: u64,
    pub active_sites: u64,
    pub waiting_pages: u64,
    pub pages_known: u64,
    pub memory_bytes: Option<u64>,
}

/// A batch that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LiveBatch {
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub made_ms: u64,
    /// How many sites it has.
    pub sites: u32,
    /// How many of them have not come back.
    pub sites_open: u32,
    /// How many pages it has.
    pub pages: u32,
    /// How many of them are of sites that have not come back.
    pub pages_open: u32,
}

/// What this run has seen of a site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LiveSite {
    /// Scheme, host and port.
    pub site: String,
    /// Visits of its pages.
    pub visits: u64,
    /// How many of them were in vain.
    pub failures: u64,
    /// How long an answer took on average, from the request to the last byte; nothing if there was none.
    pub mean_ms: Option<u64>,
    /// Requests in a row that had failed when it last came back.
    pub errors_in_a_row: u16,
    /// Until when it is left alone after failures.
    pub back_off_until_ms: Option<u64>,
}

/// A commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LiveCommit {
    /// When it was made.
    pub time_ms: u64,
    /// Its number in the collection.
    pub generation: u64,
    /// How long it took.
    pub took_ms: u64,
    /// How many this run has made.
    pub commits: u64,
}

/// Somebody who fetches elsewhere, as of the last report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "they are those of Counters")]
pub struct LiveWorker {
    pub name: String,
    /// When it last reported.
    pub heard_ms: u64,
    /// The batches that it works on.
    pub batches: Vec<u64>,
    pub pages: u64,
    pub bytes: u64,
    pub requests: u64,
    pub requests_under_way: u64,
    pub errors: u64,
    pub active_sites: u64,
    pub memory_bytes: Option<u64>,
}

impl LiveWorker {
    pub(crate) fn of(report: &WorkerReport, heard_ms: u64) -> LiveWorker {
        // It comes from elsewhere and is shown in many places.
        let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-' || *letter == '_';
        LiveWorker {
            name: report.worker.chars().filter(is_plain).take(100).collect(),
            heard_ms,
            batches: report.batches.clone(),
            pages: report.pages,
            bytes: report.bytes,
            requests: report.requests,
            requests_under_way: report.requests_under_way,
            errors: report.errors,
            active_sites: report.active_sites,
            memory_bytes: report.memory_bytes,
        }
    }
}
