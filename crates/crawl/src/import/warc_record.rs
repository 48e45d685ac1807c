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

#[cfg(test)]
mod tests {
    use model::Truncation;

    use super::*;

    const URL: &str = "http://a.test/page";
    const HTTP: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhello";

    /// Converts a record with these header lines and block.
    fn read(fields: &str, block: &str) -> ImportRecord {
        let record = format!(
            "WARC/1.1\r\nWARC-Date: 2024-05-17T00:00:01Z\r\n{fields}Content-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        );
        read_record(WarcRecord::parse(record.into_bytes()).unwrap(), &UrlRules::default())
    }

    fn of_type(kind: &str, more: &str, block: &str) -> ImportRecord {
        read(&format!("WARC-Type: {kind}\r\nWARC-Target-URI: {URL}\r\n{more}"), block)
    }

    fn page(record: ImportRecord) -> FetchedPage {
        let ImportRecord::Page(page) = record else { panic!("not imported") };
        page
    }

    fn is_unsupported(record: &ImportRecord) -> bool {
        matches!(record, ImportRecord::Unsupported)
    }

    #[test]
    fn a_response_keeps_head_body_and_the_values_of_its_header() {
        let more = "Content-Type: application/http\r\nWARC-IP-Address: 192.0.2.7\r\nWARC-Protocol: h2\r\n\
                    WARC-Protocol: tls/1.3\r\nWARC-Truncated: time\r\n";
        let page = page(of_type("response", more, HTTP));
        assert_eq!((page.url.as_str(), page.status, page.fetched_ms), (URL, 200, 1_715_904_001_000));
        assert_eq!((&page.body[..], page.address), (&b"hello"[..], Some([192, 0, 2, 7].into())));
        assert!(page.head.starts_with(b"HTTP/1.1 200 OK") && page.head.ends_with(b"\r\n\r\n"));
        assert_eq!((page.protocols.len(), page.truncated), (2, Some(Truncation::Time)));
    }

    #[test]
    fn records_without_a_page_that_can_be_imported_are_unsupported() {
        let http = "Content-Type: application/http\r\n";
        for (fields, block) in [
            (format!("WARC-Type: response\r\n{http}"), HTTP),
            (format!("WARC-Type: response\r\nWARC-Target-URI: ftp://a.test/\r\n{http}"), HTTP),
            (format!("WARC-Type: response\r\nWARC-Target-URI: dns:a.test\r\n{http}"), "20240517 A 192.0.2.7"),
            (format!("WARC-Type: response\r\nWARC-Target-URI: {URL}\r\n{http}"), "no head"),
            (format!("WARC-Type: resource\r\nWARC-Target-URI: {URL}\r\n"), "without a type"),
        ] {
            assert!(is_unsupported(&read(&fields, block)), "{fields}");
        }
    }

    #[test]
    fn other_types_are_not_pages() {
        for kind in ["warcinfo", "request", "metadata", "continuation", "conversion", "of-the-future"] {
            let record = of_type(kind, "Content-Type: application/json\r\n", "{}");
            assert!(matches!(record, ImportRecord::NotAPage), "{kind}");
        }
    }

    #[test]
    fn resources_and_texts_get_a_synthesized_head() {
        let image = page(of_type("resource", "Content-Type: image/png\r\n", "pixels"));
        let head = String::from_utf8(image.head).unwrap();
        assert!(head.contains("Content-Type: image/png\r\n") && head.contains("X-Crawler-Record: resource"));
        assert_eq!((image.status, &image.body[..]), (200, &b"pixels"[..]));
        let text = page(of_type("conversion", "Content-Type: text/plain\r\n", "words"));
        let head = String::from_utf8(text.head).unwrap();
        assert!(head.contains("Content-Type: text/plain; charset=utf-8\r\n"), "{head}");
    }

    #[test]
    fn a_revisit_without_its_body_is_imported_if_the_page_is_unchanged_or_a_redirect() {
        let head = "HTTP/1.1 200 OK\r\n\r\n";
        let of_url =
            |url: &str| format!("WARC-Refers-To-Target-URI: {url}\r\nContent-Type: application/http\r\n");
        let without_body = |fields: &str, head: &str| {
            let ImportRecord::Revisit(record) = of_type("revisit", fields, head) else {
                panic!("no record with a body elsewhere")
            };
            revisit_without_body(&record, &UrlRules::default())
        };
        assert_eq!(page(without_body(&of_url(URL), head)).status, 304);
        assert!(is_unsupported(&without_body(&of_url("http://b.test/"), head)));
        let profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n";
        let not_modified = format!("{profile}{}", of_url("http://b.test/"));
        assert_eq!(page(of_type("revisit", &not_modified, head)).status, 304);
        let moved = "HTTP/1.1 301 Moved\r\nLocation: /c\r\n\r\n";
        assert_eq!(page(without_body(&of_url("http://b.test/"), moved)).status, 301);
    }
}
