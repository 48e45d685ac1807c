//! Pages similar to a page, by text or by links.

use std::sync::Arc;

use analysis::{SimilarBy, SimilarPage, Threads, similar_pages};
use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::response::Html;
use report::human;
use serde::Serialize;
use store::Cancellation;

use crate::pages::layout::{Layout, NavItem, page};
use crate::pages::page_ref::PageRef;
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::{Params, url_with_query};

const MAX_LIMIT: usize = 100;
const DEFAULT_LIMIT: usize = 20;
const MEASURES: [(&str, SimilarBy); 3] =
    [("all", SimilarBy::All), ("text", SimilarBy::Text), ("links", SimilarBy::Links)];

/// JSON of `/api/v1/similar`. The field names are part of the API.
#[derive(Serialize)]
pub(crate) struct Similar {
    url: String,
    pages: Vec<SimilarPage>,
    /// Messages about the measures that could not be used.
    unavailable: Vec<String>,
}

#[derive(Template)]
#[template(path = "similar.html")]
struct View {
    layout: Layout,
    url: String,
    details: String,
    unavailable: Vec<String>,
    hits: Vec<HitView>,
}

struct HitView {
    details: String,
    cached: String,
    title: String,
    url: String,
    score: String,
    relation: String,
}

fn similar(state: &AppState, params: &Params, cancellation: &Cancellation) -> Result<Similar, ApiError> {
    let snapshot = state.snapshot()?;
    let (url, page) = PageRef::resolve_known(state, &snapshot, params)?;
    let by = params.choice("by", &MEASURES)?;
    let limit = params.number("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT);
    // One thread per request: several requests run at the same time.
    let found = similar_pages(&snapshot, page, by, limit, Threads(1), cancellation)?;
    Ok(Similar { url: url.as_str().to_owned(), pages: found.pages, unavailable: found.unavailable })
}

pub(crate) async fn api(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Json<Similar>, ApiError> {
    state.run_cancellable(move |state, cancellation| similar(state, &params, cancellation).map(Json)).await
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    state
        .run_cancellable(move |state, cancellation| {
            let found = similar(state, &params, cancellation)?;
            let messages = found.unavailable.iter();
            page(&View {
                layout: Layout::new(state, NavItem::Other, "Similar pages"),
                url: display_text::url(&found.url),
                details: url_with_query("/page", &[("url", &found.url)]),
                unavailable: messages.map(|message| display_text::sanitize_line(message, 300)).collect(),
                hits: found.pages.iter().map(hit_view).collect(),
            })
        })
        .await
}

fn hit_view(found: &SimilarPage) -> HitView {
    let common = u64::from(found.common_links.unwrap_or(0));
    let relation = match found.relation {
        "exact-duplicate" => "exact duplicate".to_owned(),
        "near-duplicate" => "near duplicate".to_owned(),
        "similar-text" => "similar text".to_owned(),
        "co-citation" => format!("co-citation: {} in common", human::plural(common, "inlink")),
        _ => format!("bibliographic coupling: {} in common", human::plural(common, "outlink")),
    };
    let duplicates = match found.duplicates {
        0 => String::new(),
        duplicates => format!("; {}", human::plural(duplicates as u64, "further duplicate")),
    };
    HitView {
        details: url_with_query("/page", &[("url", &found.url)]),
        cached: url_with_query("/cached", &[("url", &found.url)]),
        title: display_text::title(&found.title),
        url: display_text::url(&found.url),
        score: format!("{:.2}", found.score),
        relation: format!("{relation}{duplicates}"),
    }
}
