//! Tests of the sitemap parser: all formats, limits and hostile input.

use std::io::{self, BufReader, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use parse::{
    MAX_SITEMAP_DEPTH, MAX_SITEMAP_NODE_BYTES, SitemapEnd, SitemapEntry, SitemapKind, SitemapLimit,
    SitemapLimits, SitemapSummary, read_sitemap,
};
use proptest::prelude::*;

/// 2024-05-17T10:00:00Z
const MAY_17: i64 = 1_715_940_000;

fn read_within(bytes: &[u8], limits: SitemapLimits) -> (Vec<String>, SitemapSummary) {
    let mut entries = Vec::new();
    let summary = read_sitemap(bytes, limits, |entry| {
        entries.push(match entry {
            SitemapEntry::Page { url, modified: None } => url.to_owned(),
            SitemapEntry::Page { url, modified: Some(MAY_17) } => format!("{url} changed"),
            SitemapEntry::Page { url, modified: Some(time) } => format!("{url} at {time}"),
            SitemapEntry::Sitemap { url, modified } => format!("sitemap {url} {modified:?}"),
        });
    });
    assert_eq!(summary.entries, entries.len() as u64);
    (entries, summary)
}

fn read(bytes: &[u8]) -> (Vec<String>, SitemapSummary) {
    read_within(bytes, SitemapLimits::default())
}

#[track_caller]
fn check(text: &str, kind: SitemapKind, expected: &[&str]) {
    let (entries, summary) = read(text.as_bytes());
    assert_eq!(entries, expected);
    assert_eq!((summary.kind, summary.end), (kind, SitemapEnd::Complete));
}

#[test]
fn an_xml_sitemap_contains_pages_and_their_dates() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
        <!-- made by hand -->
        <s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/x">
          <s:url><s:loc> http://h/?a=1&amp;b=2 </s:loc><s:lastmod>2024-05-17T10:00:00Z</s:lastmod></s:url>
          <url><loc><![CDATA[http://h/c?x&y]]></loc><changefreq>daily</changefreq><priority>0.5</priority></url>
          <url><lastmod>2024-05-17T12:00:00+02:00</lastmod><image:image><image:loc>http://h/i.png</image:loc>
            </image:image><loc>http://h/&#233;&eacute;&z=1</loc><xhtml:link rel="alternate" href="http://h/de"/></url>
          <url><loc/></url>
          <url><lastmod>2024</lastmod></url>
        </s:urlset>"#;
    check(
        text,
        SitemapKind::UrlSet,
        &["http://h/?a=1&b=2 changed", "http://h/c?x&y", "http://h/\u{e9}&eacute;&z=1 changed"],
    );
}

#[test]
fn an_index_contains_sitemaps() {
    let text = "<sitemapindex><sitemap><loc>http://h/1.xml.gz</loc><lastmod>1970-01-02</lastmod></sitemap>\
                <sitemap><loc>/2.xml</loc></sitemap></sitemapindex>";
    check(text, SitemapKind::Index, &["sitemap http://h/1.xml.gz Some(86400)", "sitemap /2.xml None"]);
}

#[test]
fn rss_items_are_entries() {
    let text = r#"<rss version="2.0"><channel><link>http://h/</link><atom:link href="http://h/rss" rel="self"/>
        <item><title>a</title><link>http://h/a</link><pubDate>Fri, 17 May 2024 10:00:00 GMT</pubDate></item>
        <item><guid>http://h/b</guid><description>&lt;a href="http://h/no"></description></item>
        <item><guid isPermaLink="false">http://h/no</guid></item>
        <item><guid>http://h/no</guid><link>http://h/c</link><atom:link rel="replies" href="http://h/no"/></item>
        </channel></rss>"#;
    check(text, SitemapKind::Rss, &["http://h/a changed", "http://h/b", "http://h/c"]);
}

#[test]
fn atom_entries_are_entries() {
    let text = r#"<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://h/"/><updated>2020-01-01</updated>
        <entry><link rel="edit" href="http://h/no"/><link rel="alternate" href="http://h/a?b&amp;c"/>
          <published>2020-01-01T00:00:00Z</published><updated>2024-05-17T10:00:00Z</updated></entry>
        <entry><id>http://h/b</id><content type="xhtml"><div><link href="http://h/no"/></div></content></entry>
        <entry><id>urn:uuid:1</id></entry></feed>"#;
    check(text, SitemapKind::Atom, &["http://h/a?b&c changed", "http://h/b"]);
}

#[test]
fn rss_1_0_names_its_items_once() {
    let text = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <channel rdf:about="http://h/rss"><link>http://h/</link><items><rdf:Seq><rdf:li resource="http://h/a"/></rdf:Seq>
        </items></channel>
        <item rdf:about="http://h/a"><link>http://h/a</link><dc:date>2024-05-17T10:00:00Z</dc:date></item></rdf:RDF>"#;
    check(text, SitemapKind::Rdf, &["http://h/a changed"]);
}

#[test]
fn the_link_of_an_rss_1_item_takes_precedence_over_the_resource_that_it_describes() {
    let text = r#"<rdf:RDF><channel rdf:about="http://h/rss"/>
        <item rdf:about="urn:uuid:1"><title>a</title><link>http://h/a</link></item>
        <item rdf:about="http://h/b?id"><dc:date>2024-05-17T10:00:00Z</dc:date><link> http://h/b </link></item>
        <item rdf:about="http://h/c"><link/></item></rdf:RDF>"#;
    check(text, SitemapKind::Rdf, &["http://h/a", "http://h/b changed", "http://h/c"]);
}

#[test]
fn markup_behind_the_root_element_is_ignored() {
    for appended in ["<script src='/x.js'></script>", "<!-- 0.2 s --><p><rss>", "</rss>", "text <"] {
        let text = format!("<rss><channel><item><link>http://h/a</link></item></channel></rss>\n{appended}");
        check(&text, SitemapKind::Rss, &["http://h/a"]);
    }
}

#[test]
fn a_robots_rdf_contains_documents_and_their_dates() {
    let text = r#"<rdf:RDF>
        <rdf:Description rdf:about="/a.html"><lastModified>2024-05-17T10:00:00Z</lastModified></rdf:Description>
        <rdf:Description about="/b.html" last-modified="Fri, 17 May 2024 10:00:00 GMT"/>
        <documents><document><dc:modified>2024-05-17T10:00:00Z</dc:modified><loc>/c.html</loc></document>
        <document><url rdf:resource="/d.html"/></document></documents>
        <rdf:Bag><rdf:li rdf:resource="/e.html"/><rdf:li rdf:resource="/f.html" lastmod="2024-05-17 10:00"/></rdf:Bag>
        </rdf:RDF>"#;
    let expected =
        ["/a.html changed", "/b.html changed", "/c.html changed", "/d.html", "/e.html", "/f.html changed"];
    check(text, SitemapKind::Rdf, &expected);
}

#[test]
fn a_text_sitemap_has_one_url_per_line() {
    check(
        "\u{feff}http://h/a\r\n\n# no\nHTTPS://h/\u{e9}\nftp://h/",
        SitemapKind::Text,
        &["http://h/a", "HTTPS://h/\u{e9}"],
    );
}

#[test]
fn other_charsets_are_decoded() {
    let latin = b"<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>/\xE9</loc></url></urlset>";
    assert_eq!(read(latin).0, ["/\u{e9}"]);
    let wide: Vec<u8> = "\u{feff}<urlset><url><loc>/\u{e9}</loc></url></urlset>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read(&wide).0, ["/\u{e9}"]);
}

#[test]
fn gzip_is_decompressed_and_truncation_loses_only_the_end() {
    let text: String = (0..20_000).map(|at| format!("http://h/{at}\n")).collect();
    let packed = gzip(text.as_bytes());
    let (entries, summary) = read(&packed);
    assert_eq!((entries.len(), summary.kind, summary.end), (20_000, SitemapKind::Text, SitemapEnd::Complete));
    let (entries, summary) = read(&packed[..packed.len() / 2]);
    assert!(entries.len() > 5_000 && matches!(summary.end, SitemapEnd::Broken { .. }), "{summary:?}");
}

#[test]
fn entries_before_an_error_are_returned() {
    for broken in
        ["<urlset><url><loc>/a</loc></url><url><loc>/b</lo", "<urlset><url><loc>/a</loc></url></wrong>"]
    {
        let (entries, summary) = read(broken.as_bytes());
        assert_eq!(entries, ["/a"]);
        assert!(matches!(summary.end, SitemapEnd::Broken { at_byte: 20.. }), "{summary:?}");
    }
}

#[test]
fn other_content_is_unknown() {
    for text in
        ["", "  ", "<!DOCTYPE html><html><body>404</body></html>", "Not found", "<", "<?xml version='1.0'?>"]
    {
        let (entries, summary) = read(text.as_bytes());
        assert_eq!((entries.len(), summary.kind), (0, SitemapKind::Unknown), "{text}");
    }
}

#[test]
fn entries_before_a_limit_are_returned() {
    let text = format!("<urlset>{}</urlset>", "<url><loc>/a</loc></url>".repeat(10_000));
    let limits = SitemapLimits::default();
    let end = |limits| {
        let (entries, summary) = read_within(text.as_bytes(), limits);
        assert!(!entries.is_empty());
        summary.end
    };
    assert_eq!(end(SitemapLimits { entries: 10, ..limits }), SitemapEnd::LimitReached(SitemapLimit::Entries));
    assert_eq!(end(SitemapLimits { entries: 10_000, ..limits }), SitemapEnd::Complete);
    assert_eq!(
        end(SitemapLimits { read_bytes: 99_999, ..limits }),
        SitemapEnd::LimitReached(SitemapLimit::ReadBytes)
    );
    let exact = text.len() as u64;
    assert_eq!(
        end(SitemapLimits { read_bytes: exact, expanded_bytes: exact, ..limits }),
        SitemapEnd::Complete
    );
    let short = SitemapLimits { expanded_bytes: exact - 1, ..limits };
    assert_eq!(end(short), SitemapEnd::LimitReached(SitemapLimit::ExpandedBytes));
    let deep = format!("<urlset><url><loc>/a</loc></url>{}", "<a>".repeat(MAX_SITEMAP_DEPTH));
    assert_eq!(read(deep.as_bytes()).1.end, SitemapEnd::LimitReached(SitemapLimit::Depth));
}

#[test]
fn a_decompression_bomb_is_not_decompressed_beyond_the_limit() {
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 1 << 20);
    let limits = SitemapLimits { expanded_bytes: 1 << 20, ..SitemapLimits::default() };
    assert_eq!(read_within(&bomb, limits).1.end, SitemapEnd::LimitReached(SitemapLimit::ExpandedBytes));
}

#[test]
fn a_node_beyond_the_maximum_length_ends_the_parsing() {
    for start in
        ["<urlset><url><loc>", "<urlset><!--", "<urlset><url a='", "<urlset><![CDATA[", "<!DOCTYPE ["]
    {
        let source = BufReader::new(start.as_bytes().chain(io::repeat(b'x')));
        let limits = SitemapLimits { read_bytes: u64::MAX, expanded_bytes: u64::MAX, entries: u64::MAX };
        let summary = read_sitemap(source, limits, |_| {});
        assert_eq!(summary.end, SitemapEnd::LimitReached(SitemapLimit::NodeBytes), "{start}");
    }
}

#[test]
fn an_entry_with_a_url_that_is_too_long_is_skipped() {
    let long = "x".repeat(MAX_SITEMAP_NODE_BYTES / 2);
    let text = format!("<urlset><url><loc>/{long}</loc></url><url><loc>/a</loc></url></urlset>");
    assert_eq!(read(text.as_bytes()).0, ["/a"]);
    assert_eq!(read(format!("http://h/{long}\nhttp://h/a").as_bytes()).0, ["http://h/a"]);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

proptest! {
    #[test]
    fn any_bytes_are_parsed_within_the_limits(
        start in prop_oneof![Just("<urlset>"), Just("<rdf:RDF>"), Just("<rss>"), Just("\u{1f}"), Just("")],
        parts in prop::collection::vec(prop_oneof![
            Just(b"<url><loc>".to_vec()), Just(b"</loc></url>".to_vec()), Just(b"<item about='x'>".to_vec()),
            Just(b"<link href=y />".to_vec()), Just(b"&amp;&x;&#0;".to_vec()), Just(b"<![CDATA[".to_vec()),
            Just(b"http://h/\n".to_vec()), prop::collection::vec(any::<u8>(), 0..10),
        ], 0..30),
        packed: bool,
    ) {
        let bytes = [start.as_bytes(), &parts.concat()].concat();
        let (entries, _) = if packed { read(&gzip(&bytes)) } else { read(&bytes) };
        prop_assert!(entries.iter().map(String::len).sum::<usize>() <= 8 * bytes.len());
    }
}
