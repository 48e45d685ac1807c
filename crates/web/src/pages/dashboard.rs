//! Dashboard: progress and control of a crawl in this process, and the status of the last commit.
//!
//! A script of the page replaces the live panel every second; page and panel share one template.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, Redirect};
use harvest::{CrawlHandle, LiveSite, LiveStatus, StopMode};
use inspect::CollectionStatus;
use model::Reason;
use report::human;
use serde::Serialize;

use crate::auth::auth_context::AuthContext;
use crate::pages::layout::{Layout, NavItem, page};
use crate::pages::sparkline::Sparkline;
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::{Params, url_with_query};

/// Number of samples, one per second: five and ten minutes.
const DEFAULT_SAMPLES: usize = 300;
const MAX_SAMPLES: usize = 600;
/// Maximum wait for the first count of pages.
const STATUS_TIMEOUT: Duration = Duration::from_millis(300);
/// Upper bound of the request rate that can be set.
const MAX_REQUESTS_PER_SECOND: f64 = 1e6;

#[derive(Template)]
#[template(path = "dashboard.html")]
struct View {
    layout: Layout,
    csrf_token: Option<String>,
    live_panel: LivePanel,
    rate: String,
}

/// The part that is replaced every second.
#[derive(Template)]
#[template(path = "dashboard_live.html")]
struct LivePanel {
    /// `running`, `waiting`, `paused`, `stopping`, `finished` or `none`; the style sheet depends on it.
    state: &'static str,
    message: String,
    live: Option<LiveView>,
    /// `None` until the pages are counted.
    commit: Option<CommitView>,
}

