//! Access control: middleware that checks host, origin, token and CSRF token of every request.
//!
//! - Host: the Host header must be `localhost`, an IP address or an allowed host name. This prevents DNS rebinding, by which a
//!   page of another site resolves its own name to this machine and may then read the responses.
//! - Origin: pages of other sites may link to this server, but cannot embed its responses or send forms to it (Fetch Metadata).
//! - Authentication: if the user has set a token, every request needs it, as `Authorization: Bearer` or as the session cookie that
//!   a login sets.
//! - Changes always need the token, also a generated one: either as `Authorization: Bearer`, or as session cookie together with
//!   the CSRF token of a form.
//!
//! Handlers need no checks of their own: rejected requests do not reach them.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tokio::time::timeout;
use url::form_urlencoded;

use crate::paths::is_api_path;
use crate::state::api_error::ApiError;
use crate::state::app_state::AppState;

/// Form field of the CSRF token.
pub(crate) const CSRF_FIELD: &str = "csrf_token";
/// Header of the CSRF token, for scripts.
const CSRF_HEADER: &str = "x-weir-csrf-token";
/// Maximum size of a form.
const MAX_BODY_BYTES: usize = 16 << 10;
/// Timeout from the request headers to the response headers.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Policy of all pages: only resources of this server, no inline script or style.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Middleware that rejects unauthorised requests and adds security headers to every response.
pub(crate) async fn access_control(
    State(state): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let response = async {
        match authorize(&state, request).await {
            Ok(request) => next.run(request).await,
            Err(rejection) => rejection,
        }
    };
    let mut response = match timeout(REQUEST_TIMEOUT, response).await {
        Ok(response) => response,
        Err(_) => ApiError::Timeout(REQUEST_TIMEOUT.as_secs()).into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would send `Origin: null` with forms, and check_csrf would reject them.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Adds the session cookie to a response.
pub(crate) fn set_cookie(state: &AppState, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&state.secrets.set_cookie()) {
        headers.insert(header::SET_COOKIE, value);
    }
}

/// Returns the request if it is allowed, else the response that rejects it.
async fn authorize(state: &AppState, request: Request) -> Result<Request, Response> {
    check_host(state, &request).map_err(IntoResponse::into_response)?;
    check_fetch_site(&request).map_err(IntoResponse::into_response)?;
    let path = request.uri().path();
    let is_public = path == "/health" || path == "/login" || path.starts_with("/assets/");
    if !state.secrets.token_is_generated && !is_public && !is_authenticated(state, request.headers()) {
        let is_page = !is_api_path(path) && request.method() == Method::GET;
        return Err(if is_page {
            Redirect::to("/login").into_response()
        } else {
            ApiError::Unauthorized.into_response()
        });
    }
    // A login has no cookie yet, and changes nothing on the server.
    if matches!(*request.method(), Method::GET | Method::HEAD)
        || has_bearer_token(state, request.headers())
        || path == "/login"
    {
        return Ok(request);
    }
    check_csrf(state, request).await.map_err(IntoResponse::into_response)
}

fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the client has sent the token or the session cookie.
pub(crate) fn is_authenticated(state: &AppState, headers: &HeaderMap) -> bool {
    has_bearer_token(state, headers) || has_cookie(state, headers)
}

fn has_bearer_token(state: &AppState, headers: &HeaderMap) -> bool {
    let sent = header_text(headers, "authorization").and_then(|line| line.strip_prefix("Bearer "));
    sent.is_some_and(|sent| state.secrets.token.is(sent.trim()))
}

fn has_cookie(state: &AppState, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.into_iter().any(|line| state.secrets.is_in_cookies(line))
}

fn check_host(state: &AppState, request: &Request) -> Result<(), ApiError> {
    let mut headers = request.headers().get_all(header::HOST).iter();
    let in_header = headers.next().map(|value| value.to_str().unwrap_or_default());
    // RFC 9112, section 3.2: a proxy in front of the server might use the other one.
    if headers.next().is_some() {
        return Err(ApiError::BadRequest("more than one Host header".to_owned()));
    }
    // A request line with an absolute URL names a host too.
    let in_url = request.uri().authority().map(axum::http::uri::Authority::as_str);
    let mut names = in_header.into_iter().chain(in_url).map(host_of).peekable();
    if names.peek().is_none() {
        return Err(ApiError::UnknownHost(String::new()));
    }
    match names.find(|name| !is_allowed_host(state, name)) {
        Some(name) => Err(ApiError::UnknownHost(crate::sanitize::display_text::sanitize_line(name, 100))),
        None => Ok(()),
    }
}

fn is_allowed_host(state: &AppState, name: &str) -> bool {
    let is_ip = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    is_ip
        || name.eq_ignore_ascii_case("localhost")
        || state.settings.allowed_hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

/// Rejects requests that a page of another site caused, except for navigation by a link.
fn check_fetch_site(request: &Request) -> Result<(), ApiError> {
    let headers = request.headers();
    let is = |name, value: &str| header_text(headers, name) == Some(value);
    let is_cross_site = is("sec-fetch-site", "cross-site") || is("sec-fetch-site", "same-site");
    let is_navigation = request.method() == Method::GET
        && is("sec-fetch-mode", "navigate")
        && header_text(headers, "sec-fetch-dest").is_none_or(|purpose| purpose == "document");
    if is_cross_site && !is_navigation {
        return Err(ApiError::Forbidden("cross-site request refused".to_owned()));
    }
    Ok(())
}

/// The host of an authority, without the port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    }
}

/// Checks that a request that makes a change comes from a page of this server.
async fn check_csrf(state: &AppState, request: Request) -> Result<Request, ApiError> {
    let headers = request.headers();
    let is_same_origin = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == header_text(headers, "host")
    };
    let is_cross_origin = header_text(headers, "origin").is_some_and(|origin| !is_same_origin(origin))
        || header_text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin");
    if is_cross_origin || !has_cookie(state, headers) {
        return Err(ApiError::Forbidden(
            "changes need the token: log in with the URL printed by the server at start, or send `Authorization: Bearer TOKEN`"
                .to_owned(),
        ));
    }
    let in_header = header_text(headers, CSRF_HEADER).is_some_and(|sent| state.secrets.csrf_token.is(sent));
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY_BYTES)
        .await
        .map_err(|_| ApiError::BadRequest(format!("form too large (maximum {MAX_BODY_BYTES} bytes)")))?;
    let in_body = || {
        let mut fields = form_urlencoded::parse(&body);
        fields.any(|(name, value)| name == CSRF_FIELD && state.secrets.csrf_token.is(&value))
    };
    if !in_header && !in_body() {
        return Err(ApiError::Forbidden("form token expired; reload the page".to_owned()));
    }
    Ok(Request::from_parts(head, Body::from(body)))
}
