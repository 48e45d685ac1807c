//! List of the sites of the collection, filtered and sorted.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use inspect::{SiteQuery, SiteSort, SiteSummary, list_sites};
use report::human;
use serde::Serialize;

use crate::pages::layout::{Layout, NavItem, page};
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::clock::now_ms;
use crate::state::params::{Params, url_with_query};

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1_000;

const SORTS: [(&str, SiteSort); 7] = [
    ("fetched", SiteSort::Fetched),
    ("known", SiteSort::Known),
    ("queued", SiteSort::Queued),
    ("failed", SiteSort::Failed),
    ("bytes", SiteSort::Bytes),
    ("inlinks", SiteSort::Inlinks),
    ("name", SiteSort::Name),
];

/// JSON of `/api/v1/sites`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct Sites {
    total: usize,
    offset: usize,
    sites: Vec<SiteSummary>,
}

#[derive(Template)]
#[template(path = "sites.html")]
struct View {
    layout: Layout,
    filter: String,
    columns: Vec<(&'static str, String, bool, bool)>,
    rows: Vec<Row>,
    total: String,
    previous: Option<String>,
    next: Option<String>,
}

struct Row {
    name: String,
    link: String,
    numbers: Vec<String>,
    robots: &'static str,
    note: String,
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    state.run_blocking(move |state| page(&view(state, &params)?)).await
}

pub(crate) async fn api(State(state): State<Arc<AppState>>, params: Params) -> Result<Json<Sites>, ApiError> {
    state.run_blocking(move |state| list(state, &params).map(Json)).await
}

fn list(state: &AppState, params: &Params) -> Result<Sites, ApiError> {
    let filter = params.get("filter")?.to_ascii_lowercase();
    let offset = params.number("offset", 0..=u32::MAX as usize)?.unwrap_or(0);
    let query = SiteQuery {
        sort: params.choice("sort", &SORTS)?,
        filter: Some(filter.as_str()).filter(|filter| !filter.is_empty()),
        offset,
        limit: Some(params.number("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT)),
    };
    let (sites, total) = list_sites(&*state.snapshot()?, &state.settings.crawl, &query, now_ms())?;
    Ok(Sites { total, offset, sites })
}

fn view(state: &AppState, params: &Params) -> Result<View, ApiError> {
    let found = list(state, params)?;
    let filter = params.get("filter")?;
    let sort = params.get("sort")?;
    let link = |sort: &str, offset: usize| {
        let offset = if offset == 0 { String::new() } else { offset.to_string() };
        url_with_query("/sites", &[("filter", filter), ("sort", sort), ("offset", &offset)])
    };
    let sort = if sort.is_empty() { "fetched" } else { sort };
    let columns = [
        ("Site", "name"),
        ("Known", "known"),
        ("Fetched", "fetched"),
        ("Queued", "queued"),
        ("Failed", "failed"),
        ("Inlinks", "inlinks"),
        ("Received", "bytes"),
    ];
    let next = found.offset + found.sites.len();
    Ok(View {
        layout: Layout::new(state, NavItem::Sites, "Sites"),
        filter: filter.to_owned(),
        columns: columns
            .map(|(title, name)| (title, link(name, 0), name == sort, name != "name"))
            .into_iter()
            .collect(),
        total: human::plural(found.total as u64, "site"),
        previous: (found.offset > 0).then(|| link(sort, found.offset.saturating_sub(DEFAULT_LIMIT))),
        next: (next < found.total).then(|| link(sort, next)),
        rows: found.sites.iter().map(row).collect(),
    })
}

fn row(site: &SiteSummary) -> Row {
    let count = |number: u32| human::number(u64::from(number));
    let note = match (&site.alias_of, site.back_off_until_ms) {
        (Some(other), _) => format!("alias of {}", display_text::url(other)),
        (None, Some(until_ms)) => format!("back-off until {}", human::timestamp(until_ms as i64)),
        (None, None) => String::new(),
    };
    Row {
        link: url_with_query("/site", &[("site", &site.site)]),
        numbers: vec![
            count(site.pages_known),
            count(site.pages_fetched),
            count(site.pages_queued),
            count(site.failed_fetches),
            count(site.inlinks),
            human::bytes(site.bytes_received),
        ],
        robots: site.robots.as_str(),
        name: display_text::url(&site.site),
        note,
    }
}