struct LiveView {
    gauges: Vec<Gauge>,
    outcomes: Vec<(String, String, u64)>,
    slowest: Vec<SiteRow>,
    failing: Vec<SiteRow>,
    batches: Vec<(String, String, String, String)>,
    workers: Vec<WorkerRow>,
    facts: Vec<(&'static str, String, String)>,
}

struct Gauge {
    name: &'static str,
    value: String,
    note: String,
    sparkline: Sparkline,
}

struct WorkerRow {
    name: String,
    note: String,
    batches: String,
    sites: String,
    pages: String,
    failures: String,
    memory: String,
}

struct SiteRow {
    link: String,
    site: String,
    fetches: String,
    failures: String,
    mean: String,
    note: String,
}

struct CommitView {
    facts: Vec<(&'static str, String, String)>,
    reasons: Vec<(String, String, u64)>,
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    auth: AuthContext,
) -> Result<Html<String>, ApiError> {
    let live = state.crawl.as_ref().map(CrawlHandle::status);
    let rate = live.as_ref().and_then(|live| live.max_requests_per_second);
    page(&View {
        layout: Layout::new(&state, NavItem::Dashboard, "Dashboard"),
        csrf_token: auth.csrf_token,
        live_panel: live_panel(state.latest_status(STATUS_TIMEOUT).await?.as_deref(), live),
        rate: rate.map(|rate| rate.to_string()).unwrap_or_default(),
    })
}

/// The live panel alone.
pub(crate) async fn live(State(state): State<Arc<AppState>>) -> Result<Html<String>, ApiError> {
    let status = state.latest_status(STATUS_TIMEOUT).await?;
    page(&live_panel(status.as_deref(), state.crawl.as_ref().map(CrawlHandle::status)))
}

/// JSON of `/api/v1/crawl`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct CrawlResponse {
    /// `None` if no crawl runs in this process.
    crawl: Option<LiveStatus>,
}

pub(crate) async fn api(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Json<CrawlResponse>, ApiError> {
    let samples = params.number("samples", 0..=MAX_SAMPLES)?.unwrap_or(DEFAULT_SAMPLES);
    let crawl = state.crawl.as_ref().map(|crawl| {
        let mut live = crawl.status();
        live.samples.drain(..live.samples.len().saturating_sub(samples));
        live
    });
    Ok(Json(CrawlResponse { crawl }))
}

/// Command to a running crawl.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CrawlCommand {
    Pause,
    Resume,
    Stop,
    Rate,
}

/// Handles a form of the dashboard.
pub(crate) fn submit_command(
    state: &AppState,
    command: CrawlCommand,
    form: &Bytes,
) -> Result<Redirect, ApiError> {
    apply_command(state, command, &Params::parse(form))?;
    Ok(Redirect::to("/dashboard"))
}

/// Handles a POST request of the API.
pub(crate) async fn submit_command_api(
    state: Arc<AppState>,
    command: CrawlCommand,
    form: Bytes,
) -> Result<Json<CrawlResponse>, ApiError> {
    apply_command(&state, command, &Params::parse(&form))?;
    api(State(state), Params::default()).await
}

fn apply_command(state: &AppState, command: CrawlCommand, params: &Params) -> Result<(), ApiError> {
    let not_running = || {
        ApiError::NotReady(
            "no crawl is running in this process; start one with `weir crawl --serve`".to_owned(),
        )
    };
    let crawl = state.crawl.as_ref().ok_or_else(not_running)?;
    match command {
        CrawlCommand::Pause => crawl.pause(),
        CrawlCommand::Resume => crawl.resume(),
        CrawlCommand::Stop => {
            let how = params
                .choice("mode", &[("graceful", StopMode::Graceful), ("immediate", StopMode::Immediate)])?;
            crawl.stop(how);
        }
        // A missing value or 0 removes the limit.
        CrawlCommand::Rate => crawl.set_max_requests_per_second(
            params.number("max_requests_per_second", 0.0..=MAX_REQUESTS_PER_SECOND)?,
        ),
    }
    Ok(())
}

fn live_panel(status: Option<&CollectionStatus>, live: Option<LiveStatus>) -> LivePanel {
    let commit = status.map(commit_view);
    let Some(live) = live else {
        let message = "No crawl is running in this process; showing the last commit".to_owned();
        return LivePanel { state: "none", message, live: None, commit };
    };
    let (state, message) = state(&live);
    LivePanel { state, message, live: Some(live_view(&live)), commit }
}

fn state(live: &LiveStatus) -> (&'static str, String) {
    let progress = &live.progress;
    if live.finished {
        return ("finished", "Finished".to_owned());
    }
    let waiting = || {
        format!("Stopping: waiting for {} in flight", human::plural(progress.requests_in_flight, "request"))
    };
    match live.stop_mode {
        StopMode::Graceful => return ("stopping", waiting()),
        StopMode::Immediate => return ("stopping", "Stopping immediately".to_owned()),
        StopMode::Running => {}
    }
    if progress.paused {
        return ("paused", "Paused".to_owned());
    }
    if let Some(status) = progress.local_fault {
        return ("waiting", format!("Waiting: {}; {}", status.fault, status.fault.hint()));
    }
    match (progress.idle_until_ms, progress.daily_limit_reached) {
        (0, _) => ("running", "Running".to_owned()),
        (until_ms, true) => (
            "running",
            format!("Idle: daily request limit reached until {}", human::timestamp(until_ms as i64)),
        ),
        (until_ms, false) => {
            ("running", format!("Idle: next page due at {}", human::timestamp(until_ms as i64)))
        }
    }
}

fn live_view(live: &LiveStatus) -> LiveView {
    let max = live.progress.outcomes.iter().map(|(_, count)| count).max().unwrap_or(0).max(1);
    let outcome = |(outcome, count): (harvest::FetchOutcome, u64)| {
        (outcome.as_str().replace('_', " "), human::number(count), (count * 100 / max).max(1))
    };
    let batch = |batch: &harvest::LiveBatch| {
        (
            batch.id.to_string(),
            human::duration(live.now_ms.saturating_sub(batch.created_ms) / 1_000),
            format!(
                "{} of {}",
                human::number(batch.sites_remaining.into()),
                human::number(batch.sites.into())
            ),
            format!(
                "{} of {}",
                human::number(batch.pages_remaining.into()),
                human::number(batch.pages.into())
            ),
        )
    };
    LiveView {
        gauges: gauges(live),
        outcomes: live.progress.outcomes.iter().filter(|(_, count)| *count > 0).map(outcome).collect(),
        slowest: live.slowest_sites.iter().map(|site| site_row(site, live.now_ms)).collect(),
        failing: live.failing_sites.iter().map(|site| site_row(site, live.now_ms)).collect(),
        batches: live.batches.iter().map(batch).collect(),
        workers: live.workers.iter().map(|worker| worker_row(worker, live.now_ms)).collect(),
        facts: live_facts(live),
    }
}

/// Time without a heartbeat after which a worker is marked; workers send one every second.
const MISSED_HEARTBEAT_MS: u64 = 10_000;

fn worker_row(worker: &harvest::LiveWorker, now_ms: u64) -> WorkerRow {
    let since_heartbeat_ms = now_ms.saturating_sub(worker.last_heartbeat_ms);
    let note = match since_heartbeat_ms {
        MISSED_HEARTBEAT_MS.. => format!("no heartbeat for {}", human::duration(since_heartbeat_ms / 1_000)),
        _ => worker.local_fault.map(|fault| fault.to_string()).unwrap_or_default(),
    };
    WorkerRow {
        name: worker.name.clone(),
        note,
        batches: human::number(worker.batches.len() as u64),
        sites: human::number(worker.active_sites),
        pages: human::number(worker.pages_fetched),
        failures: human::number(worker.failed_fetches),
        memory: worker.memory_bytes.map(human::bytes).unwrap_or_default(),
    }
}

fn gauges(live: &LiveStatus) -> Vec<Gauge> {
    let (progress, all_samples) = (&live.progress, &live.samples);
    let samples = &all_samples[all_samples.len().saturating_sub(DEFAULT_SAMPLES)..];
    let gauge = |name, value: String, note: String, sparkline| Gauge { name, value, note, sparkline };
    vec![
        gauge(
            "Pages per second",
            human::rate(live.rates.pages_per_second),
            format!(
                "{} total, {} truncated",
                human::number(progress.pages_fetched),
                human::number(progress.pages_truncated)
            ),
            Sparkline::from_rates(samples, |sample| sample.pages_fetched),
        ),
        gauge(
            "Bytes per second",
            human::bytes(live.rates.bytes_per_second as u64),
            format!("{} total", human::bytes(progress.bytes_received)),
            Sparkline::from_rates(samples, |sample| sample.bytes_received),
        ),
        gauge(
            "Requests per second",
            human::rate(live.rates.requests_per_second),
            format!("{} in flight", human::number(progress.requests_in_flight)),
            Sparkline::from_rates(samples, |sample| sample.requests),
        ),
        gauge(
            "Failed fetches per second",
            human::rate(live.rates.failed_fetches_per_second),
            format!("{} total", human::number(progress.failed_fetches)),
            Sparkline::from_rates(samples, |sample| sample.failed_fetches),
        ),
        gauge(
            "Active sites",
            human::number(progress.active_sites),
            String::new(),
            Sparkline::from_values(samples, |sample| sample.active_sites),
        ),
        gauge(
            "Queued pages",
            human::number(progress.pages_queued),
            "in open batches".to_owned(),
            Sparkline::from_values(samples, |sample| sample.pages_queued),
        ),
        gauge(
            "Known pages",
            human::number(progress.pages_known),
            format!("{} found", human::plural(progress.links, "link")),
            Sparkline::from_values(samples, |sample| sample.pages_known),
        ),
        gauge(
            "Memory",
            live.memory_bytes.map_or_else(|| "unknown".to_owned(), human::bytes),
            String::new(),
            Sparkline::from_values(samples, |sample| sample.memory_bytes.unwrap_or(0)),
        ),
    ]
}

fn live_facts(live: &LiveStatus) -> Vec<(&'static str, String, String)> {
    let ago = |then_ms: u64| format!("{} ago", human::duration(live.now_ms.saturating_sub(then_ms) / 1_000));
    let mut facts = Vec::new();
    if let Some(started_ms) = live.started_ms {
        facts.push(("Started", ago(started_ms), human::timestamp(started_ms as i64)));
    }
    facts.push(("Batches", human::number(live.progress.batches), String::new()));
    if let Some(commit) = &live.last_commit {
        facts.push((
            "Last commit",
            ago(commit.time_ms),
            format!("generation {}, {} ms", commit.generation, commit.duration_ms),
        ));
    }
    let budgets = &live.budgets;
    if let Some(max) = budgets.max_requests_per_day {
        let used = format!("{} of {}", human::number(budgets.requests_today), human::number(max));
        facts.push((
            "Requests today",
            used,
            format!("until {}", human::timestamp(budgets.day_end_ms as i64)),
        ));
    }
    if budgets.sites_at_daily_limit > 0 {
        facts.push(("Sites at daily limit", human::number(budgets.sites_at_daily_limit), String::new()));
    }
    if budgets.sites_at_domain_budget > 0 {
        facts.push(("Sites at domain budget", human::number(budgets.sites_at_domain_budget), String::new()));
    }
    facts
}

fn site_row(site: &LiveSite, now_ms: u64) -> SiteRow {
    let remaining_s = site.back_off_until_ms.map(|until_ms| until_ms.saturating_sub(now_ms) / 1_000);
    SiteRow {
        link: url_with_query("/site", &[("site", &site.site)]),
        site: display_text::url(&site.site),
        fetches: human::number(site.fetches),
        failures: human::number(site.failed_fetches),
        mean: site.mean_duration_ms.map(|ms| format!("{} ms", human::number(ms))).unwrap_or_default(),
        note: remaining_s
            .filter(|remaining_s| *remaining_s > 0)
            .map(|remaining_s| format!("back-off {}", human::duration(remaining_s)))
            .unwrap_or_default(),
    }
}

fn commit_view(status: &CollectionStatus) -> CommitView {
    let max = status.pages_by_reason.values().copied().max().unwrap_or(0).max(1);
    let mut reasons: Vec<(&&str, &u64)> = status.pages_by_reason.iter().collect();
    reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
    let row = |(name, pages): (&&str, &u64)| {
        let text = Reason::all().find(|reason| reason.as_str() == *name).map(|reason| reason.to_string());
        (text.unwrap_or_else(|| (*name).to_owned()), human::number(*pages), (*pages * 100 / max).max(1))
    };
    let count = human::number;
    let when =
        if status.generation == 0 { "none yet".to_owned() } else { human::timestamp(status.committed_ms) };
    CommitView {
        facts: vec![
            ("Pages known", count(status.pages_known), String::new()),
            ("Pages fetched", count(status.pages_fetched), human::bytes(status.warc_bytes)),
            (
                "Pages queued",
                count(status.pages_queued),
                format!("{} discovered", count(status.pages_discovered)),
            ),
            (
                "Pages failed",
                count(status.pages_failed),
                format!("{} rejected", count(status.pages_rejected)),
            ),
            (
                "Sites",
                count(status.sites_known),
                format!("{} in back-off", count(status.site_states.in_back_off)),
            ),
            ("Links", count(status.links), String::new()),
            ("On disk", human::bytes(status.disk_bytes), format!("{} files", count(status.files))),
            ("Commit", count(status.generation), when),
        ],
        reasons: reasons.into_iter().map(row).collect(),
    }
}
