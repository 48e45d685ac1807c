//! Conversion of WARC records to fetched pages.
//!
//! - `response` records of http and https are imported as they are.
//! - `resource` records have no HTTP head; they get a synthesized one, which is marked as such.
//! - `conversion` records of plain text (WET files) are pages of which only the text is stored; their heads are synthesized too.
//! - `revisit` records have no body. One with the profile `server-not-modified` is a fetch of an unchanged page. Of the others
//!   the body is looked up; without it, one that refers to the same URL is a fetch of an unchanged page, a redirect needs no
//!   body, and the rest is skipped.
//! - All other types are not pages.

use harvest::item::fetch_outcome::FetchOutcome;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::http_head::HttpHead;
use model::{CanonicalUrl, Scheme, UrlRules};
use store::StoredPage;
use warc::{WarcRecord, WarcType};

/// Record as the import sees it.
pub(crate) enum ImportRecord {
    /// Page to import.
    Page(FetchedPage),
    /// Page whose body is in another record.
    Revisit(WarcRecord),
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
        WarcType::Revisit if is_not_modified(&record) => not_modified(&record, rules),
        WarcType::Revisit => return ImportRecord::Revisit(record),
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

/// Whether a revisit record stands for a 304 response.
fn is_not_modified(record: &WarcRecord) -> bool {
    let profile = record.header.get("WARC-Profile").unwrap_or_default();
    profile.contains("server-not-modified") || HttpHead(record.head()).status() == Some(304)
}

fn not_modified(record: &WarcRecord, rules: &UrlRules) -> Option<FetchedPage> {
    Some(FetchedPage { status: 304, head: record.head().to_vec(), ..visit(record, rules)? })
}

/// Converts a revisit record and the page with its body.
pub(crate) fn read_revisit(record: &WarcRecord, original: &StoredPage, rules: &UrlRules) -> ImportRecord {
    let head = if record.head().is_empty() { original.head() } else { record.head() };
    let fetched = HttpHead(head).status().zip(visit(record, rules)).map(|(status, visit)| FetchedPage {
        status,
        head: head.to_vec(),
        body: original.body().into_owned(),
        ..visit
    });
    fetched.map_or(ImportRecord::Unsupported, ImportRecord::Page)
}

/// Converts a revisit record whose body was not found.
pub(crate) fn revisit_without_body(record: &WarcRecord, rules: &UrlRules) -> ImportRecord {
    let Some(visit) = visit(record, rules) else { return ImportRecord::Unsupported };
    let original = record.header.get("WARC-Refers-To-Target-URI");
    let same = original.is_none_or(|url| rules.canonical(url).is_ok_and(|url| url == visit.url));
    let head = record.head().to_vec();
    match HttpHead(&head).status() {
        _ if same => ImportRecord::Page(FetchedPage { status: 304, head, ..visit }),
        Some(status) if FetchOutcome::from_status(status) == FetchOutcome::Redirect => {
            ImportRecord::Page(FetchedPage { status, head, ..visit })
        }
        _ => ImportRecord::Unsupported,
    }
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
