//! How does it go? A crawl that runs in this process, second by second, with what steers it; else what the last commit has.
//!
//! The page asks for its inside again and again; there is one template for both.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{Html, Redirect};
use crawl::{Helm, Live, LiveSite, Status, Stop};
use model::Reason;
use report::words;
use serde::Serialize;

use crate::asked::{Asked, address};
use crate::counted::Counted;
use crate::curve::Curve;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::shown;
use crate::visitor::Visitor;

/// Samples of the counters that are sent: five minutes and ten.
const USUAL_SAMPLES: usize = 300;
const MOST_SAMPLES: usize = 600;
/// How long somebody who looks waits for the first count of pages.
const COUNT_TIME: Duration = Duration::from_millis(300);
/// The fastest pace that can be asked for; more means nothing.
const MOST_PER_SECOND: f64 = 1e6;

#[derive(Template)]
#[template(path = "dashboard.html")]
struct View {
    frame: Frame,
    secret: Option<String>,
    inside: Inside,
    rate: String,
}

/// What is shown anew every second.
#[derive(Template)]
#[template(path = "dashboard_live.html")]
struct Inside {
    /// `runs`, `paused`, `stopping`, `ended` or `none`.
    state: &'static str,
    says: String,
    live: Option<LiveView>,
    /// Nothing until it was counted.
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
    curve: Curve,
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
    address: String,
    site: String,
    visits: String,
    failures: String,
    mean: String,
    note: String,
}

struct CommitView {
    facts: Vec<(&'static str, String, String)>,
    reasons: Vec<(String, String, u64)>,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, visitor: Visitor) -> Result<Html<String>, Failure> {
    let live = desk.helm.as_ref().map(Helm::live);
    let rate = live.as_ref().and_then(|live| live.requests_per_second);
    page(&View {
        frame: Frame::new(&desk, Part::Dashboard, "Dashboard"),
        secret: visitor.secret,
        inside: inside(Counted::last(&desk, COUNT_TIME).await?.as_deref(), live),
        rate: rate.map(|rate| rate.to_string()).unwrap_or_default(),
    })
}

/// The inside alone.
pub(crate) async fn live(State(desk): State<Arc<Desk>>) -> Result<Html<String>, Failure> {
    let status = Counted::last(&desk, COUNT_TIME).await?;
    page(&inside(status.as_deref(), desk.helm.as_ref().map(Helm::live)))
}

/// Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct CrawlAnswer {
    /// Nothing if no crawl runs in this process.
    crawl: Option<Live>,
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<CrawlAnswer>, Failure> {
    let samples = asked.number("history", 0..=MOST_SAMPLES)?.unwrap_or(USUAL_SAMPLES);
    let crawl = desk.helm.as_ref().map(|helm| {
        let mut live = helm.live();
        live.history.drain(..live.history.len().saturating_sub(samples));
        live
    });
    Ok(Json(CrawlAnswer { crawl }))
}

/// What can be asked of a crawl that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Pause,
    Resume,
    Stop,
    Rate,
}

/// A form of the dashboard.
pub(crate) fn steer(desk: &Desk, order: Order, form: &Bytes) -> Result<Redirect, Failure> {
    obey(desk, order, &Asked::of(form))?;
    Ok(Redirect::to("/dashboard"))
}

/// The same for programs.
pub(crate) async fn steer_api(
    desk: Arc<Desk>,
    order: Order,
    form: Bytes,
) -> Result<Json<CrawlAnswer>, Failure> {
    obey(&desk, order, &Asked::of(&form))?;
    api(State(desk), Asked::default()).await
}

fn obey(desk: &Desk, order: Order, asked: &Asked) -> Result<(), Failure> {
    let none =
        || Failure::NotReady("no crawl runs in this process; `weir crawl --serve` starts one".to_owned());
    let helm = desk.helm.as_ref().ok_or_else(none)?;
    match order {
        Order::Pause => helm.pause(),
        Order::Resume => helm.resume(),
        Order::Stop => {
            let how = asked.one_of("how", &[("in-order", Stop::InOrder), ("at-once", Stop::AtOnce)])?;
            helm.stop(how);
        }
        // Nothing, or 0, stands for any number.
        Order::Rate => helm.set_rate(asked.number("per_second", 0.0..=MOST_PER_SECOND)?),
    }
    Ok(())
}

