//! Details of one page: crawl state, priority, fetches, ranks, stored versions, inlinks and outlinks.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use inspect::{UrlReport, explain_url};
use model::{CanonicalUrl, PageId};
use report::human;
use serde::Serialize;
use store::{Cancellation, RankColumn, RankTarget, RankValue, Snapshot, list_ranks};

use crate::pages::layout::{Layout, NavItem, page};
use crate::pages::page_ref::PageRef;
use crate::sanitize::display_text;
use crate::sanitize::stored_page::{StoredVersion, versions};
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::clock::now_ms;
use crate::state::params::{Params, url_with_query};

const MAX_VERSIONS: usize = 50;
const MAX_LINKS: usize = 200;
/// Columns that are displayed; the others are cluster ids.
const DISPLAYED_RANKS: [&str; 6] = ["authority", "hub", "in-degree", "link-rank", "out-degree", "pagerank"];

/// JSON of `/api/v1/page`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct PageDetails {
    #[serde(flatten)]
    report: UrlReport,
    title: Option<String>,
    /// Missing if the page forbids snippets.
    description: Option<String>,
    /// Robots directives of the stored version: `noindex, noarchive`; empty if there are none.
    robots_directives: String,
    /// Whether `/cached` shows the stored version.
    has_cached_page: bool,
    /// Ranks of the last analysis.
    ranks: Vec<Rank>,
    /// Newest first.
    versions: Vec<Version>,
    /// Outlinks of the stored version, in document order; not all of them if there are many.
    outlinks: Vec<Outlink>,
    outlinks_total: usize,
}

#[derive(Serialize)]
struct Rank {
    name: String,
    value: f64,
}

#[derive(Serialize)]
struct Version {
    fetched_ms: i64,
    status: Option<u16>,
    digest: String,
    /// Whether its body is that of an earlier version (WARC revisit record).
    is_revisit: bool,
}

#[derive(Serialize)]
struct Outlink {
    url: String,
    anchor: String,
    kind: &'static str,
    /// Whether the page is in the collection.
    is_known: bool,
}

