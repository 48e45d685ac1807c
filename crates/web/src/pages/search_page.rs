//! Search page: start page, results with snippets, facets, sort orders and further pages. A facet adds a filter, and a
//! click on a filter removes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::State;
use axum::response::Html;
use inspect::CollectionStatus;
use report::human;
use search::{EmptyingCondition, FacetCount, Hit, MAX_RESULT_WINDOW, SearchResult, Snippet};
use store::Cancellation;

use crate::pages::layout::{Layout, NavItem, page};
use crate::pages::search_links::LinkBuilder;
use crate::pages::search_request::{SORTS, SearchRequest, run_search};
use crate::sanitize::display_text;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::clock::now_ms;
use crate::state::params::{Params, url_with_query};

/// Maximum wait for the first count of pages.
const STATUS_TIMEOUT: Duration = Duration::from_millis(300);

#[derive(Template)]
#[template(path = "search.html")]
struct View {
    layout: Layout,
    query: String,
    filters: Vec<(String, String)>,
    hidden: Vec<(&'static str, String)>,
    /// Syntax error of the query: the query with a caret below, and the message.
    syntax_error: Option<(String, String)>,
    /// Other error, such as a missing index.
    error: Option<String>,
    facts: Vec<(&'static str, String)>,
    result: Option<ResultView>,
}

struct ResultView {
    summary: String,
    sorts: Vec<(&'static str, String, bool)>,
    suggestion: Option<(String, String)>,
    /// Why no page has all words, if the query was relaxed or finds nothing.
    remarks: Vec<String>,
    limits_hit: Vec<String>,
    hits: Vec<HitView>,
    facets: Vec<(&'static str, Vec<FacetView>)>,
    pages: Vec<(String, Option<String>)>,
    previous: Option<String>,
    next: Option<String>,
}

struct HitView {
    /// Whether the hit is of the same site as the one before it.
    is_same_site: bool,
    title: Vec<(String, bool)>,
    /// Link of the title: the cached page, or the page itself if it forbids copies.
    target: String,
    /// Link to the page itself; only http and https.
    original: Option<String>,
    url: String,
    snippet: Vec<(String, bool)>,
    facts: Vec<String>,
    details: String,
    similar: String,
    more: String,
    near_duplicates: Option<(String, String)>,
    explanation: Vec<(String, String)>,
}

struct FacetView {
    name: String,
    pages: String,
    link: String,
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    let request = SearchRequest::parse(&params)?;
    let status = if request.is_empty() { state.latest_status(STATUS_TIMEOUT).await? } else { None };
    let work = move |state: &AppState, cancellation: &Cancellation| {
        page(&view(state, &params, &request, status.as_deref(), cancellation)?)
    };
    state.run_cancellable(work).await
}

fn view(
    state: &AppState,
    params: &Params,
    request: &SearchRequest,
    status: Option<&CollectionStatus>,
    cancellation: &Cancellation,
) -> Result<View, ApiError> {
    let title =
        if request.is_empty() { String::new() } else { display_text::sanitize_line(&request.query, 80) };
    let links = LinkBuilder::new(params, request);
    let mut view = View {
        layout: Layout::new(state, NavItem::Search, &title),
        query: request.query.clone(),
        filters: request
            .filters
            .iter()
            .map(|filter| (display_text::sanitize_line(filter, 60), links.without(filter)))
            .collect(),
        hidden: links.hidden(),
        syntax_error: None,
        error: None,
        facts: Vec::new(),
        result: None,
    };
    if request.is_empty() {
        return start_page(state, status, view);
    }
    let start = Instant::now();
    match run_search(state, request, cancellation) {
        Ok(result) => {
            view.result = Some(result_view(&result, request, &links, start.elapsed().as_secs_f64()));
        }
        Err(ApiError::InvalidQuery { pointer, message, .. }) => view.syntax_error = Some((pointer, message)),
        Err(ApiError::NotReady(message) | ApiError::NotFound(message) | ApiError::BadRequest(message)) => {
            view.error = Some(display_text::sanitize_line(&message, display_text::TEXT_CHARACTERS));
        }
        Err(error) => return Err(error),
    }
    Ok(view)
}

/// The page without a query.
fn start_page(state: &AppState, status: Option<&CollectionStatus>, view: View) -> Result<View, ApiError> {
    let mut facts = Vec::new();
    if let Some(status) = status {
        facts.push(("Pages", human::number(status.pages_fetched)));
        facts.push(("Sites", human::number(status.sites_known)));
        facts.push(("Links", human::number(status.links)));
    }
    let error = match state.searcher_cache.searcher() {
        Ok(searcher) => {
            facts.push(("Pages indexed", human::number(searcher.index().pages())));
            None
        }
        Err(ApiError::NotReady(message)) => Some(message),
        Err(error) => return Err(error),
    };
    Ok(View { facts, error, ..view })
}

fn result_view(
    result: &SearchResult,
    request: &SearchRequest,
    links: &LinkBuilder<'_>,
    seconds: f64,
) -> ResultView {
    let options = &request.options;
    let number = |page: usize| {
        let is_current = page * options.limit == options.offset;
        ((page + 1).to_string(), (!is_current).then(|| links.at_offset(page * options.limit)))
    };
    let last = (result.total as usize).min(MAX_RESULT_WINDOW).div_ceil(options.limit);
    let current = options.offset / options.limit;
    // The total includes collapsed near duplicates, so there may be fewer pages than it suggests.
    let end = if result.has_more { last.min(current.max(4) + 5) } else { current + 1 };
    let pages: Vec<_> = (current.saturating_sub(4)..end).map(number).collect();
    ResultView {
        summary: format!("{} in {:.0} ms", human::plural(result.total, "result"), seconds * 1e3),
        sorts: SORTS.map(|(name, sort)| (name, links.sorted(name), sort == options.sort)).into(),
        suggestion: result
            .suggestion
            .as_ref()
            .map(|text| (display_text::sanitize_line(text, 200), links.for_query(text))),
        remarks: remarks(result),
        limits_hit: result.limits_hit.iter().map(ToString::to_string).collect(),
        hits: grouped_by_site(&result.hits)
            .into_iter()
            .map(|(hit, is_same_site)| hit_view(hit, is_same_site, links))
            .collect(),
        facets: facets(result, request, links),
        previous: (current > 0).then(|| links.at_offset((current - 1) * options.limit)),
        next: result.has_more.then(|| links.at_offset((current + 1) * options.limit)),
        pages: if pages.len() > 1 { pages } else { Vec::new() },
    }
}

/// Says that a query was relaxed, and which conditions leave it without results.
fn remarks(result: &SearchResult) -> Vec<String> {
    let mut remarks = Vec::new();
    if result.total > 0 && !result.emptied_by.is_empty() {
        remarks.push("No page has all words; these have any of them.".to_owned());
    }
    for EmptyingCondition { condition, is_absent, hits_without } in &result.emptied_by {
        let condition = display_text::sanitize_line(condition, 80);
        remarks.push(match is_absent {
            true => format!("No page matches {condition}."),
            false => format!("Without {condition}: {}.", human::plural(*hits_without, "result")),
        });
    }
    remarks
}

/// Puts the hits of a site below its best hit; each with whether it follows another of its site.
fn grouped_by_site(hits: &[Hit]) -> Vec<(&Hit, bool)> {
    let mut grouped: Vec<(&Hit, bool)> = Vec::with_capacity(hits.len());
    for hit in hits {
        match grouped.iter().rposition(|(other, _)| other.site == hit.site) {
            Some(last) => grouped.insert(last + 1, (hit, true)),
            None => grouped.push((hit, false)),
        }
    }
    // Indentation only helps to tell several sites apart.
    if grouped.iter().filter(|(_, is_same_site)| !is_same_site).count() < 2 {
        grouped.iter_mut().for_each(|(_, is_same_site)| *is_same_site = false);
    }
    grouped
}

fn hit_view(hit: &Hit, is_same_site: bool, links: &LinkBuilder<'_>) -> HitView {
    let mut facts = vec![human::date(hit.date_ms.unwrap_or(hit.fetched_ms))];
    facts.extend(hit.language.iter().map(|code| display_text::sanitize_line(code, 20)));
    if hit.mime_type != "text/html" {
        facts.push(display_text::sanitize_line(&hit.mime_type, 40));
    }
    facts.extend(hit.inlinks.map(|inlinks| human::plural(u64::from(inlinks), "inlink")));
    let mut title = highlighted(&hit.title, display_text::TITLE_CHARACTERS);
    if title.is_empty() {
        title = vec![(display_text::url(&hit.url), false)];
    }
    let url = [("url", hit.url.as_str())];
    let details = url_with_query("/page", &url);
    let original = Some(hit.url.clone()).filter(|url| display_text::is_web_url(url));
    let may_copy = hit.robots.forbids_copy((now_ms() / 1_000) as i64).is_none();
    let cached = may_copy.then(|| links.cached(&hit.url));
    HitView {
        is_same_site,
        title,
        target: cached.or_else(|| original.clone()).unwrap_or_else(|| details.clone()),
        original,
        url: display_text::url(&hit.url),
        snippet: highlighted(&hit.snippet, display_text::TEXT_CHARACTERS),
        facts,
        details,
        similar: url_with_query("/similar", &url),
        more: links.with(&format!("site:{}", hit.site)),
        near_duplicates: (hit.near_duplicates > 0).then(|| {
            (human::plural(u64::from(hit.near_duplicates), "near duplicate"), links.without_collapsing())
        }),
        explanation: hit
            .explanation
            .iter()
            .map(|part| (display_text::sanitize_line(&part.description, 80), format!("{:.3}", part.score)))
            .collect(),
    }
}

/// Returns the fragments of a snippet, each with whether it is a match, up to a total length.
fn highlighted(snippet: &Snippet, max_characters: usize) -> Vec<(String, bool)> {
    let mut left = max_characters;
    let mut fragments = Vec::new();
    for fragment in &snippet.fragments {
        if left == 0 {
            break;
        }
        // sanitize_line trims: spaces at the ends of a fragment separate it from its neighbours.
        let text = display_text::sanitize_line(&fragment.text, left);
        left = left.saturating_sub(text.chars().count());
        let before = if fragment.text.starts_with(char::is_whitespace) { " " } else { "" };
        let after = if fragment.text.ends_with(char::is_whitespace) { " " } else { "" };
        fragments.push((format!("{before}{text}{after}"), fragment.is_match));
    }
    if snippet.is_truncated_before && !fragments.is_empty() {
        fragments.insert(0, ("\u{2026} ".to_owned(), false));
    }
    if snippet.is_truncated_after && !fragments.is_empty() {
        fragments.push((" \u{2026}".to_owned(), false));
    }
    fragments
}

fn facets(
    result: &SearchResult,
    request: &SearchRequest,
    links: &LinkBuilder<'_>,
) -> Vec<(&'static str, Vec<FacetView>)> {
    let facets = &result.facets;
    let groups = [
        ("Site", "site", &facets.sites),
        ("Language", "lang", &facets.languages),
        ("Year", "date", &facets.years),
        ("MIME type", "type", &facets.mime_types),
    ];
    let bound = if facets.hits_counted < result.total { "\u{2265} " } else { "" };
    // The scheme is shown only for hosts that occur with several.
    let host = |site: &str| site.split_once("://").map_or(site, |(_, host)| host).to_owned();
    let is_ambiguous =
        |name: &str| facets.sites.iter().filter(|count| host(&count.value) == name).count() > 1;
    let view = |prefix: &str, count: &FacetCount| {
        let filter = format!("{prefix}:{}", count.value);
        let is_active = request.filters.contains(&filter);
        let host = host(&count.value);
        let name = if is_ambiguous(&host) { &count.value } else { &host };
        (!is_active).then(|| FacetView {
            name: display_text::sanitize_line(name, 60),
            pages: format!("{bound}{}", human::number(count.pages)),
            link: links.with(&filter),
        })
    };
    groups
        .into_iter()
        .map(|(title, prefix, counts)| {
            (title, counts.iter().filter_map(|count| view(prefix, count)).collect())
        })
        .filter(|(_, counts): &(&str, Vec<FacetView>)| !counts.is_empty())
        .collect()
}