fn inside(status: Option<&Status>, live: Option<Live>) -> Inside {
    let commit = status.map(commit_view);
    let Some(live) = live else {
        let says = "No crawl runs in this process. This is what the last commit has.".to_owned();
        return Inside { state: "none", says, live: None, commit };
    };
    let (state, says) = state(&live);
    Inside { state, says, live: Some(live_view(&live)), commit }
}

fn state(live: &Live) -> (&'static str, String) {
    let progress = &live.progress;
    if live.ended {
        return ("ended", "The crawl is over".to_owned());
    }
    match live.stop {
        Stop::InOrder => return ("stopping", "Stopping: requests under way are waited for".to_owned()),
        Stop::AtOnce => return ("stopping", "Stopping at once".to_owned()),
        Stop::No => {}
    }
    if progress.paused {
        return ("paused", "Paused: nothing new is asked for".to_owned());
    }
    match (progress.paused_until_ms, progress.paused_by_budget) {
        (0, _) => ("runs", "Crawling".to_owned()),
        (until_ms, true) => {
            ("runs", format!("The day's requests are used up until {}", words::time(until_ms as i64)))
        }
        (until_ms, false) => ("runs", format!("Nothing is due until {}", words::time(until_ms as i64))),
    }
}

fn live_view(live: &Live) -> LiveView {
    let visits = live.progress.outcomes.iter().map(|(_, visits)| visits).max().unwrap_or(0).max(1);
    let outcome = |(outcome, count): (crawl::Outcome, u64)| {
        (outcome.as_str().replace('_', " "), words::count(count), (count * 100 / visits).max(1))
    };
    let batch = |batch: &crawl::LiveBatch| {
        (
            batch.number.to_string(),
            words::duration(live.now_ms.saturating_sub(batch.made_ms) / 1_000),
            format!("{} of {}", words::count(batch.sites_open.into()), words::count(batch.sites.into())),
            format!("{} of {}", words::count(batch.pages_open.into()), words::count(batch.pages.into())),
        )
    };
    LiveView {
        gauges: gauges(live),
        outcomes: live.progress.outcomes.iter().filter(|(_, count)| *count > 0).map(outcome).collect(),
        slowest: live.slowest.iter().map(|site| site_row(site, live.now_ms)).collect(),
        failing: live.failing.iter().map(|site| site_row(site, live.now_ms)).collect(),
        batches: live.batches.iter().map(batch).collect(),
        workers: live.workers.iter().map(|worker| worker_row(worker, live.now_ms)).collect(),
        facts: live_facts(live),
    }
}

/// A worker reports every second; one that does not is told apart.
const SILENT_MS: u64 = 10_000;

fn worker_row(worker: &crawl::LiveWorker, now_ms: u64) -> WorkerRow {
    let silent_ms = now_ms.saturating_sub(worker.heard_ms);
    let note = match silent_ms {
        SILENT_MS.. => format!("silent for {}", words::duration(silent_ms / 1_000)),
        _ => String::new(),
    };
    WorkerRow {
        name: worker.name.clone(),
        note,
        batches: words::count(worker.batches.len() as u64),
        sites: words::count(worker.active_sites),
        pages: words::count(worker.pages),
        failures: words::count(worker.errors),
        memory: worker.memory_bytes.map(words::size).unwrap_or_default(),
    }
}

