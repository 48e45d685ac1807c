//! Which sites does the collection have? A list, by what matters to the one who looks.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use crawl::{SiteEntry, SiteOrder, SiteQuery, list_sites};
use report::words;
use serde::Serialize;

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::shown;

const PAGE: usize = 50;
const MOST: usize = 1_000;

const SORTS: [(&str, SiteOrder); 7] = [
    ("fetched", SiteOrder::Fetched),
    ("known", SiteOrder::Known),
    ("queued", SiteOrder::Queued),
    ("errors", SiteOrder::Errors),
    ("bytes", SiteOrder::Bytes),
    ("links", SiteOrder::Links),
    ("name", SiteOrder::Name),
];

/// A part of the list. Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct Sites {
    total: usize,
    from: usize,
    sites: Vec<SiteEntry>,
}

#[derive(Template)]
#[template(path = "sites.html")]
struct View {
    frame: Frame,
    filter: String,
    columns: Vec<(&'static str, String, bool, bool)>,
    rows: Vec<Row>,
    total: String,
    earlier: Option<String>,
    later: Option<String>,
}

struct Row {
    name: String,
    address: String,
    numbers: Vec<String>,
    robots: &'static str,
    note: String,
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| page(&view(desk, &asked)?)).await
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<Sites>, Failure> {
    desk.work(move |desk| list(desk, &asked).map(Json)).await
}

fn list(desk: &Desk, asked: &Asked) -> Result<Sites, Failure> {
    let filter = asked.text("filter")?.to_ascii_lowercase();
    let from = asked.number("from", 0..=u32::MAX as usize)?.unwrap_or(0);
    let query = SiteQuery {
        sort: asked.one_of("sort", &SORTS)?,
        filter: Some(filter.as_str()).filter(|filter| !filter.is_empty()),
        from,
        most: Some(asked.number("count", 1..=MOST)?.unwrap_or(PAGE)),
    };
    let (sites, total) = list_sites(&*desk.snapshot()?, &desk.settings.rules, &query, now_ms())?;
    Ok(Sites { total, from, sites })
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn view(desk: &Desk, asked: &Asked) -> Result<View, Failure> {
    let found = list(desk, asked)?;
    let filter = asked.text("filter")?;
    let sort = asked.text("sort")?;
    let to = |sort: &str, from: usize| {
        let from = if from == 0 { String::new() } else { from.to_string() };
        address("/sites", &[("filter", filter), ("sort", sort), ("from", &from)])
    };
    let sort = if sort.is_empty() { "fetched" } else { sort };
    let columns = [
        ("Site", "name"),
        ("Known", "known"),
        ("Fetched", "fetched"),
        ("Queued", "queued"),
        ("Failed", "errors"),
        ("Links in", "links"),
        ("Sent", "bytes"),
    ];
    let next = found.from + found.sites.len();
    Ok(View {
        frame: Frame::new(desk, Part::Sites, "Sites"),
        filter: filter.to_owned(),
        columns: columns
            .map(|(title, name)| (title, to(name, 0), name == sort, name != "name"))
            .into_iter()
            .collect(),
        total: words::counted(found.total as u64, "site"),
        earlier: (found.from > 0).then(|| to(sort, found.from.saturating_sub(PAGE))),
        later: (next < found.total).then(|| to(sort, next)),
        rows: found.sites.iter().map(row).collect(),
    })
}

fn row(site: &SiteEntry) -> Row {
    let count = |number: u32| words::count(u64::from(number));
    let note = match (&site.alias_of, site.back_off_until_ms) {
        (Some(other), _) => format!("another name of {}", shown::url(other)),
        (None, Some(until_ms)) => format!("left alone until {}", words::time(until_ms as i64)),
        (None, None) => String::new(),
    };
    Row {
        address: address("/site", &[("name", &site.site)]),
        numbers: vec![
            count(site.pages_known),
            count(site.pages_fetched),
            count(site.pages_queued),
            count(site.errors),
            count(site.in_links),
            words::size(site.bytes),
        ],
        robots: site.robots.as_str(),
        name: shown::url(&site.site),
        note,
    }
}
