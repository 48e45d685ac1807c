//! Who may ask what?
//!
//! - The name in the request must be one of ours: a page of the Web can let its own name lead to this machine, and would
//!   be allowed to read what we answer under that name.
//! - Pages of other sites may lead here, but neither load anything of ours nor send us anything.
//! - Where the user has set a token, it must be known: as `Authorization: Bearer`, or by the cookie that showing it once has
//!   brought.
//! - What changes something always needs a token, be it one that was made up at the start: from a page of ours, with the cookie
//!   and the secret of our forms, or from a program that sends the token itself.
//!
//! Whoever answers need not think of any of this: requests that are refused do not reach them.

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

use crate::desk::Desk;
use crate::failure::Failure;
use crate::routes::is_for_programs;

/// The name of the secret in forms.
pub(crate) const FORM_FIELD: &str = "secret";
/// The same as a header, for scripts of our pages.
const FORM_HEADER: &str = "x-weir-secret";
/// Largest form.
const MOST_BODY_BYTES: usize = 16 << 10;
/// From the head of a request to the answer.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// What may be loaded and done by a page of ours: nothing but what we send, and no script that is not a file.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Lets a request through, or not; puts on every answer what browsers should obey.
pub(crate) async fn guard(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let answer = async {
        match admit(&desk, request).await {
            Ok(request) => next.run(request).await,
            Err(refusal) => refusal,
        }
    };
    let mut response = match timeout(REQUEST_TIME, answer).await {
        Ok(response) => response,
        Err(_) => Failure::TooLong.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without any referrer browsers would not tell with a form where it comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Gives a browser the cookie.
pub(crate) fn set_cookie(desk: &Desk, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&desk.secrets.set_cookie()) {
        headers.insert(header::SET_COOKIE, value);
    }
}

/// The request, if it may be answered; else what is said instead.
async fn admit(desk: &Desk, request: Request) -> Result<Request, Response> {
    check_name(desk, &request).map_err(IntoResponse::into_response)?;
    check_source(&request).map_err(IntoResponse::into_response)?;
    let path = request.uri().path();
    let is_open = path == "/health" || path == "/login" || path.starts_with("/assets/");
    if !desk.secrets.is_made_up && !is_open && !is_known(desk, request.headers()) {
        let is_person = !is_for_programs(path) && request.method() == Method::GET;
        return Err(if is_person {
            Redirect::to("/login").into_response()
        } else {
            Failure::WhoAreYou.into_response()
        });
    }
    // Who logs in has no cookie yet, and changes nothing here.
    if matches!(*request.method(), Method::GET | Method::HEAD)
        || knows_token(desk, request.headers())
        || path == "/login"
    {
        return Ok(request);
    }
    check_form(desk, request).await.map_err(IntoResponse::into_response)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether who asks has shown the token.
pub(crate) fn is_known(desk: &Desk, headers: &HeaderMap) -> bool {
    knows_token(desk, headers) || has_cookie(desk, headers)
}

fn knows_token(desk: &Desk, headers: &HeaderMap) -> bool {
    let sent = text(headers, "authorization").and_then(|line| line.strip_prefix("Bearer "));
    sent.is_some_and(|sent| desk.secrets.token.is(sent.trim()))
}

fn has_cookie(desk: &Desk, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.into_iter().any(|line| desk.secrets.is_in_cookies(line))
}

fn check_name(desk: &Desk, request: &Request) -> Result<(), Failure> {
    let authority = text(request.headers(), "host").or(request.uri().host()).unwrap_or_default();
    let name = host_of(authority);
    let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let is_known = name.eq_ignore_ascii_case("localhost")
        || desk.settings.names.iter().any(|own| own.eq_ignore_ascii_case(name));
    if is_address || is_known {
        return Ok(());
    }
    Err(Failure::WrongName(crate::shown::shown(name, 100)))
}

/// Whether a page of another site asks for something, other than that somebody is led here.
fn check_source(request: &Request) -> Result<(), Failure> {
    let headers = request.headers();
    let says = |name, value: &str| text(headers, name).is_some_and(|said| said == value);
    let is_foreign = says("sec-fetch-site", "cross-site") || says("sec-fetch-site", "same-site");
    let is_led_here = request.method() == Method::GET
        && says("sec-fetch-mode", "navigate")
        && text(headers, "sec-fetch-dest").is_none_or(|purpose| purpose == "document");
    if is_foreign && !is_led_here {
        return Err(Failure::Forbidden("pages of other sites may link to this server, no more".to_owned()));
    }
    Ok(())
}

/// A host without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    }
}

/// Whether a request that changes something comes from a page of ours.
async fn check_form(desk: &Desk, request: Request) -> Result<Request, Failure> {
    let headers = request.headers();
    let is_ours = |origin: &str| {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        authority.is_some() && authority == text(headers, "host")
    };
    let from_elsewhere = text(headers, "origin").is_some_and(|origin| !is_ours(origin))
        || text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin");
    if from_elsewhere || !has_cookie(desk, headers) {
        return Err(Failure::Forbidden(
            "this changes something, and needs the token: log in at the address that the server told when it began; \
             programs send `Authorization: Bearer TOKEN`"
                .to_owned(),
        ));
    }
    let in_header = text(headers, FORM_HEADER).is_some_and(|sent| desk.secrets.form.is(sent));
    let (head, body) = request.into_parts();
    let body = to_bytes(body, MOST_BODY_BYTES).await.map_err(|_| {
        Failure::WrongQuestion(format!("a form may have {MOST_BODY_BYTES} bytes, and this one has more"))
    })?;
    let in_body = || {
        let mut fields = form_urlencoded::parse(&body);
        fields.any(|(name, value)| name == FORM_FIELD && desk.secrets.form.is(&value))
    };
    if !in_header && !in_body() {
        return Err(Failure::Forbidden(
            "this form is of another run of the server; load the page again".to_owned(),
        ));
    }
    Ok(Request::from_parts(head, Body::from(body)))
}
