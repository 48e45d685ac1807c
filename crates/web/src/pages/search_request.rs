//! Search requests: parameters of the search page and of `/api/v1/search`, and their execution.
//!
//! The parameter `q` is the query; each `filter` is a further condition, such as `lang:en`.

use std::sync::Arc;
use std::time::Instant;

use analysis::{LinkLookup, LookupError};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use search::{
    Highlighter, LinkMatches, MAX_QUERY_BYTES, MAX_QUERY_LINK_CONDITIONS, MAX_RESULT_WINDOW, MatchMode,
    Query, SearchOptions, SearchResponse, SearchResult, Sort,
};
use store::{Cancellation, Snapshot};

use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::params::Params;

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;
const MAX_FILTERS: usize = 10;
pub(crate) const SORTS: [(&str, Sort); 3] =
    [("relevance", Sort::Relevance), ("date", Sort::Date), ("rank", Sort::Rank)];

pub(crate) const MODES: [(&str, MatchMode); 2] = [("all", MatchMode::All), ("any", MatchMode::Any)];

/// Parsed parameters of a search.
pub(crate) struct SearchRequest {
    pub(crate) query: String,
    pub(crate) filters: Vec<String>,
    pub(crate) mode: MatchMode,
    pub(crate) options: SearchOptions,
}

impl SearchRequest {
    pub(crate) fn parse(params: &Params) -> Result<SearchRequest, ApiError> {
        Ok(SearchRequest {
            query: params.get("q")?.trim().to_owned(),
            filters: params.all("filter").take(MAX_FILTERS).map(str::to_owned).collect(),
            mode: params.choice("mode", &MODES)?,
            options: SearchOptions {
                relax: true,
                offset: params.number("offset", 0..=MAX_RESULT_WINDOW)?.unwrap_or(0),
                limit: params.number("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT),
                sort: params.choice("sort", &SORTS)?,
                facets: params.choice("facets", &[("true", true), ("false", false)])?,
                explain: params.choice("explain", &[("false", false), ("true", true)])?,
                collapse: params.choice("collapse", &[("true", true), ("false", false)])?,
                ..SearchOptions::default()
            },
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.query.is_empty() && self.filters.is_empty()
    }

    /// Parses query and filters separately, so that the position of a syntax error refers to the text the user entered, and
    /// combines them with AND.
    fn combined_query(&self) -> Result<Query, ApiError> {
        let parse = |text: &str| {
            Query::parse(text).map_err(|error| ApiError::InvalidQuery {
                pointer: error.point_at(text),
                column: error.column,
                message: error.to_string(),
            })
        };
        let bytes = self.query.len() + self.filters.iter().map(String::len).sum::<usize>();
        if bytes > MAX_QUERY_BYTES {
            return Err(ApiError::BadRequest(format!(
                "query and filters exceed {MAX_QUERY_BYTES} bytes together"
            )));
        }
        let mut parts = Vec::with_capacity(self.filters.len() + 1);
        if !self.query.is_empty() {
            parts.push(match self.mode {
                MatchMode::All => parse(&self.query)?,
                MatchMode::Any => Query::any_word(&self.query).map_or_else(|| parse(""), Ok)?,
            });
        }
        for filter in self.filters.iter().filter(|filter| !filter.is_empty()) {
            parts.push(parse(filter)?);
        }
        // Without any part, parsing the empty query returns the syntax error.
        let query = Query::all_of(parts).map_or_else(|| parse(""), Ok)?;
        if query.link_conditions().len() > MAX_QUERY_LINK_CONDITIONS {
            return Err(ApiError::BadRequest(format!(
                "more than {MAX_QUERY_LINK_CONDITIONS} link conditions in a query"
            )));
        }
        Ok(query)
    }
}

/// Highlighter of the words of a search, for its cached pages; `None` without a valid query or an index.
pub(crate) fn highlighter(state: &AppState, params: &Params) -> Option<Highlighter> {
    let request = SearchRequest::parse(params).ok().filter(|request| !request.is_empty())?;
    let query = request.combined_query().ok()?;
    let languages = state.searcher_cache.searcher().ok()?.index().languages().ok()?;
    Some(Highlighter::new(&query, languages))
}

pub(crate) fn run_search(
    state: &AppState,
    request: &SearchRequest,
    cancellation: &Cancellation,
) -> Result<SearchResult, ApiError> {
    let query = request.combined_query()?;
    let searcher = state.searcher_cache.searcher()?;
    let links = resolve_links(searcher.snapshot(), state, &query)?;
    Ok(searcher.search_cancellable(&query, &links, &request.options, cancellation)?)
}

/// Looks up the pages that match the link conditions of a query.
fn resolve_links(snapshot: &Snapshot, state: &AppState, query: &Query) -> Result<LinkMatches, ApiError> {
    let lookup = LinkLookup::new(snapshot, &state.settings.crawl.gathering.rules);
    let hint = |url: &str| {
        inspect::suggest_sites(snapshot, url).map_or_else(String::new, |sites| format!("; {sites}"))
    };
    LinkMatches::resolve(query, |condition| lookup.pages(condition.relation, &condition.url)).map_err(
        |error| match error {
            LookupError::InvalidUrl { url, error } => {
                ApiError::BadRequest(inspect::invalid_url_error(snapshot, &url, error).to_string())
            }
            LookupError::UnknownPage { ref url } => ApiError::NotFound(format!("{error}{}", hint(url))),
            LookupError::NotAnalysed { .. } => ApiError::NotReady(error.to_string()),
            error => ApiError::Internal(error.to_string()),
        },
    )
}

pub(crate) async fn api(State(state): State<Arc<AppState>>, params: Params) -> Result<Response, ApiError> {
    state
        .run_cancellable(move |state, cancellation| {
            let request = SearchRequest::parse(&params)?;
            if request.is_empty() {
                return Err(ApiError::BadRequest("missing parameter `q` (the query)".to_owned()));
            }
            let start = Instant::now();
            let result = run_search(state, &request, cancellation)?;
            let response = SearchResponse::new(&result, &request.options, start.elapsed().as_secs_f64());
            Ok(Json(response).into_response())
        })
        .await
}
