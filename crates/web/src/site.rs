//! What is known of one site?

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use crawl::{SiteEntry, site_entry};
use model::{PageId, SiteId};
use report::words;
use serde::Serialize;
use store::{Snapshot, Stage};

use crate::asked::{Asked, address};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part, page};
use crate::shown;
use crate::sites::now_ms;

/// Pages that are listed.
const MOST_PAGES: usize = 25;
/// Of robots.txt.
const MOST_BYTES: usize = 50_000;

/// Everything about a site. Scripts rely on the names.
#[derive(Serialize)]
pub(crate) struct Site {
    #[serde(flatten)]
    entry: SiteEntry,
    /// By the last analysis.
    site_rank: f32,
    page_rank_sum: f32,
    first_seen_ms: u64,
    last_seen_ms: Option<u64>,
    pages_static: u32,
    pages_dynamic: u32,
    robots_text: Option<String>,
    /// Those with most links to them.
    pages: Vec<SitePage>,
}

#[derive(Serialize)]
struct SitePage {
    url: String,
    in_links: u32,
    state: &'static str,
}

#[derive(Template)]
#[template(path = "site.html")]
struct View {
    frame: Frame,
    name: String,
    search: String,
    original: Option<String>,
    facts: Vec<(&'static str, String, String)>,
    robots: String,
    pages: Vec<(String, String, String, &'static str)>,
}

fn site(desk: &Desk, asked: &Asked) -> Result<Site, Failure> {
    let snapshot = desk.snapshot()?;
    let name = asked.text("name")?;
    let id = find(desk, &snapshot, name)?;
    let missing = || Failure::NotThere(format!("the collection has no site {}", shown::url(name)));
    let id = id.ok_or_else(missing)?;
    let entry = site_entry(&snapshot, &desk.settings.rules, id, now_ms())?.ok_or_else(missing)?;
    let record = snapshot.sites.get(id)?.ok_or_else(missing)?;
    let robots = snapshot.sites.robots_text(id)?;
    let ms = |seconds: u32| u64::from(seconds) * 1_000;
    Ok(Site {
        entry,
        site_rank: record.site_rank,
        page_rank_sum: record.page_rank_sum,
        first_seen_ms: ms(record.first_seen_s),
        last_seen_ms: Some(ms(record.last_seen_s)).filter(|seen_ms| *seen_ms > 0),
        pages_static: record.pages_static,
        pages_dynamic: record.pages_dynamic,
        robots_text: robots
            .map(|text| String::from_utf8_lossy(&text[..text.len().min(MOST_BYTES)]).into_owned()),
        pages: pages(&snapshot, id)?,
    })
}

/// The site of this name; a host or a URL will do.
fn find(desk: &Desk, snapshot: &Snapshot, name: &str) -> Result<Option<SiteId>, Failure> {
    if name.is_empty() {
        return Err(Failure::WrongQuestion("say which site: name=https://example.org".to_owned()));
    }
    let rules = &desk.settings.rules.gather.rules;
    let as_written = snapshot.urls.find_site(name.trim_end_matches('/'));
    let guesses = [name.to_owned(), format!("https://{name}/"), format!("http://{name}/")];
    let urls = guesses.iter().filter_map(|guess| rules.canonical(guess).ok());
    Ok(as_written.or_else(|| urls.into_iter().find_map(|url| snapshot.urls.find_site(url.site()))))
}

fn pages(snapshot: &Snapshot, site: SiteId) -> Result<Vec<SitePage>, Failure> {
    let score = |row: &store::ScanRow| (row.site == site).then_some(row.in_links as f32);
    let best = snapshot.pages.top_k(MOST_PAGES, MOST_PAGES, score)?;
    let ids: Vec<PageId> = best.iter().map(|(page, _)| *page).collect();
    let urls = snapshot.urls.urls(&ids)?;
    let mut pages = Vec::with_capacity(ids.len());
    for (page, url) in ids.into_iter().zip(urls) {
        let (Some(record), Some(url)) = (snapshot.pages.get(page)?, url) else { continue };
        pages.push(SitePage { url, in_links: record.in_links, state: stage_word(record.stage) });
    }
    Ok(pages)
}

fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::New => "new",
        Stage::Queued => "queued",
        Stage::Fetched => "fetched",
        Stage::Failed => "failed",
        Stage::Rejected => "rejected",
    }
}

pub(crate) async fn api(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Json<Site>, Failure> {
    desk.work(move |desk| site(desk, &asked).map(Json)).await
}

pub(crate) async fn html(State(desk): State<Arc<Desk>>, asked: Asked) -> Result<Html<String>, Failure> {
    desk.work(move |desk| page(&view(desk, &site(desk, &asked)?))).await
}

fn view(desk: &Desk, site: &Site) -> View {
    let name = &site.entry.site;
    let host = name.split_once("://").map_or(name.as_str(), |(_, host)| host);
    let front = format!("{name}/");
    let row = |page: &SitePage| {
        let count = words::count(u64::from(page.in_links));
        (address("/page", &[("url", &page.url)]), shown::url(&page.url), count, page.state)
    };
    View {
        frame: Frame::new(desk, Part::Sites, &shown::url(name)),
        search: address("/", &[("f", &format!("site:{host}"))]),
        original: Some(front).filter(|front| shown::is_link(front)),
        facts: facts(site),
        robots: shown::lines(site.robots_text.as_deref().unwrap_or_default()).into_owned(),
        pages: site.pages.iter().map(row).collect(),
        name: shown::url(name),
    }
}

fn facts(site: &Site) -> Vec<(&'static str, String, String)> {
    let entry = &site.entry;
    let count = |number: u32| words::count(u64::from(number));
    let robots = entry.robots_status.map(|status| format!("status {status}")).unwrap_or_default();
    let neighbours = match entry.sites_at_address {
        0 | 1 => String::new(),
        sites => format!("shared with {}", words::counted(sites - 1, "other site")),
    };
    let kinds = format!("{} static, {} dynamic", count(site.pages_static), count(site.pages_dynamic));
    let mut facts = vec![
        ("Pages known", count(entry.pages_known), kinds),
        ("Pages fetched", count(entry.pages_fetched), words::size(entry.bytes)),
        ("Pages queued", count(entry.pages_queued), String::new()),
        ("Requests failed", count(entry.errors), format!("{} in a row", entry.errors_in_a_row)),
        ("Links from other sites", count(entry.in_links), String::new()),
        ("Wait between requests", format!("{} s", entry.wait_ms as f64 / 1_000.0), String::new()),
        ("Address", entry.address.clone().unwrap_or_else(|| "not resolved".to_owned()), neighbours),
        ("robots.txt", entry.robots.as_str().to_owned(), robots),
        ("First met", words::time(site.first_seen_ms as i64), String::new()),
    ];
    if let Some(seen_ms) = site.last_seen_ms {
        facts.push(("Last answer", words::time(seen_ms as i64), String::new()));
    }
    if let Some(until_ms) = entry.back_off_until_ms {
        facts.push(("Left alone until", words::time(until_ms as i64), "after failures".to_owned()));
    }
    if let Some(other) = &entry.alias_of {
        facts.push(("Another name of", shown::url(other), String::new()));
    }
    if site.site_rank > 0.0 {
        facts.push(("SiteRank", format!("{:.2e}", site.site_rank), String::new()));
    }
    facts
}