pub(crate) async fn api(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Json<PageDetails>, ApiError> {
    state.run_cancellable(move |state, cancellation| details(state, &params, cancellation).map(Json)).await
}

fn details(state: &AppState, params: &Params, cancellation: &Cancellation) -> Result<PageDetails, ApiError> {
    let snapshot = state.snapshot()?;
    let PageRef { url, page } = PageRef::resolve(state, &snapshot, params)?;
    let mut details = PageDetails {
        report: explain_url(&snapshot, &state.settings.crawl, url.as_str(), now_ms(), cancellation)?,
        title: None,
        description: None,
        robots_directives: String::new(),
        has_cached_page: false,
        ranks: Vec::new(),
        versions: Vec::new(),
        outlinks: Vec::new(),
        outlinks_total: 0,
    };
    let Some(page) = page else { return Ok(details) };
    details.ranks = ranks(&snapshot, page)?;
    let version = |version: store::PageVersion| Version {
        fetched_ms: version.fetched_at_ms,
        status: version.status,
        digest: version.digest,
        is_revisit: version.is_revisit,
    };
    details.versions = versions(&snapshot, url.as_str(), MAX_VERSIONS)?.into_iter().map(version).collect();
    if let Some(stored) =
        StoredVersion::read(&snapshot, page, url.as_str(), None, &state.settings.crawl.robots.agent)?
    {
        details.read(state, &snapshot, &url, &stored)?;
    }
    Ok(details)
}

impl PageDetails {
    /// Adds title, description, robots directives and outlinks of the stored version.
    fn read(
        &mut self,
        state: &AppState,
        snapshot: &Snapshot,
        url: &CanonicalUrl,
        stored: &StoredVersion,
    ) -> Result<(), ApiError> {
        let document = stored.document(url, &state.settings.crawl.robots.agent);
        let robots = document.robots_directives;
        self.robots_directives = robots.to_string();
        self.has_cached_page = robots.forbids_copy((now_ms() / 1_000) as i64).is_none();
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        self.title = some(&document.title);
        self.description = some(&document.description).filter(|_| !robots.nosnippet());
        let mut targets = Vec::new();
        document.resolve(url, &state.settings.crawl.gathering.rules, |resolved| {
            self.outlinks_total += 1;
            if let (Ok(target), true) = (resolved.target, targets.len() < MAX_LINKS) {
                targets.push((target.clone(), resolved.link.anchor.to_owned(), resolved.link.kind.as_str()));
            }
        });
        for (target, anchor, kind) in targets {
            let is_known = snapshot.urls.find(&target)?.is_some();
            self.outlinks.push(Outlink { url: target.as_str().to_owned(), anchor, kind, is_known });
        }
        Ok(())
    }
}

fn ranks(snapshot: &Snapshot, page: PageId) -> Result<Vec<Rank>, ApiError> {
    let mut ranks = Vec::new();
    for entry in list_ranks(snapshot.dir())?.into_iter().filter(|entry| entry.target == RankTarget::Pages) {
        let value = if entry.suffix == f32::SUFFIX {
            rank::<f32>(snapshot, &entry.name, page)?.map(f64::from)
        } else {
            rank::<u32>(snapshot, &entry.name, page)?.map(f64::from)
        };
        ranks.extend(value.map(|value| Rank { name: entry.name, value }));
    }
    Ok(ranks)
}

fn rank<V: RankValue>(snapshot: &Snapshot, name: &str, page: PageId) -> store::Result<Option<V>> {
    match RankColumn::<V>::open(snapshot.dir(), RankTarget::Pages, name)? {
        Some(column) => column.get(page.0),
        None => Ok(None),
    }
}

#[derive(Template)]
#[template(path = "page.html")]
struct View {
    layout: Layout,
    title: String,
    url: String,
    original: Option<String>,
    cached: Option<String>,
    similar: Option<String>,
    site: Option<(String, String)>,
    all_inlinks: String,
    description: String,
    facts: Vec<(&'static str, String, String)>,
    terms: Vec<(&'static str, String, String, u32)>,
    fetches: Vec<FetchRow>,
    versions: Vec<(String, String, String, &'static str)>,
    inlinks: Vec<LinkRow>,
    outlinks: Vec<LinkRow>,
    outlinks_total: String,
    ranks: Vec<(String, String)>,
    details: PageDetails,
}

struct FetchRow {
    when: String,
    outcome: String,
    bytes: String,
    duration: String,
    note: String,
}

struct LinkRow {
    link: String,
    url: String,
    anchor: String,
    element: String,
    note: String,
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    let work = move |state: &AppState, cancellation: &Cancellation| {
        page(&view(state, details(state, &params, cancellation)?))
    };
    state.run_cancellable(work).await
}

fn view(state: &AppState, details: PageDetails) -> View {
    let report = &details.report;
    let url = report.url.clone();
    let title = details.title.as_deref().map_or_else(|| display_text::url(&url), display_text::title);
    View {
        layout: Layout::new(state, NavItem::Other, &title),
        url: display_text::url(&url),
        original: Some(url.clone()).filter(|url| display_text::is_web_url(url)),
        cached: details.has_cached_page.then(|| url_with_query("/cached", &[("url", &url)])),
        similar: report.page_id.map(|_| url_with_query("/similar", &[("url", &url)])),
        site: report
            .site
            .as_ref()
            .map(|site| (display_text::url(&site.site), url_with_query("/site", &[("site", &site.site)]))),
        all_inlinks: url_with_query("/", &[("q", &format!("links-to:{url}"))]),
        description: display_text::sanitize_line(
            details.description.as_deref().unwrap_or_default(),
            display_text::TEXT_CHARACTERS,
        ),
        facts: facts(report, &details.robots_directives),
        terms: terms(report),
        fetches: report.fetches.iter().rev().map(fetch_row).collect(),
        versions: details.versions.iter().map(|version| version_row(&url, version)).collect(),
        inlinks: report
            .inlinks_sample
            .iter()
            .map(|link| {
                let note = if link.reason.is_some() { "not followed" } else { "" };
                link_row(&link.url, link.anchor.as_deref().unwrap_or_default(), &link.kind, note)
            })
            .collect(),
        outlinks: details
            .outlinks
            .iter()
            .map(|link| {
                link_row(
                    &link.url,
                    &link.anchor,
                    link.kind,
                    if link.is_known { "" } else { "not in the collection" },
                )
            })
            .collect(),
        outlinks_total: human::plural(details.outlinks_total as u64, "outlink"),
        ranks: details
            .ranks
            .iter()
            .filter(|rank| DISPLAYED_RANKS.contains(&rank.name.as_str()))
            .map(|rank| (rank.name.replace('-', " "), number(rank.value)))
            .collect(),
        title,
        details,
    }
}

/// Formats a number of any magnitude in few characters.
fn number(value: f64) -> String {
    match value {
        integer if integer.fract() == 0.0 && integer.abs() < 1e15 => human::number(integer as u64),
        small if small.abs() < 0.001 => format!("{small:.2e}"),
        value => format!("{value:.4}"),
    }
}

fn facts(report: &UrlReport, robots_directives: &str) -> Vec<(&'static str, String, String)> {
    let Some(page) = &report.page else { return Vec::new() };
    let time = |ms: Option<u64>| ms.map_or_else(|| "never".to_owned(), |ms| human::timestamp(ms as i64));
    let count = |number: u32| human::number(u64::from(number));
    let mut facts = vec![
        ("Page id", report.page_id.map(&count).unwrap_or_default(), String::new()),
        ("Depth", page.depth.to_string(), if page.is_seed { "seed".to_owned() } else { String::new() }),
        ("Inlinks", count(page.inlinks), String::new()),
        ("Fetches", count(u32::from(page.fetch_count)), format!("changed {} times", page.change_count)),
        ("First fetch", time(page.first_fetch_ms), String::new()),
        ("Last fetch", time(page.last_fetch_ms), format!("HTTP {}", page.status)),
    ];
    if let Some(due_ms) =
        report.priority.as_ref().and_then(|priority| priority.due_ms).filter(|due_ms| *due_ms > 0)
    {
        facts.push(("Due from", human::timestamp(due_ms as i64), String::new()));
    }
    if let Some(robots) = &report.robots {
        let rule =
            robots.rule.as_deref().map(|rule| display_text::sanitize_line(rule, 80)).unwrap_or_default();
        let line = robots.line.map_or_else(String::new, |line| format!("line {line}: {rule}"));
        facts.push(("robots.txt", if robots.allowed { "allowed" } else { "disallowed" }.to_owned(), line));
    }
    if !robots_directives.is_empty() {
        facts.push(("Robots directives", robots_directives.to_owned(), String::new()));
    }
    if let Some(original) = &page.duplicate_of {
        facts.push(("Duplicate of", display_text::url(original), String::new()));
    }
    facts
}

/// Terms of the quality: name, score, contribution, and the contribution in percent.
fn terms(report: &UrlReport) -> Vec<(&'static str, String, String, u32)> {
    let Some(priority) = &report.priority else { return Vec::new() };
    let row = |term: &inspect::TermInfo| {
        let percent = (term.contribution / priority.quality.max(f32::MIN_POSITIVE) * 100.0).clamp(0.0, 100.0);
        (term.name, format!("{:.3}", term.score), format!("{:.3}", term.contribution), percent as u32)
    };
    priority.terms.iter().filter(|term| term.weight > 0.0).map(row).collect()
}

fn fetch_row(fetch: &inspect::FetchInfo) -> FetchRow {
    let status = if fetch.status == 0 { String::new() } else { format!(" ({})", fetch.status) };
    let changed = match fetch.changed {
        Some(true) => "changed",
        Some(false) => "not changed",
        None => "",
    };
    let redirect = fetch.redirect_url.as_deref().map(|url| format!("to {}", display_text::url(url)));
    let notes = [fetch.reason.clone(), redirect, Some(changed.to_owned())];
    let notes: Vec<String> = notes.into_iter().flatten().filter(|note| !note.is_empty()).collect();
    FetchRow {
        when: human::timestamp(fetch.fetched_ms),
        outcome: format!("{}{status}", fetch.outcome.replace('_', " ")),
        bytes: human::bytes(fetch.body_bytes.max(0) as u64),
        duration: fetch.duration_ms.map(|ms| format!("{ms} ms")).unwrap_or_default(),
        note: notes.join(", "),
    }
}

fn version_row(url: &str, version: &Version) -> (String, String, String, &'static str) {
    let at = version.fetched_ms.to_string();
    (
        url_with_query("/cached", &[("url", url), ("at", &at)]),
        human::timestamp(version.fetched_ms),
        version.status.map(|status| status.to_string()).unwrap_or_default(),
        if version.is_revisit { "unchanged" } else { "" },
    )
}

fn link_row(url: &str, anchor: &str, element: &str, note: &str) -> LinkRow {
    LinkRow {
        link: url_with_query("/page", &[("url", url)]),
        url: display_text::url(url),
        anchor: display_text::sanitize_line(anchor, display_text::TITLE_CHARACTERS),
        element: element.to_owned(),
        note: note.to_owned(),
    }
}
