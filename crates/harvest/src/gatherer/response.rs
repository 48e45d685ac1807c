//! Description of a response by its head and the length of its body, without its content.

use std::net::IpAddr;

use model::{CanonicalUrl, Reason, Truncation, UrlClass};
use parse::{LinkKind, parse_date};
use xxhash_rust::xxh3::xxh3_64;

use crate::item::fetch_outcome::FetchOutcome;
use crate::item::gathered_page::{GatheredLink, GatheredLinks, GatheredPage, LinkTarget, Span};
use crate::item::http_head::HttpHead;
use crate::settings::gather_settings::GatherSettings;

/// Maximum lengths of strings in tables.
pub(crate) const MAX_INVALID_URL_BYTES: usize = 256;
const MAX_NAME_BYTES: usize = 128;

/// Response to a page request, or the fact that there was none.
pub(crate) struct ResponseParts<'r> {
    pub(crate) url: CanonicalUrl,
    pub(crate) fetched_ms: i64,
    pub(crate) address: Option<IpAddr>,
    /// HTTP status code; 0 for no response.
    pub(crate) status: u16,
    pub(crate) outcome: FetchOutcome,
    /// Protocols, one name per layer.
    pub(crate) protocols: &'r [String],
    /// Status line and header fields as received.
    pub(crate) head: &'r [u8],
    pub(crate) body: &'r [u8],
    pub(crate) failure: Option<Reason>,
    pub(crate) truncated: Option<Truncation>,
    pub(crate) latency_ms: Option<u32>,
    pub(crate) duration_ms: Option<u32>,
}

/// Describes a response. The page has neither a record nor a document; its only link is the target of a redirect.
pub(crate) fn describe_response(settings: &GatherSettings, response: ResponseParts<'_>) -> GatheredPage {
    let (head, body) = (HttpHead(response.head), response.body);
    let mut gathered = GatheredPage {
        dynamic: response.url.class(&settings.scope.extensions) == UrlClass::Dynamic,
        url: response.url,
        fetched_ms: response.fetched_ms,
        address: response.address,
        status: response.status,
        outcome: response.outcome,
        failure: response.failure,
        latency_ms: response.latency_ms,
        duration_ms: response.duration_ms,
        truncated: response.truncated,
        http_version: http_version(response.protocols, head),
        server: head.value("Server").map(|name| cut(&name, MAX_NAME_BYTES)),
        mime_declared: head.value("Content-Type").as_deref().and_then(media_type),
        content_bytes: body.len() as u64,
        content_hash: if body.is_empty() { 0 } else { xxh3_64(body) },
        modified_s: last_modified_s(head),
        redirect: None,
        record: None,
        document: None,
        links: GatheredLinks::default(),
        feed_entries: Vec::new(),
    };
    if response.outcome == FetchOutcome::Redirect {
        read_redirect(settings, head, &mut gathered);
    }
    gathered
}

fn read_redirect(settings: &GatherSettings, head: HttpHead<'_>, gathered: &mut GatheredPage) {
    let Some(location) = head.value("Location") else { return };
    let target = match settings.rules.join(&gathered.url, &location) {
        Ok(url) => {
            gathered.redirect = Some(url.as_str().to_owned());
            link_target(settings, &url, url.site() != gathered.url.site(), 0, &mut gathered.links)
        }
        Err(_) => LinkTarget::Unfollowed(gathered.links.store_text(&location, MAX_INVALID_URL_BYTES), None),
    };
    let redirected = |url: &str| settings.rules.canonical(url).ok();
    let internal = gathered
        .redirect
        .as_deref()
        .and_then(redirected)
        .is_some_and(|url| url.host() == gathered.url.host());
    gathered.links.all.push(GatheredLink {
        target,
        rel: Span::default(),
        anchor: Span::default(),
        kind: LinkKind::Redirect,
        context: 0,
        position: 0.0,
        internal,
    });
}

/// HTTP version. The stored head of an HTTP/2 response is written in the form of HTTP/1.1, so that the protocols decide.
fn http_version(protocols: &[String], head: HttpHead<'_>) -> Option<String> {
    let by_protocol = protocols.iter().find_map(|name| match name.to_ascii_lowercase().as_str() {
        "h2" | "h2c" | "http/2" | "http/2.0" => Some("2"),
        "h3" | "http/3" => Some("3"),
        _ => None,
    });
    by_protocol.or(head.version()).map(str::to_owned)
}

/// Target of a link: a URL out of scope is recorded with the reason and not followed.
pub(crate) fn link_target(
    settings: &GatherSettings,
    url: &CanonicalUrl,
    from_other_site: bool,
    relevance: u16,
    links: &mut GatheredLinks,
) -> LinkTarget {
    match settings.scope.check_link(url, from_other_site) {
        Ok(class) => links.follow(url, class == UrlClass::Dynamic, relevance),
        Err(reason) => LinkTarget::Unfollowed(links.store_text(url.as_str(), usize::MAX), Some(reason)),
    }
}

/// Last modification by the server. A server that always reports the current time generates its pages on request; its date
/// says nothing about changes.
fn last_modified_s(head: HttpHead<'_>) -> Option<u32> {
    let time = |name| head.value(name).as_deref().and_then(parse_date);
    let modified = time("Last-Modified").filter(|modified| *modified > 0)?;
    let is_just_now = time("Date").is_some_and(|now| modified >= now);
    u32::try_from(modified).ok().filter(|_| !is_just_now)
}

/// MIME type without parameters, in lower case: `text/html` for `Text/HTML; charset=utf-8`.
fn media_type(content_type: &str) -> Option<String> {
    let name = content_type.split(';').next().unwrap_or_default().trim();
    (!name.is_empty()).then(|| cut(&name.to_ascii_lowercase(), MAX_NAME_BYTES))
}

/// Cuts a text at a maximum length.
pub(crate) fn cut(text: &str, max_bytes: usize) -> String {
    text[..text.floor_char_boundary(max_bytes)].to_owned()
}
