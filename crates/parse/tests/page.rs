//! Bodies of all kinds through the one door.

use parse::html::Options;
use parse::{CharsetSource, Document, PageKind};

fn read(bytes: &[u8], content_type: Option<&str>) -> Document {
    let mut document = Document::default();
    document.read(bytes, content_type, None, &Options::default());
    document
}

fn links(document: &Document) -> Vec<(&str, &str)> {
    document.links().map(|link| (link.kind.as_str(), link.raw)).collect()
}

#[test]
fn the_header_decides_and_the_bytes_where_it_is_silent() {
    let html = b"<p>x</p>";
    let feed = b"<?xml version='1.0'?><rss><channel></channel></rss>";
    let xhtml = b"<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'></html>";
    let text = b"1 < 2 and so on";
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for (bytes, content_type, kind) in [
        (&html[..], Some("text/html; charset=utf-8"), PageKind::Html),
        (text, Some("TEXT/HTML"), PageKind::Html),
        (html, Some("text/plain"), PageKind::Text),
        (feed, Some("application/rss+xml"), PageKind::Feed),
        (html, Some("application/pdf"), PageKind::Other),
        (feed, Some("text/xml"), PageKind::Feed),
        (xhtml, Some("application/xml"), PageKind::Html),
        (html, None, PageKind::Html),
        (b"\xff\xfe<\0p\0>\0", None, PageKind::Html),
        (xhtml, None, PageKind::Html),
        (feed, None, PageKind::Feed),
        (text, None, PageKind::Text),
        (image, None, PageKind::Other),
        (b"", None, PageKind::Text),
    ] {
        assert_eq!(
            PageKind::of(content_type, bytes),
            kind,
            "{content_type:?} {:?}",
            bytes.escape_ascii().to_string()
        );
    }
}

#[test]
fn a_page_is_decoded_by_what_it_declares() {
    let document = read(b"<meta charset=windows-1251><title>\xcf\xf0\xe8\xe2\xe5\xf2</title>", None);
    assert_eq!((document.title.as_str(), document.charset.as_str()), ("Привет", "windows-1251"));
    assert_eq!(document.charset_source, Some(CharsetSource::Document));
}

#[test]
fn plain_text_keeps_its_lines_and_its_addresses_are_links() {
    let document = read(b"See http://a.test/x,\n  and <https://b.test/>.", Some("text/plain"));
    assert_eq!(document.text, "See http://a.test/x,\n  and <https://b.test/>.");
    assert_eq!(links(&document), [("text", "http://a.test/x"), ("text", "https://b.test/")]);
    assert_eq!(document.links().next().unwrap().text, "http://a.test/x");
}

#[test]
fn the_entries_of_a_feed_are_links() {
    let feed = b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/a'/>\
        <updated>2024-03-06T00:00:00Z</updated></entry><entry><link href='/b'/>\
        <updated>2023-01-01T00:00:00Z</updated></entry></feed>";
    let document = read(feed, Some("application/atom+xml"));
    assert_eq!(links(&document), [("feed", "/a"), ("feed", "/b")]);
    assert_eq!(document.modified, Some(1_709_683_200), "the newest entry");
}

#[test]
fn a_body_that_is_not_text_says_nothing() {
    let document = read(b"%PDF-1.7 http://a.test/", Some("application/pdf"));
    assert_eq!((document.text.as_str(), document.links().len(), document.charset.as_str()), ("", 0, ""));
}
