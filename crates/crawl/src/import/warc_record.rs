//! Conversion of WARC records to fetched pages.
//!
//! - `response` records of http and https are imported as they are.
//! - `resource` records have no HTTP head; they get a synthesized one, which is marked as such.
//! - `conversion` records of plain text (WET files) are pages of which only the text is stored; their heads are synthesized too.
//! - `revisit` records have no body. One that refers to the same URL, or has the profile `server-not-modified`, is a fetch of an
//!   unchanged page. One that refers to another URL is skipped, because its body may be in any file; except a redirect, which
//!   needs no body.
//! - All other types are not pages.

use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::http_head::HttpHead;
use model::{CanonicalUrl, Scheme, UrlRules};
use warc::{WarcRecord, WarcType};

/// Record as the import sees it.
pub(crate) enum ImportRecord {
    /// Page to import.
    Page(FetchedPage),
    /// Page that cannot be imported.
    Unsupported,
    /// Record of another type.
    NotAPage,
}

/// Converts a record.
pub(crate) fn read_record(record: WarcRecord, rules: &UrlRules) -> ImportRecord {
    let fetched = match record.header.warc_type() {
        WarcType::Response => response(record, rules),
        WarcType::Resource => resource(record, "", rules),
        WarcType::Conversion if is_text(&record) => resource(record, "; charset=utf-8", rules),
        WarcType::Revisit => revisit(&record, rules),
        _ => return ImportRecord::NotAPage,
    };
    fetched.map_or(ImportRecord::Unsupported, ImportRecord::Page)
}

fn response(record: WarcRecord, rules: &UrlRules) -> Option<FetchedPage> {
    let status = HttpHead(record.head()).status()?;
    let visit = visit(&record, rules)?;
    let (head, body) = record.into_head_and_body();
    Some(FetchedPage { status, head, body, ..visit })
}

/// Whether a record holds only the text of a page.
fn is_text(record: &WarcRecord) -> bool {
    record.header.get("Content-Type").is_some_and(|mime_type| mime_type.trim() == "text/plain")
}

fn resource(record: WarcRecord, charset: &str, rules: &UrlRules) -> Option<FetchedPage> {
    let mime_type = record.header.get("Content-Type")?;
    let kind = record.header.warc_type().as_str();
    let length = record.block().len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {mime_type}{charset}\r\nContent-Length: {length}\r\n\
         X-Crawler-Record: {kind}\r\n\r\n"
    );
    let visit = visit(&record, rules)?;
    Some(FetchedPage { status: 200, head: head.into(), body: record.into_block(), ..visit })
}

fn revisit(record: &WarcRecord, rules: &UrlRules) -> Option<FetchedPage> {
    let visit = visit(record, rules)?;
    let not_modified =
        record.header.get("WARC-Profile").is_some_and(|profile| profile.contains("server-not-modified"));
    let original = record.header.get("WARC-Refers-To-Target-URI");
    let same = original.is_none_or(|url| rules.canonical(url).is_ok_and(|url| url == visit.url));
    let head = record.head();
    let status = match HttpHead(head).status() {
        _ if not_modified || same => 304,
        Some(status) if FetchOutcome::from_status(status) == FetchOutcome::Redirect => status,
        _ => return None,
    };
    Some(FetchedPage { status, head: head.to_vec(), ..visit })
}

/// Fetch with the values of the record header, without head and body.
fn visit(record: &WarcRecord, rules: &UrlRules) -> Option<FetchedPage> {
    let header = &record.header;
    let fields = header.fields.iter();
    let protocols = fields.filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Protocol"));
    Some(FetchedPage {
        url: web_url(header.url()?, rules)?,
        fetched_ms: header.date_ms()?,
        address: header.get("WARC-IP-Address").and_then(|address| address.trim().parse().ok()),
        protocols: protocols.take(MAX_PROTOCOLS).map(|(_, value)| value.clone()).collect(),
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

const MAX_PROTOCOLS: usize = 8;

fn web_url(url: &str, rules: &UrlRules) -> Option<CanonicalUrl> {
    rules.canonical(url).ok().filter(|url| matches!(url.scheme(), Scheme::Http | Scheme::Https))
}
