//! Cached page: a stored version of a page in a sandboxed frame, below a banner. Versions whose robots directives forbid copies are
//! not shown.
//!
//! The frame contains the [sanitized](crate::sanitize::sanitizer) HTML. Its own content security policy forbids scripts, forms and
//! all requests, and gives it an opaque origin: it can access neither this server nor the site it came from.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{Html, IntoResponse, Response};
use model::UrlRules;
use parse::ContentKind;
use report::human;

use crate::pages::layout::{Layout, NavItem, page};
use crate::pages::page_ref::PageRef;
use crate::pages::search_request::highlighter;
use crate::sanitize::display_text;
use crate::sanitize::sanitizer::{FindMarks, SanitizedHtml, preformatted, sanitize};
use crate::sanitize::stored_page::StoredVersion;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;
use crate::state::clock::now_ms;
use crate::state::params::{Params, url_with_query};

/// Policy of the frame. A click may replace the top page: links lead to other cached pages.
const FRAME_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                            frame-ancestors 'self'; sandbox allow-top-navigation-by-user-activation";
/// Policy of a download.
const FILE_POLICY: &str = "default-src 'none'; sandbox";

const STYLE: &str = include_str!("../../assets/cached.css");

#[derive(Template)]
#[template(path = "cached.html")]
struct View {
    layout: Layout,
    url: String,
    /// Link to the page itself; only http and https.
    original: Option<String>,
    when: String,
    details: String,
    /// URL of the frame; `None` for content that is not displayed.
    content: Option<String>,
    file: String,
    note: String,
}

pub(crate) async fn html(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Html<String>, ApiError> {
    state.run_blocking(move |state| page(&view(state, &params)?)).await
}

fn read(state: &AppState, params: &Params) -> Result<(model::CanonicalUrl, StoredVersion), ApiError> {
    let snapshot = state.snapshot()?;
    let (url, page) = PageRef::resolve_known(state, &snapshot, params)?;
    let at_ms = params.number("at", 0..=i64::MAX)?;
    let agent = &state.settings.crawl.robots.agent;
    let stored = StoredVersion::read(&snapshot, page, url.as_str(), at_ms, agent)?;
    let stored = stored.ok_or_else(|| {
        let url = display_text::url(url.as_str());
        ApiError::NotFound(format!(
            "no stored version of {url}: it was not fetched, or its versions were deleted"
        ))
    })?;
    let robots = stored.document(&url, agent).robots_directives;
    if let Some(directive) = robots.forbids_copy((now_ms() / 1_000) as i64) {
        return Err(ApiError::Forbidden(format!(
            "no cached copy of {}: the page forbids it (robots directive {directive})",
            display_text::url(url.as_str())
        )));
    }
    Ok((url, stored))
}

fn view(state: &AppState, params: &Params) -> Result<View, ApiError> {
    let (url, stored) = read(state, params)?;
    let params = ["at", "q", "mode"].map(|name| (name, params.get(name).unwrap_or_default()));
    let params: Vec<(&str, &str)> = [("url", url.as_str())].into_iter().chain(params).collect();
    let is_text = stored.kind != ContentKind::Other;
    let mut note = String::new();
    if !stored.is_decoded {
        note.push_str("Invalid content encoding. ");
    } else if !stored.is_complete {
        note.push_str("Truncated. ");
    }
    if let Some(status) = stored.status.filter(|status| *status != 200) {
        note.push_str(&format!("HTTP {status}. "));
    }
    let mime_type =
        display_text::sanitize_line(stored.content_type.split(';').next().unwrap_or_default(), 60);
    if !is_text {
        note.push_str(&format!("{mime_type}, {}; not displayed.", human::bytes(stored.body.len() as u64)));
    }
    Ok(View {
        layout: Layout::new(
            state,
            NavItem::Other,
            &format!("Cached page {}", display_text::url(url.as_str())),
        ),
        url: display_text::url(url.as_str()),
        original: Some(url.as_str().to_owned()).filter(|url| display_text::is_web_url(url)),
        when: human::timestamp(stored.fetched_ms),
        details: url_with_query("/page", &[("url", url.as_str())]),
        content: is_text.then(|| url_with_query("/cached/content", &params)),
        file: url_with_query("/cached/file", &params),
        note,
    })
}

/// Content of the frame.
pub(crate) async fn content(
    State(state): State<Arc<AppState>>,
    params: Params,
) -> Result<Response, ApiError> {
    state.run_blocking(move |state| {
        let (url, stored) = read(state, &params)?;
        let words = highlighter(state, &params).unwrap_or_default();
        let mark = |text: &str| words.find(text);
        let sanitized = match stored.kind {
            ContentKind::Html => {
                sanitize_page(&state.settings.crawl.gathering.rules, &url, &stored.text(&url), &mark)
            }
            _ => preformatted(&stored.text(&url), &mark),
        };
        let end = if sanitized.is_truncated { "<p class=\"not-loaded\">Truncated here.</p>" } else { "" };
        let html = format!(
            "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>Cached page</title><style>{STYLE}</style></head>\
             <body>{}{end}</body></html>",
            sanitized.html
        );
        let policy = [(header::CONTENT_SECURITY_POLICY, FRAME_POLICY)];
        Ok((policy, Html(html)).into_response())
    })
    .await
}

/// Sanitizes a stored page; its links lead to cached pages, and `mark` finds the words to highlight.
pub(crate) fn sanitize_page(
    rules: &UrlRules,
    url: &model::CanonicalUrl,
    html: &str,
    mark: &FindMarks<'_>,
) -> SanitizedHtml {
    let join = |base: Option<&str>, reference: &str| {
        let base = base.and_then(|base| rules.join(url, base).ok());
        let target = rules.join(base.as_ref().unwrap_or(url), reference).ok()?;
        Some(target.as_str().to_owned())
    };
    sanitize(html, &|url| url_with_query("/cached", &[("url", url)]), &join, mark)
}

/// The stored body as a download.
pub(crate) async fn file(State(state): State<Arc<AppState>>, params: Params) -> Result<Response, ApiError> {
    state
        .run_blocking(move |state| {
            let (url, stored) = read(state, &params)?;
            let disposition = format!("attachment; filename=\"{}\"", file_name(url.path()));
            let headers: [(HeaderName, &str); 3] = [
                (header::CONTENT_TYPE, "application/octet-stream"),
                (header::CONTENT_SECURITY_POLICY, FILE_POLICY),
                (header::CONTENT_DISPOSITION, &disposition),
            ];
            Ok((headers, stored.body).into_response())
        })
        .await
}

/// Last segment of a path, reduced to characters that are valid in file names of all systems.
fn file_name(path: &str) -> String {
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("page");
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || "-_.".contains(*character);
    let name: String = last.chars().filter(is_plain).take(80).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "page".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_contain_only_safe_characters() {
        let names = ["/a/b.pdf", "/", "/x/%22;evil\"", "/../..", "/.bashrc"].map(file_name);
        assert_eq!(names, ["b.pdf", "page", "22evil", "page", "bashrc"]);
    }
}
