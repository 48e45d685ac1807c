//! Routes of the server, in two tables: pages for people and the HTTP API. The API is described in `openapi.json`; a test compares
//! the two.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};

use crate::api::metrics;
use crate::api::openapi::{health, openapi, status};
use crate::auth::middleware::access_control;
use crate::http::assets;
use crate::pages::dashboard::CrawlCommand;
use crate::pages::layout::Layout;
use crate::pages::{
    cached_page, dashboard, login, page_details, report_page, search_page, search_request, similar, site,
    sites, snapshots,
};
use crate::paths::is_api_path;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 16 << 10;

/// Path, method, handler.
type Row = (&'static str, &'static str, MethodRouter<Arc<AppState>>);

/// Builds the router with its middleware.
pub(crate) fn router(state: &Arc<AppState>) -> Router {
    let mut router = Router::new();
    for (path, _, handler) in pages().into_iter().chain(api_routes()) {
        router = router.route(path, handler);
    }
    router
        .merge(state.streams.router())
        .fallback(|| async { ApiError::NotFound("no such page".to_owned()) })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(from_fn_with_state(Arc::clone(state), access_control))
        .layer(from_fn(render_errors))
        .with_state(Arc::clone(state))
}

#[rustfmt::skip]
fn pages() -> Vec<Row> {
    vec![
        ("/", "get", get(search_page::html)),
        ("/cached", "get", get(cached_page::html)),
        ("/cached/content", "get", get(cached_page::content)),
        ("/cached/file", "get", get(cached_page::file)),
        ("/page", "get", get(page_details::html)),
        ("/similar", "get", get(similar::html)),
        ("/site", "get", get(site::html)),
        ("/sites", "get", get(sites::html)),
        ("/dashboard", "get", get(dashboard::html)),
        ("/dashboard/live", "get", get(dashboard::live)),
        ("/dashboard/pause", "post", submit_command(CrawlCommand::Pause)),
        ("/dashboard/resume", "post", submit_command(CrawlCommand::Resume)),
        ("/dashboard/stop", "post", submit_command(CrawlCommand::Stop)),
        ("/dashboard/rate", "post", submit_command(CrawlCommand::Rate)),
        ("/report", "get", get(report_page::html)),
        ("/report/full", "get", get(report_page::full_page)),
        ("/report/data/{name}", "get", get(report_page::data)),
        ("/snapshots", "get", get(snapshots::html)),
        ("/snapshots/create", "post", post(snapshots::create)),
        ("/snapshots/delete", "post", post(snapshots::delete)),
        ("/login", "get", get(login::html).post(login::submit)),
        ("/assets/{name}", "get", get(assets::file)),
    ]
}

#[rustfmt::skip]
fn api_routes() -> Vec<Row> {
    vec![
        ("/api/v1/openapi.json", "get", get(openapi)),
        ("/api/v1/status", "get", get(status)),
        ("/api/v1/search", "get", get(search_request::api)),
        ("/api/v1/page", "get", get(page_details::api)),
        ("/api/v1/similar", "get", get(similar::api)),
        ("/api/v1/site", "get", get(site::api)),
        ("/api/v1/sites", "get", get(sites::api)),
        ("/api/v1/snapshots", "get", get(snapshots::api)),
        ("/api/v1/crawl", "get", get(dashboard::api)),
        ("/api/v1/crawl/pause", "post", submit_command_api(CrawlCommand::Pause)),
        ("/api/v1/crawl/resume", "post", submit_command_api(CrawlCommand::Resume)),
        ("/api/v1/crawl/stop", "post", submit_command_api(CrawlCommand::Stop)),
        ("/api/v1/crawl/rate", "post", submit_command_api(CrawlCommand::Rate)),
        ("/metrics", "get", get(metrics::text)),
        ("/health", "get", get(health)),
    ]
}

fn submit_command(command: CrawlCommand) -> MethodRouter<Arc<AppState>> {
    post(move |State(state): State<Arc<AppState>>, form: Bytes| async move {
        dashboard::submit_command(&state, command, &form)
    })
}

fn submit_command_api(command: CrawlCommand) -> MethodRouter<Arc<AppState>> {
    post(move |State(state): State<Arc<AppState>>, form: Bytes| {
        dashboard::submit_command_api(state, command, form)
    })
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorView {
    layout: Layout,
    heading: &'static str,
    message: String,
}

/// Renders an [`ApiError`] as a page or, on the paths of the API, as JSON.
async fn render_errors(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_api = is_api_path(path);
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return response };
    let (status, headers) = (error.status(), std::mem::take(response.headers_mut()));
    let mut rendered = if is_api { Json(error.body()).into_response() } else { error_page(&error) };
    *rendered.status_mut() = status;
    for (name, value) in headers {
        if let Some(name) = name.filter(|name| name != header::CONTENT_LENGTH) {
            rendered.headers_mut().insert(name, value);
        }
    }
    rendered
}

fn error_page(error: &ApiError) -> Response {
    let heading = match error {
        ApiError::NotFound(_) => "Not found",
        ApiError::BadRequest(_) | ApiError::InvalidQuery { .. } | ApiError::MethodNotAllowed => "Bad request",
        ApiError::Forbidden(_) | ApiError::Unauthorized | ApiError::UnknownHost(_) => "Access denied",
        ApiError::NotReady(_) => "Not ready",
        ApiError::Overloaded | ApiError::Timeout(_) => "Server busy",
        ApiError::Internal(_) => "Internal error",
    };
    // The client may lack permission: the page must not reveal the name of the collection.
    let layout = Layout::anonymous(heading);
    let view = ErrorView {
        layout,
        heading,
        message: crate::sanitize::display_text::sanitize_line(&error.to_string(), 600),
    };
    view.render().map_or_else(|_| error.to_string().into_response(), |html| Html(html).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn openapi_describes_exactly_the_routes_of_the_api() {
        let described: serde_json::Value = serde_json::from_str(crate::api::openapi::OPENAPI).unwrap();
        let mut in_file = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            in_file.extend(methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone())));
        }
        let row = |(path, method, _): Row| (path.to_owned(), method.to_owned());
        // This route is defined in the crate `stream`.
        let mut routes = BTreeSet::from([("/stream".to_owned(), "get".to_owned())]);
        routes.extend(api_routes().into_iter().map(row));
        assert_eq!(in_file, routes);
    }
}
