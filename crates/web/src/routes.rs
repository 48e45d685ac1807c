//! What can be asked for? All addresses of the server, in two tables: one for people, one for programs.
//!
//! What programs may ask is described in `openapi.json`; a test holds the two together.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use crawl::Status;

use crate::dashboard::{self, Order};
use crate::desk::Desk;
use crate::failure::Failure;
use crate::frame::{Frame, Part};
use crate::guard::guard;
use crate::{
    about, assets, cached, finding, login, metrics, reports, results, similar, site, sites, snapshots,
};

/// Largest form or question.
const MOST_BODY_BYTES: usize = 16 << 10;
const OPENAPI: &str = include_str!("../assets/openapi.json");

/// Path, method and who answers.
type Row = (&'static str, &'static str, MethodRouter<Arc<Desk>>);

/// Whether a program asks for what lies at a path.
pub(crate) fn is_for_programs(path: &str) -> bool {
    path.starts_with("/api/") || ["/metrics", "/health", "/stream"].contains(&path)
}

/// What answers requests.
pub(crate) fn router(desk: &Arc<Desk>) -> Router {
    let mut router = Router::new();
    for (path, _, answer) in pages().into_iter().chain(interface()) {
        router = router.route(path, answer);
    }
    router
        .merge(stream::router(desk.folder(), stream::StreamLimits::default()))
        .fallback(|| async { Failure::NotThere("there is no such page".to_owned()) })
        .method_not_allowed_fallback(|| async {
            Failure::WrongQuestion("this address is asked in another way".to_owned())
        })
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .layer(from_fn_with_state(Arc::clone(desk), guard))
        .layer(from_fn_with_state(Arc::clone(desk), put_into_words))
        .with_state(Arc::clone(desk))
}

#[rustfmt::skip]
fn pages() -> Vec<Row> {
    vec![
        ("/", "get", get(results::html)),
        ("/cached", "get", get(cached::html)),
        ("/cached/copy", "get", get(cached::copy)),
        ("/cached/file", "get", get(cached::file)),
        ("/page", "get", get(about::html)),
        ("/similar", "get", get(similar::html)),
        ("/site", "get", get(site::html)),
        ("/sites", "get", get(sites::html)),
        ("/dashboard", "get", get(dashboard::html)),
        ("/dashboard/live", "get", get(dashboard::live)),
        ("/dashboard/pause", "post", steer(Order::Pause)),
        ("/dashboard/resume", "post", steer(Order::Resume)),
        ("/dashboard/stop", "post", steer(Order::Stop)),
        ("/dashboard/rate", "post", steer(Order::Rate)),
        ("/report", "get", get(reports::html)),
        ("/report/whole", "get", get(reports::whole)),
        ("/report/data/{name}", "get", get(reports::data)),
        ("/snapshots", "get", get(snapshots::html)),
        ("/snapshots/keep", "post", post(snapshots::keep)),
        ("/snapshots/let-go", "post", post(snapshots::let_go)),
        ("/login", "get", get(login::html).post(login::show)),
        ("/assets/{name}", "get", get(assets::file)),
    ]
}

#[rustfmt::skip]
fn interface() -> Vec<Row> {
    vec![
        ("/api/v1/openapi.json", "get", get(openapi)),
        ("/api/v1/status", "get", get(status)),
        ("/api/v1/search", "get", get(finding::api)),
        ("/api/v1/page", "get", get(about::api)),
        ("/api/v1/similar", "get", get(similar::api)),
        ("/api/v1/site", "get", get(site::api)),
        ("/api/v1/sites", "get", get(sites::api)),
        ("/api/v1/snapshots", "get", get(snapshots::api)),
        ("/api/v1/crawl", "get", get(dashboard::api)),
        ("/api/v1/crawl/pause", "post", steer_api(Order::Pause)),
        ("/api/v1/crawl/resume", "post", steer_api(Order::Resume)),
        ("/api/v1/crawl/stop", "post", steer_api(Order::Stop)),
        ("/api/v1/crawl/rate", "post", steer_api(Order::Rate)),
        ("/metrics", "get", get(metrics::text)),
        ("/health", "get", get(health)),
    ]
}

fn steer(order: Order) -> MethodRouter<Arc<Desk>> {
    post(
        move |State(desk): State<Arc<Desk>>, form: Bytes| async move { dashboard::steer(&desk, order, &form) },
    )
}

fn steer_api(order: Order) -> MethodRouter<Arc<Desk>> {
    post(move |State(desk): State<Arc<Desk>>, form: Bytes| dashboard::steer_api(desk, order, form))
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn status(State(desk): State<Arc<Desk>>) -> Result<Json<Status>, Failure> {
    desk.work(|desk| Ok(Json(Status::clone(&*desk.counted.newest(desk)?)))).await
}

/// Whether it can answer: that the collection can be read. Who asks need not know the token, and learns nothing else.
async fn health(State(desk): State<Arc<Desk>>) -> Response {
    match desk.glance(|desk| desk.snapshot().map(drop)).await {
        Ok(()) => Json(serde_json::json!({ "healthy": true })).into_response(),
        Err(failure) => (failure.status(), Json(serde_json::json!({ "healthy": false }))).into_response(),
    }
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailureView {
    frame: Frame,
    heading: &'static str,
    sentence: String,
}

/// Makes words of a failure, or JSON, by who has asked.
async fn put_into_words(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_person = !is_for_programs(path);
    let mut response = next.run(request).await;
    let Some(failure) = response.extensions_mut().remove::<Failure>() else { return response };
    let (status, headers) = (failure.status(), std::mem::take(response.headers_mut()));
    let mut told = if is_person { words(&desk, &failure) } else { Json(failure.answer()).into_response() };
    *told.status_mut() = status;
    for (name, value) in headers {
        if let Some(name) = name.filter(|name| name != header::CONTENT_LENGTH) {
            told.headers_mut().insert(name, value);
        }
    }
    told
}

fn words(desk: &Desk, failure: &Failure) -> Response {
    let heading = match failure {
        Failure::NotThere(_) => "Not there",
        Failure::WrongQuestion(_) | Failure::WrongQuery { .. } => "That cannot be asked",
        Failure::Forbidden(_) | Failure::WhoAreYou | Failure::WrongName(_) => "That may not be asked",
        Failure::NotReady(_) => "Not yet",
        Failure::Busy | Failure::TooLong => "Too much at once",
        Failure::Broken(_) => "Something is broken",
    };
    // Who may not ask learns no more than that.
    let frame = Frame::nameless(desk, Part::Other, heading);
    let view = FailureView { frame, heading, sentence: crate::shown::shown(&failure.to_string(), 600) };
    view.render().map_or_else(|_| failure.to_string().into_response(), |html| Html(html).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_programs_may_ask_is_described_and_nothing_else() {
        let described: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
        let mut in_file = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            in_file.extend(methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone())));
        }
        let row = |(path, method, _): Row| (path.to_owned(), method.to_owned());
        // That one is of the crate `stream`.
        let mut answered = BTreeSet::from([("/stream".to_owned(), "get".to_owned())]);
        answered.extend(interface().into_iter().map(row));
        assert_eq!(in_file, answered);
    }
}
