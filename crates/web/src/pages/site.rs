//! Details of one site.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use inspect::{SiteSummary, site_summary};
use model::{PageId, SiteId};
use report::human;
use serde::Serialize;
use store::{PageStage, Snapshot};

use crate::pages::layout::{Layout, NavItem, page};
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::clock::now_ms;
use crate::state::params::{Params, url_with_query};

/// Maximum number of listed pages.
const MAX_PAGES: usize = 25;
/// Maximum number of bytes of robots.txt.
const MAX_ROBOTS_BYTES: usize = 50_000;

/// JSON of `/api/v1/site`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct Site {
    #[serde(flatten)]
    entry: SiteSummary,
    /// SiteRank of the last analysis.
    site_rank: f32,
    /// Sum of the PageRank of its pages.
    pagerank_sum: f32,
    discovered_ms: u64,
    last_response_ms: Option<u64>,
    pages_static: u32,
    pages_dynamic: u32,
    robots_text: Option<String>,
    /// The pages with the most inlinks.
    pages: Vec<SitePage>,
}

#[derive(Serialize)]
struct SitePage {
    url: String,
    inlinks: u32,
    stage: &'static str,
}

#[derive(Template)]
#[template(path = "site.html")]
struct View {
    layout: Layout,
    name: String,
    search: String,
    original: Option<String>,
    facts: Vec<(&'static str, String, String)>,
    robots: String,
    pages: Vec<(String, String, String, &'static str)>,
}

fn site(state: &AppState, params: &Params) -> Result<Site, ApiError> {
    let snapshot = state.snapshot()?;
    let name = params.get("site")?;
    let id = find(state, &snapshot, name)?;
    let not_found =
        || ApiError::NotFound(format!("site {} is not in the collection", display_text::url(name)));
    let id = id.ok_or_else(not_found)?;
    let entry = site_summary(&snapshot, &state.settings.crawl, id, now_ms())?.ok_or_else(not_found)?;
    let record = snapshot.site_state.get(id)?.ok_or_else(not_found)?;
    let robots = snapshot.site_state.robots_text(id)?;
    let ms = |seconds: u32| u64::from(seconds) * 1_000;
    Ok(Site {
        entry,
        site_rank: record.site_rank,
        pagerank_sum: record.pagerank_sum,
        discovered_ms: ms(record.first_seen_s),
        last_response_ms: Some(ms(record.last_seen_s)).filter(|ms| *ms > 0),
        pages_static: record.pages_static,
        pages_dynamic: record.pages_dynamic,
        robots_text: robots
            .map(|text| String::from_utf8_lossy(&text[..text.len().min(MAX_ROBOTS_BYTES)]).into_owned()),
        pages: pages(&snapshot, id)?,
    })
}

/// Finds a site by name, host or URL.
fn find(state: &AppState, snapshot: &Snapshot, name: &str) -> Result<Option<SiteId>, ApiError> {
    if name.is_empty() {
        return Err(ApiError::BadRequest(
            "missing parameter `site`; example: site=https://example.org".to_owned(),
        ));
    }
    let rules = &state.settings.crawl.gathering.rules;
    let exact = snapshot.urls.find_site(name.trim_end_matches('/'));
    let candidates = [name.to_owned(), format!("https://{name}/"), format!("http://{name}/")];
    let urls = candidates.iter().filter_map(|candidate| rules.canonical(candidate).ok());
    Ok(exact.or_else(|| urls.into_iter().find_map(|url| snapshot.urls.find_site(url.site()))))
}

fn pages(snapshot: &Snapshot, site: SiteId) -> Result<Vec<SitePage>, ApiError> {
    let score = |row: &store::ScanRow| (row.site == site).then_some(row.inlinks as f32);
    let top = snapshot.page_state.top_k(MAX_PAGES, MAX_PAGES, score)?;
    let ids: Vec<PageId> = top.iter().map(|(page, _)| *page).collect();
    let urls = snapshot.urls.urls(&ids)?;
    let mut pages = Vec::with_capacity(ids.len());
    for (page, url) in ids.into_iter().zip(urls) {
        let (Some(record), Some(url)) = (snapshot.page_state.get(page)?, url) else { continue };
        pages.push(SitePage { url, inlinks: record.inlinks, stage: stage_name(record.stage) });
    }
    Ok(pages)
}

fn stage_name(stage: PageStage) -> &'static str {
    match stage {
        PageStage::Discovered => "discovered",
        PageStage::Queued => "queued",
        PageStage::Fetched => "fetched",
        PageStage::Failed => "failed",
        PageStage::Rejected => "rejected",
    }
}

pub(crate) async fn api(State(state): State<Arc<AppState>>, params: Params) -> Result<Json<Site>, ApiError> {
    state.run_blocking(move |state| site(state, &params).map(Json)).await
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    state.run_blocking(move |state| page(&view(state, &site(state, &params)?))).await
}

fn view(state: &AppState, site: &Site) -> View {
    let name = &site.entry.site;
    let host = name.split_once("://").map_or(name.as_str(), |(_, host)| host);
    let front = format!("{name}/");
    let row = |page: &SitePage| {
        let inlinks = human::number(u64::from(page.inlinks));
        (url_with_query("/page", &[("url", &page.url)]), display_text::url(&page.url), inlinks, page.stage)
    };
    View {
        layout: Layout::new(state, NavItem::Sites, &display_text::url(name)),
        search: url_with_query("/", &[("filter", &format!("site:{host}"))]),
        original: Some(front).filter(|front| display_text::is_web_url(front)),
        facts: facts(site),
        robots: display_text::sanitize_block(site.robots_text.as_deref().unwrap_or_default()).into_owned(),
        pages: site.pages.iter().map(row).collect(),
        name: display_text::url(name),
    }
}

fn facts(site: &Site) -> Vec<(&'static str, String, String)> {
    let entry = &site.entry;
    let count = |number: u32| human::number(u64::from(number));
    let robots = entry.robots_status.map(|status| format!("HTTP {status}")).unwrap_or_default();
    let shared = match entry.sites_at_ip {
        0 | 1 => String::new(),
        sites => format!("shared with {}", human::plural(sites - 1, "other site")),
    };
    let classes = format!("{} static, {} dynamic", count(site.pages_static), count(site.pages_dynamic));
    let mut facts = vec![
        ("Pages known", count(entry.pages_known), classes),
        ("Pages fetched", count(entry.pages_fetched), human::bytes(entry.bytes_received)),
        ("Pages queued", count(entry.pages_queued), String::new()),
        (
            "Failed fetches",
            count(entry.failed_fetches),
            format!("{} consecutive", entry.consecutive_failures),
        ),
        ("Inlinks from other sites", count(entry.inlinks), String::new()),
        ("Delay", format!("{} s", entry.delay_ms as f64 / 1_000.0), String::new()),
        ("IP address", entry.ip_address.clone().unwrap_or_else(|| "not resolved".to_owned()), shared),
        ("robots.txt", entry.robots.as_str().to_owned(), robots),
        ("Discovered", human::timestamp(site.discovered_ms as i64), String::new()),
    ];
    if let Some(response_ms) = site.last_response_ms {
        facts.push(("Last response", human::timestamp(response_ms as i64), String::new()));
    }
    if let Some(until_ms) = entry.back_off_until_ms {
        facts.push(("Back-off until", human::timestamp(until_ms as i64), String::new()));
    }
    if let Some(other) = &entry.alias_of {
        facts.push(("Alias of", display_text::url(other), String::new()));
    }
    if site.site_rank > 0.0 {
        facts.push(("SiteRank", format!("{:.2e}", site.site_rank), String::new()));
    }
    facts
}
