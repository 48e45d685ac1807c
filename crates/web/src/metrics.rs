//! What does Prometheus get? The counts of the last commit, and those of a crawl that runs here.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use crawl::{Helm, Live, Status};

use crate::counted::Counted;
use crate::desk::Desk;
use crate::failure::Failure;

pub(crate) async fn text(State(desk): State<Arc<Desk>>) -> Result<Response, Failure> {
    let mut text = Text(String::new());
    text.one("weir_build_info", "gauge", "The version of the program.", &[(VERSION.to_owned(), 1.0)]);
    if let Some(status) = Counted::last(&desk, COUNT_TIME).await? {
        commit(&mut text, &status);
    }
    if let Some(live) = desk.helm.as_ref().map(Helm::live) {
        crawl(&mut text, &live);
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text.0).into_response())
}

/// How long the first count of pages is waited for; without it, a first answer is of the crawl alone.
const COUNT_TIME: Duration = Duration::from_secs(5);

const VERSION: &str = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");

/// The text format, version 0.0.4.
struct Text(String);

impl Text {
    /// A metric with its values, each with its labels.
    fn one(&mut self, name: &str, kind: &str, help: &str, values: &[(String, f64)]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(self.0, "{name}{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.one(name, "gauge", help, &[(String::new(), value)]);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.one(name, "counter", help, &[(String::new(), value as f64)]);
    }
}

fn commit(text: &mut Text, status: &Status) {
    let state = |name: &str, pages: u64| (format!("{{state=\"{name}\"}}"), pages as f64);
    text.one(
        "weir_pages",
        "gauge",
        "Pages of the last commit by state.",
        &[
            state("fetched", status.pages_fetched),
            state("queued", status.pages_queued),
            state("new", status.pages_new),
            state("failed", status.errors),
            state("rejected", status.pages_rejected),
        ],
    );
    let reason = |(name, pages): (&&str, &u64)| (format!("{{reason=\"{name}\"}}"), *pages as f64);
    let reasons: Vec<(String, f64)> = status.reasons.iter().map(reason).collect();
    text.one(
        "weir_pages_without_content",
        "gauge",
        "Pages that were not fetched, or not with success, by reason.",
        &reasons,
    );
    text.gauge("weir_sites", "Sites whose name is known.", status.sites as f64);
    text.gauge(
        "weir_sites_left_alone",
        "Sites that are left alone after failures.",
        status.states.backed_off as f64,
    );
    text.gauge("weir_links", "Links in the table of links.", status.links as f64);
    text.gauge("weir_page_files_bytes", "Size of the stored pages.", status.bytes as f64);
    text.gauge("weir_disk_bytes", "Size of all files of the last commit.", status.disk_bytes as f64);
    text.gauge("weir_commit_generation", "Number of the last commit.", status.generation as f64);
    text.gauge(
        "weir_commit_time_seconds",
        "When it was made, in Unix time.",
        status.committed_ms as f64 / 1e3,
    );
}

fn crawl(text: &mut Text, live: &Live) {
    let progress = &live.progress;
    let truth = |is: bool| f64::from(u8::from(is));
    text.gauge("weir_crawl_running", "Whether the crawl goes on.", truth(!live.ended));
    text.gauge("weir_crawl_paused", "Whether it was told to pause.", truth(progress.paused));
    text.counter("weir_crawl_pages_total", "Pages that brought content.", progress.pages);
    text.counter("weir_crawl_bytes_total", "Bytes of bodies, as transferred.", progress.bytes);
    text.counter("weir_crawl_requests_total", "Requests that began.", progress.requests);
    text.gauge(
        "weir_crawl_requests_under_way",
        "Requests that have not ended.",
        progress.requests_under_way as f64,
    );
    text.counter("weir_crawl_errors_total", "Visits that brought nothing.", progress.errors);
    let outcome = |(outcome, visits): (crawl::Outcome, u64)| {
        (format!("{{outcome=\"{}\"}}", outcome.as_str()), visits as f64)
    };
    let outcomes: Vec<(String, f64)> = progress.outcomes.iter().map(outcome).collect();
    text.one("weir_crawl_visits_total", "counter", "Visits of pages by what they brought.", &outcomes);
    text.counter("weir_crawl_links_total", "Links that were found.", progress.links);
    text.counter("weir_crawl_batches_total", "Batches that were made.", progress.cycles);
    text.gauge("weir_crawl_active_sites", "Sites with work in the harvester.", progress.active_sites as f64);
    text.gauge(
        "weir_crawl_waiting_pages",
        "Pages in open batches that were not visited yet.",
        progress.waiting_pages as f64,
    );
    if !live.workers.is_empty() {
        let pages: Vec<(String, f64)> = live
            .workers
            .iter()
            .map(|worker| (format!("{{worker=\"{}\"}}", worker.name), worker.pages as f64))
            .collect();
        text.one("weir_worker_pages_total", "counter", "Pages that a worker has fetched.", &pages);
    }
    text.gauge("weir_crawl_pages_known", "Pages of which the URL is known.", progress.pages_known as f64);
    if let Some(bytes) = live.memory_bytes {
        text.gauge("weir_memory_bytes", "Memory that the process occupies.", bytes as f64);
    }
}