fn gauges(live: &Live) -> Vec<Gauge> {
    let (progress, history) = (&live.progress, &live.history);
    let samples = &history[history.len().saturating_sub(USUAL_SAMPLES)..];
    let gauge = |name, value: String, note: String, curve| Gauge { name, value, note, curve };
    vec![
        gauge(
            "Pages a second",
            words::rate(live.rates.pages),
            format!("{} in all", words::count(progress.pages)),
            Curve::of_rates(samples, |sample| sample.pages),
        ),
        gauge(
            "Bytes a second",
            words::size(live.rates.bytes as u64),
            format!("{} in all", words::size(progress.bytes)),
            Curve::of_rates(samples, |sample| sample.bytes),
        ),
        gauge(
            "Requests a second",
            words::rate(live.rates.requests),
            format!("{} under way", words::count(progress.requests_under_way)),
            Curve::of_rates(samples, |sample| sample.requests),
        ),
        gauge(
            "Failed visits a second",
            words::rate(live.rates.errors),
            format!("{} in all", words::count(progress.errors)),
            Curve::of_rates(samples, |sample| sample.errors),
        ),
        gauge(
            "Active sites",
            words::count(progress.active_sites),
            String::new(),
            Curve::of_values(samples, |sample| sample.active_sites),
        ),
        gauge(
            "Queued pages",
            words::count(progress.waiting_pages),
            "in open batches".to_owned(),
            Curve::of_values(samples, |sample| sample.waiting_pages),
        ),
        gauge(
            "Known pages",
            words::count(progress.pages_known),
            format!("{} found", words::counted(progress.links, "link")),
            Curve::of_values(samples, |sample| sample.pages_known),
        ),
        gauge(
            "Memory",
            live.memory_bytes.map_or_else(|| "unknown".to_owned(), words::size),
            String::new(),
            Curve::of_values(samples, |sample| sample.memory_bytes.unwrap_or(0)),
        ),
    ]
}

fn live_facts(live: &Live) -> Vec<(&'static str, String, String)> {
    let ago = |then_ms: u64| format!("{} ago", words::duration(live.now_ms.saturating_sub(then_ms) / 1_000));
    let mut facts = Vec::new();
    if let Some(began_ms) = live.began_ms {
        facts.push(("Began", ago(began_ms), words::time(began_ms as i64)));
    }
    facts.push(("Batches", words::count(live.progress.cycles), String::new()));
    if let Some(commit) = &live.commit {
        facts.push((
            "Last commit",
            ago(commit.time_ms),
            format!("number {}, {} ms", commit.generation, commit.took_ms),
        ));
    }
    let budgets = &live.budgets;
    if let Some(most) = budgets.requests_per_day {
        let used = format!("{} of {}", words::count(budgets.requests_today), words::count(most));
        facts.push(("Requests today", used, format!("until {}", words::time(budgets.day_ends_ms as i64))));
    }
    if budgets.sites_done_today > 0 {
        facts.push(("Sites done for today", words::count(budgets.sites_done_today), String::new()));
    }
    if budgets.sites_over_domain_budget > 0 {
        facts.push(("Sites of full domains", words::count(budgets.sites_over_domain_budget), String::new()));
    }
    facts
}

fn site_row(site: &LiveSite, now_ms: u64) -> SiteRow {
    let left = site.back_off_until_ms.map(|until_ms| until_ms.saturating_sub(now_ms) / 1_000);
    SiteRow {
        address: address("/site", &[("name", &site.site)]),
        site: shown::url(&site.site),
        visits: words::count(site.visits),
        failures: words::count(site.failures),
        mean: site.mean_ms.map(|ms| format!("{} ms", words::count(ms))).unwrap_or_default(),
        note: left
            .filter(|left| *left > 0)
            .map(|left| format!("left alone for {}", words::duration(left)))
            .unwrap_or_default(),
    }
}

fn commit_view(status: &Status) -> CommitView {
    let most = status.reasons.values().copied().max().unwrap_or(0).max(1);
    let mut reasons: Vec<(&&str, &u64)> = status.reasons.iter().collect();
    reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(**pages));
    let row = |(name, pages): (&&str, &u64)| {
        let sentence = Reason::all().find(|reason| reason.as_str() == *name).map(|reason| reason.to_string());
        (sentence.unwrap_or_else(|| (*name).to_owned()), words::count(*pages), (*pages * 100 / most).max(1))
    };
    let count = words::count;
    let when = if status.generation == 0 { "none yet".to_owned() } else { words::time(status.committed_ms) };
    CommitView {
        facts: vec![
            ("Pages known", count(status.pages_known), String::new()),
            ("Pages fetched", count(status.pages_fetched), words::size(status.bytes)),
            ("Pages queued", count(status.pages_queued), format!("{} wait", count(status.pages_new))),
            ("Pages failed", count(status.errors), format!("{} rejected", count(status.pages_rejected))),
            ("Sites", count(status.sites), format!("{} left alone", count(status.states.backed_off))),
            ("Links", count(status.links), String::new()),
            ("On disk", words::size(status.disk_bytes), format!("{} files", count(status.files))),
            ("Commit", count(status.generation), when),
        ],
        reasons: reasons.into_iter().map(row).collect(),
    }
}
