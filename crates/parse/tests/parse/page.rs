//! Tests of `Document::read` with bodies of all kinds.

use model::UrlRules;
use parse::html::{Limits, Options};
use parse::{CharsetSource, ContentKind, Document};

fn read(bytes: &[u8], content_type: Option<&str>) -> Document {
    let mut document = Document::default();
    document.read(bytes, content_type, None, &Options::default());
    document
}

fn links(document: &Document) -> Vec<(&str, &str)> {
    document.links().map(|link| (link.kind.as_str(), link.href)).collect()
}

#[test]
fn the_header_decides_on_the_kind_and_otherwise_the_first_bytes() {
    let html = b"<p>x</p>";
    let feed = b"<?xml version='1.0'?><rss><channel></channel></rss>";
    let xhtml = b"<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'></html>";
    let text = b"1 < 2 and so on";
    let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    for (bytes, content_type, kind) in [
        (&html[..], Some("text/html; charset=utf-8"), ContentKind::Html),
        (text, Some("TEXT/HTML"), ContentKind::Html),
        (html, Some("text/plain"), ContentKind::Text),
        (feed, Some("application/rss+xml"), ContentKind::Feed),
        (html, Some("application/pdf"), ContentKind::Other),
        (feed, Some("text/xml"), ContentKind::Feed),
        (xhtml, Some("application/xml"), ContentKind::Html),
        (html, None, ContentKind::Html),
        (b"\xff\xfe<\0p\0>\0", None, ContentKind::Html),
        (xhtml, None, ContentKind::Html),
        (feed, None, ContentKind::Feed),
        (text, None, ContentKind::Text),
        (image, None, ContentKind::Other),
        (b"<!DOCTYPE html><title>T</title><p>hi \x01 there", None, ContentKind::Html),
        (b"\x1f\x8b\x08", None, ContentKind::Feed),
        (b"", None, ContentKind::Text),
    ] {
        assert_eq!(
            ContentKind::detect(content_type, bytes),
            kind,
            "{content_type:?} {:?}",
            bytes.escape_ascii().to_string()
        );
    }
}

#[test]
fn a_page_is_decoded_in_its_declared_charset() {
    let document = read(b"<meta charset=windows-1251><title>\xcf\xf0\xe8\xe2\xe5\xf2</title>", None);
    assert_eq!((document.title.as_str(), document.charset.as_str()), ("Привет", "windows-1251"));
    assert_eq!(document.charset_source, Some(CharsetSource::Document));
}

#[test]
fn a_query_is_encoded_in_the_charset_of_its_page() {
    let document = read(b"<meta charset=shift_jis><a href='/\x93\xfa?q=\x93\xfa'>x</a>", None);
    let rules = UrlRules::default();
    let page = rules.canonical("http://a.test/").unwrap();
    let mut urls = Vec::new();
    document.resolve(&page, &rules, |resolved| urls.push(resolved.target.unwrap().as_str().to_owned()));
    assert_eq!(urls, ["http://a.test/%E6%97%A5?q=%93%FA"]);
}

#[test]
fn plain_text_keeps_its_lines_and_its_urls_are_links() {
    let document = read(b"See http://a.test/x,\n  and <https://b.test/>.", Some("text/plain"));
    assert_eq!(document.text, "See http://a.test/x,\n  and <https://b.test/>.");
    assert_eq!(links(&document), [("text", "http://a.test/x"), ("text", "https://b.test/")]);
    assert_eq!(document.links().next().unwrap().anchor, "http://a.test/x");
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
fn declarations_in_plain_text_have_no_effect() {
    let text = "Write <meta charset=koi8-r> für KOI8-R.";
    assert_eq!(read(text.as_bytes(), Some("text/plain")).text, text);
}

#[test]
fn an_escape_character_does_not_hide_the_text_after_it() {
    let mut page = b"<p>\x1b ".to_vec();
    page.extend(b"plain words ".repeat(1_000));
    page.extend(b"\xcf\xf0\xe8\xe2\xe5\xf2 \xcc\xe8\xf0, \xea\xe0\xea \xe4\xe5\xeb\xe0 ".repeat(20));
    assert_eq!(read(&page, Some("text/html")).charset, "windows-1251");
}

#[test]
fn a_long_body_is_truncated_before_decoding() {
    let limits = Limits { input_bytes: 100, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    for content_type in ["text/html", "text/plain", "application/rss+xml"] {
        let mut document = Document::default();
        let body = b"<rss><channel>\xe9 ".repeat(100);
        document.read(&body, Some(content_type), None, &options);
        assert!(document.truncated && document.text.len() <= 200, "{content_type}");
    }
}

#[test]
fn a_binary_body_gives_an_empty_document() {
    let document = read(b"%PDF-1.7 http://a.test/", Some("application/pdf"));
    assert_eq!((document.text.as_str(), document.links().len(), document.charset.as_str()), ("", 0, ""));
    let archive = read(b"\x1f\x8b\x08\0not a sitemap", None);
    assert_eq!((archive.kind, archive.truncated), (ContentKind::Other, false));
}
