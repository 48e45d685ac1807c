//! Which page is in a record that somebody else wrote, and how would it look if it had just been fetched?
//!
//! - `response` records of http and https are what is wanted.
//! - `resource` records have no head, for nobody kept it; they get one that says what is known, and that it was made up.
//! - `conversion` records of plain text (WET files) are pages of which only the text was kept; their heads are made up, too.
//! - `revisit` records have no body. One that refers to the same URL, or to a server's word that nothing has changed, is
//!   a visit that found the page as it was. One that refers to another URL is left out, for its body may be anywhere; but
//!   not a redirect, which needs none: many have the same few words, or nothing, for a body.
//! - All others are about pages, and none themselves.

use model::{CanonicalUrl, Scheme, UrlRules};
use store::{WarcKind, WarcRecord};

use crate::fetched::Fetched;
use crate::http_head::HttpHead;
use crate::outcome::Outcome;

/// What a record is for an import.
pub(crate) enum WarcPage {
    /// A page.
    Page(Fetched),
    /// It should be one, but cannot be taken.
    Unusable,
    /// Something else.
    NoPage,
}

/// Looks into a record.
pub(crate) fn warc_page(record: &WarcRecord, rules: &UrlRules) -> WarcPage {
    let fetched = match record.header.kind() {
        WarcKind::Response => response(record, rules),
        WarcKind::Resource => resource(record, "", rules),
        WarcKind::Conversion if is_text(record) => resource(record, "; charset=utf-8", rules),
        WarcKind::Revisit => revisit(record, rules),
        _ => return WarcPage::NoPage,
    };
    fetched.map_or(WarcPage::Unusable, WarcPage::Page)
}

fn response(record: &WarcRecord, rules: &UrlRules) -> Option<Fetched> {
    let head = record.head();
    Some(Fetched {
        status: HttpHead(head).status()?,
        head: head.to_vec(),
        body: record.body().into_owned(),
        ..visit(record, rules)?
    })
}

/// Whether a record has the text of a page and nothing else.
fn is_text(record: &WarcRecord) -> bool {
    record.header.get("Content-Type").is_some_and(|media_type| media_type.trim() == "text/plain")
}

fn resource(record: &WarcRecord, charset: &str, rules: &UrlRules) -> Option<Fetched> {
    let media_type = record.header.get("Content-Type")?;
    let kind = record.header.kind().name();
    let length = record.block().len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media_type}{charset}\r\nContent-Length: {length}\r\n\
         X-Crawler-Record: {kind}\r\n\r\n"
    );
    Some(Fetched { status: 200, head: head.into(), body: record.block().to_vec(), ..visit(record, rules)? })
}

fn revisit(record: &WarcRecord, rules: &UrlRules) -> Option<Fetched> {
    let visit = visit(record, rules)?;
    let not_modified =
        record.header.get("WARC-Profile").is_some_and(|profile| profile.contains("server-not-modified"));
    let original = record.header.get("WARC-Refers-To-Target-URI");
    let same = original.is_none_or(|url| rules.canonical(url).is_ok_and(|url| url == visit.url));
    let head = record.head();
    let status = match HttpHead(head).status() {
        _ if not_modified || same => 304,
        Some(status) if Outcome::of(status) == Outcome::Redirect => status,
        _ => return None,
    };
    Some(Fetched { status, head: head.to_vec(), ..visit })
}

/// What the header of a record says about the visit.
fn visit(record: &WarcRecord, rules: &UrlRules) -> Option<Fetched> {
    let header = &record.header;
    let fields = header.fields.iter();
    let protocols = fields.filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Protocol"));
    Some(Fetched {
        url: web_url(header.url()?, rules)?,
        fetched_ms: header.date_ms()?,
        address: header.get("WARC-IP-Address").and_then(|address| address.trim().parse().ok()),
        protocols: protocols.take(PROTOCOL_LIMIT).map(|(_, value)| value.clone()).collect(),
        status: 0,
        head: Vec::new(),
        body: Vec::new(),
        request: Vec::new(),
        failure: None,
        truncated: record.truncated(),
        latency_ms: None,
        duration_ms: None,
    })
}

const PROTOCOL_LIMIT: usize = 8;

fn web_url(url: &str, rules: &UrlRules) -> Option<CanonicalUrl> {
    rules.canonical(url).ok().filter(|url| matches!(url.scheme(), Scheme::Http | Scheme::Https))
}
