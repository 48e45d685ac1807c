//! Prometheus metrics: streams, status of the last commit, and progress of a crawl in this process.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use harvest::{CrawlHandle, LiveStatus};
use inspect::CollectionStatus;

use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

pub(crate) async fn text(State(state): State<Arc<AppState>>) -> Result<Response, ApiError> {
    let mut text = Text(String::new());
    text.metric("weir_build_info", "gauge", "Version of the program.", &[(VERSION.to_owned(), 1.0)]);
    let streams = state.streams.usage();
    text.gauge("weir_streams_open", "Open streams over HTTP.", streams.open_streams as f64);
    text.counter(
        "weir_stream_pages_examined_total",
        "Pages considered by finished streams over HTTP, whether they matched or not.",
        streams.pages_examined,
    );
    if let Some(status) = state.latest_status(STATUS_TIMEOUT).await? {
        commit(&mut text, &status);
    }
    if let Some(live) = state.crawl.as_ref().map(CrawlHandle::status) {
        crawl(&mut text, &live);
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text.0).into_response())
}

/// Maximum wait for the first count of pages; without it the response has the metrics of the crawl alone.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

const VERSION: &str = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");

/// Output in the Prometheus text format, version 0.0.4.
struct Text(String);

impl Text {
    /// Writes a metric with its values, each with its labels.
    fn metric(&mut self, name: &str, kind: &str, help: &str, values: &[(String, f64)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, "gauge", help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.metric(name, "counter", help, &[(String::new(), value as f64)]);
    }
}

fn commit(text: &mut Text, status: &CollectionStatus) {
    let stage = |name: &str, pages: u64| (format!("{{stage=\"{name}\"}}"), pages as f64);
    text.metric(
        "weir_pages",
        "gauge",
        "Pages of the last commit by stage.",
        &[
            stage("fetched", status.pages_fetched),
            stage("queued", status.pages_queued),
            stage("discovered", status.pages_discovered),
            stage("failed", status.pages_failed),
            stage("rejected", status.pages_rejected),
        ],
    );
    let reason = |(name, pages): (&&str, &u64)| (format!("{{reason=\"{name}\"}}"), *pages as f64);
    let reasons: Vec<(String, f64)> = status.pages_by_reason.iter().map(reason).collect();
    text.metric("weir_pages_by_reason", "gauge", "Failed and rejected pages by reason.", &reasons);
    text.gauge("weir_sites", "Known sites.", status.sites_known as f64);
    text.gauge(
        "weir_sites_in_back_off",
        "Sites in back-off after failures.",
        status.site_states.in_back_off as f64,
    );
    text.gauge("weir_links", "Rows of the links table.", status.links as f64);
    text.gauge("weir_warc_bytes", "Size of the WARC files.", status.warc_bytes as f64);
    text.gauge("weir_disk_bytes", "Size of all files of the last commit.", status.disk_bytes as f64);
    text.gauge("weir_commit_generation", "Generation of the last commit.", status.generation as f64);
    text.gauge("weir_commit_time_seconds", "Unix time of the last commit.", status.committed_ms as f64 / 1e3);
}

fn crawl(text: &mut Text, live: &LiveStatus) {
    let progress = &live.progress;
    let flag = |is: bool| f64::from(u8::from(is));
    text.gauge("weir_crawl_running", "1 while the crawl runs, 0 after its end.", flag(!live.finished));
    text.gauge("weir_crawl_paused", "1 while the crawl is paused.", flag(progress.paused));
    let fault = |status: harvest::LocalFaultStatus| (format!("{{fault=\"{}\"}}", status.fault.as_str()), 1.0);
    let faults: Vec<(String, f64)> = progress.local_fault.map(fault).into_iter().collect();
    text.metric(
        "weir_crawl_local_fault",
        "gauge",
        "1 while a fault of this machine stops requests.",
        &faults,
    );
    text.counter(
        "weir_crawl_retried_requests_total",
        "Requests and DNS lookups retried because of a fault of this machine.",
        progress.retried_requests,
    );
    text.counter("weir_crawl_pages_fetched_total", "Pages fetched with content.", progress.pages_fetched);
    text.counter("weir_crawl_bytes_total", "Received body bytes, as transferred.", progress.bytes_received);
    text.counter("weir_crawl_requests_total", "Requests sent.", progress.requests);
    text.gauge("weir_crawl_requests_in_flight", "Requests in flight.", progress.requests_in_flight as f64);
    text.counter("weir_crawl_failed_fetches_total", "Failed fetches.", progress.failed_fetches);
    text.counter(
        "weir_crawl_pages_truncated_total",
        "Pages cut at a limit on size or time.",
        progress.pages_truncated,
    );
    let outcome = |(outcome, fetches): (harvest::FetchOutcome, u64)| {
        (format!("{{outcome=\"{}\"}}", outcome.as_str()), fetches as f64)
    };
    let outcomes: Vec<(String, f64)> = progress.outcomes.iter().map(outcome).collect();
    text.metric("weir_crawl_fetches_total", "counter", "Fetches by outcome.", &outcomes);
    text.counter("weir_crawl_links_total", "Links extracted.", progress.links);
    text.counter("weir_crawl_batches_total", "Batches created.", progress.batches);
    text.counter(
        "weir_crawl_rejected_items_total",
        "Items of workers that contradict their batch, and segments in quarantine.",
        progress.rejected_items,
    );
    text.gauge("weir_crawl_active_sites", "Sites being fetched.", progress.active_sites as f64);
    text.gauge(
        "weir_crawl_queued_pages",
        "Pages of open batches that are not fetched yet.",
        progress.pages_queued as f64,
    );
    if !live.workers.is_empty() {
        let pages: Vec<(String, f64)> = live
            .workers
            .iter()
            .map(|worker| (format!("{{worker=\"{}\"}}", worker.name), worker.pages_fetched as f64))
            .collect();
        text.metric("weir_worker_pages_total", "counter", "Pages fetched by a worker.", &pages);
    }
    text.gauge("weir_crawl_pages_known", "Known pages.", progress.pages_known as f64);
    if let Some(bytes) = live.memory_bytes {
        text.gauge("weir_memory_bytes", "Resident memory of the process.", bytes as f64);
    }
}
