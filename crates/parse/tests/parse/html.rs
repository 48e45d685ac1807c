//! Tests of the HTML extractor.

use model::UrlRules;
use parse::html::{Limits, Options, TagAllowlist, parse_html};
use parse::{Context, Document, LinkKind};

fn parse(html: &str) -> Document {
    parse_with(html, &Options::default())
}

fn parse_with(html: &str, options: &Options) -> Document {
    let mut document = Document::default();
    parse_html(html, options, &mut document);
    document
}

/// Kind and URL of every link.
fn links(html: &str) -> Vec<(&'static str, String)> {
    parse(html).links().map(|link| (link.kind.as_str(), link.href.to_owned())).collect()
}

#[test]
fn links_of_all_elements_are_found() {
    for (html, kind, raw) in [
        ("<a href=x>", "a", "x"),
        ("<A HREF = ' x '>", "a", "x"),
        ("<map><area href=x></map>", "area", "x"),
        ("<frameset><frame src=x>", "frame", "x"),
        ("<iframe src=x><a href=y></iframe>", "iframe", "x"),
        ("<link rel=next href=x>", "link", "x"),
        ("<link rel='SHORTCUT icon' href=x>", "img", "x"),
        ("<link rel=canonical href=x>", "canonical", "x"),
        ("<link rel='alternate' hreflang=de href=x>", "alternate", "x"),
        ("<link rel='alternate stylesheet' href=x>", "stylesheet", "x"),
        ("<select><option value=/x>", "option", "/x"),
        ("<select><option value=next.html>", "option", "next.html"),
        ("<form action=x>", "form", "x"),
        ("<form method=GET action=x>", "form", "x"),
        ("<meta http-equiv=Refresh content='0; url=x'>", "refresh", "x"),
        ("<img src=x>", "img", "x"),
        ("<input type=IMAGE src=x>", "img", "x"),
        ("<img srcset=x>", "srcset", "x"),
        ("<video src=x>", "media", "x"),
        ("<video poster=x>", "img", "x"),
        ("<audio src=x>", "media", "x"),
        ("<picture><source srcset=x>", "srcset", "x"),
        ("<track src=x>", "media", "x"),
        ("<embed src=x>", "embed", "x"),
        ("<object data=x>", "embed", "x"),
        ("<script src=x></script>", "script", "x"),
    ] {
        assert_eq!(links(html), [(kind, raw.to_owned())], "{html}");
    }
}

#[test]
fn text_that_only_resembles_a_link_is_ignored() {
    for html in [
        "<a name=x>",
        "<form method=post action=x>",
        "<form>",
        "<option value=12>",
        "<option value=/>",
        "<link rel=next>",
        "<link href=x>",
        "<input type=text src=x>",
        "<meta http-equiv=refresh content=30>",
        "<!-- <a href=x> -->",
        "<script>'<a href=x>'</script>",
        "<style><a href=x></style>",
        "<textarea><a href=x></textarea>",
        "<title><a href=x></title>",
        "<template><a href=x></a></template>",
        "<xmp><a href=x></xmp>",
        "<plaintext><a href=x>",
        "<a href=x",
        "<a title='<a href=x>'>",
    ] {
        assert_eq!(links(html), [], "{html}");
    }
}

#[test]
fn srcset_contains_several_urls() {
    let found = links("<img srcset='a.png, b,c.png 2x,d.png 100w , e.png,, f.png 1.5x'>");
    let urls: Vec<&str> = found.iter().map(|(_, url)| url.as_str()).collect();
    // A comma within a URL is part of it; a trailing one is not.
    assert_eq!(urls, ["a.png", "b,c.png", "d.png", "e.png", "f.png"]);
}

#[test]
fn references_in_attributes_are_decoded_by_the_attribute_rule() {
    let html = "<a href='?a=1&copy=2&amp;b=3&lt;&#x41;&notit;&not;'>";
    assert_eq!(links(html)[0].1, "?a=1&copy=2&b=3<A&notit;¬");
}

#[test]
fn the_anchor_text_is_the_text_of_the_link_or_the_alt_of_its_image() {
    let html = "<p>Go <a href=1> to\n <b>the</b> <i>river</i> </a>now, <a href=2><img src=e.png alt=''><img src=i.png alt=' the  weir '></a> \
                <a href=3>one<a href=4>two</a> three <a href=5></a><a href=6>&nbsp;</a>\
                <map><area href=7 alt=north></map><a href=8>open";
    let document = parse(html);
    let texts: Vec<_> = document
        .links()
        .filter(|link| link.kind != LinkKind::Img)
        .map(|link| (link.href, link.anchor))
        .collect();
    assert_eq!(
        texts,
        [
            ("1", "to the river"),
            ("2", "the weir"),
            ("3", "one"),
            ("4", "two"),
            ("5", ""),
            ("6", ""),
            ("7", "north"),
            ("8", "open")
        ]
    );
}

#[test]
fn a_link_has_a_relation_a_context_and_a_position() {
    let html = "<h1><a href=1>A</a></h1><nav><ul><li><a href=2 rel='nofollow UGC'>B</a></ul></nav>\
                <p><strong>x</strong> <a href=3>C</a><footer><b><em><a href=4>D</a></em></b></footer>";
    let document = parse(html);
    let links: Vec<_> = document.links().collect();
    assert!(links[0].context == Context::HEADING);
    assert!(links[1].context.contains(Context::NAVIGATION) && links[1].context.contains(Context::LIST));
    assert_eq!(links[1].rel, "nofollow UGC");
    assert!(links[2].context == Context::NONE);
    assert!(links[3].context.contains(Context::FOOTER) && links[3].context.contains(Context::STRONG));
    assert!(links[3].context.contains(Context::EMPHASIS));
    let positions: Vec<f32> = links.iter().map(|link| link.position).collect();
    assert!(positions.is_sorted() && positions[0] == 0.0 && positions[3] < 1.0, "{positions:?}");
}

#[test]
fn links_are_resolved_against_the_base_element() {
    let html = "<a href=early.html></a><base target=_top><base href=/docs/><base href=/not/>\
                <a href=late.html></a><a href='//other.test/'></a><a href='mailto:a@b.c'></a>";
    let rules = UrlRules::default();
    let page = rules.canonical("http://a.test/x/y.html").unwrap();
    let mut found = Vec::new();
    parse(html).resolve(&page, &rules, |resolved| {
        found.push((resolved.target.ok().map(|url| url.as_str().to_owned()), resolved.is_internal));
    });
    let url = |text: &str| Some(text.to_owned());
    assert_eq!(
        found,
        [
            (url("http://a.test/docs/early.html"), true),
            (url("http://a.test/docs/late.html"), true),
            (url("http://other.test/"), false),
            (None, false)
        ]
    );
}

#[test]
fn the_text_is_the_visible_text() {
    for (html, text) in [
        ("  one\n two&nbsp;&nbsp; three\u{a0}four ", "one two three four"),
        ("one<br>two<p>three</p>four", "one\ntwo\nthree\nfour"),
        ("<ul><li>a<li>b</ul>c", "a\nb\nc"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "1 2\n3"),
        ("a<b>b</b>c <i> d</i>", "abc d"),
        ("a<script>x</script>b<style>y</style>c", "abc"),
        ("a<noscript>b</noscript>", "ab"),
        ("a<template>b<p>c</template>d", "ad"),
        ("x<!-- y -->z", "xz"),
        ("AT&T &amp &unknown; &#8364;", "AT&T & &unknown; €"),
        ("1 < 2 </ 3", "1 < 2"),
        ("a\0b\u{1}c", "abc"),
        ("«Ça» · §1", "«Ça» · §1"),
        ("<pre>\n  a\n\n  b </pre>c", "  a\n\n  b \nc"),
        ("<head><title>T</title></head>body", "body"),
        ("<svg><title>no</title><text>yes</text></svg>", "yes"),
        ("a<svg><style>.b{fill:red}</style><script>c</script></svg>d", "ad"),
        ("a&#27;[31m&#7;b", "a[31mb"),
        ("<svg><![CDATA[a<b]]></svg>", "a<b"),
        ("", ""),
    ] {
        assert_eq!(parse(html).text, text, "{html:?}");
    }
}

#[test]
fn metadata_is_taken_from_the_head() {
    let html = "<!doctype html><html lang=pt-BR><head><title>\n The  weir &amp; the\tstream </title>\
        <meta property='og:description' content='from og'><meta name=Description content=' A  dam. '>\
        <meta property=article:published_time content='2024-03-05T10:00:00Z'>\
        <meta http-equiv=last-modified content='Wed, 06 Mar 2024 00:00:00 GMT'>\
        <link rel=canonical href='/weir?a=1&amp;b=2'><title>second</title></head>\
        <svg><title>third</title></svg><h1>One <b>big</b></h1><h3>Small<h2>Last";
    let document = parse(html);
    assert_eq!(document.title, "The weir & the stream");
    assert_eq!(document.description, "A dam.");
    assert_eq!(document.language_declared, "pt-BR");
    assert_eq!(document.canonical_url(), Some("/weir?a=1&b=2"));
    assert_eq!(document.published, Some(1_709_632_800));
    assert_eq!(document.modified, Some(1_709_683_200));
    let headings: Vec<_> = document.headings().map(|heading| (heading.level, heading.text)).collect();
    assert_eq!(headings, [(1, "One big"), (3, "Small"), (2, "Last")]);
}

#[test]
fn the_title_of_a_template_is_not_the_title_of_the_page() {
    let document = parse("<template><title>no</title></template><title>yes \u{1b}[31m</title>");
    assert_eq!(document.title, "yes [31m", "and no title rewrites a screen");
}

#[test]
fn a_date_in_the_text_is_not_the_publication_date() {
    assert_eq!(parse("<p>The concert is on <time datetime=2030-01-01>New Year</time>").published, None);
    assert_eq!(parse("<time pubdate datetime=1970-01-02>").published, Some(86_400));
    assert_eq!(parse("<time itemprop=datePublished datetime=1970-01-02>").published, Some(86_400));
}

#[test]
fn only_http_equiv_refreshes() {
    assert_eq!(links("<meta name=refresh content='0; url=x'>"), []);
}

#[test]
fn robots_directives_are_read_from_meta_elements() {
    let document = parse("<meta name=ROBOTS content='noindex, follow'><meta name=other content=nofollow>");
    assert!(document.robots_directives.noindex() && !document.robots_directives.nofollow());
    let document = parse("<meta name=robots content='revisit-after: 7 days, noindex, nofollow'>");
    assert!(
        document.robots_directives.noindex() && document.robots_directives.nofollow(),
        "a colon in a meta element is not a crawler name"
    );
    let document = parse("<meta name=weir content=none>");
    assert!(document.robots_directives.noindex() && document.robots_directives.nofollow());
}

#[test]
fn simplified_html_has_structure_and_text_only() {
    let options = Options { simplify: Some(TagAllowlist::default()), ..Options::default() };
    let html = "<html><head><title>A &lt; B</title><style>p{}</style></head><body class=x onload=y>\
        <div id=1><h1 style=z>Hi</h1>\n<p>some   <span>words</span> <a class=c href='?a&amp;b' onclick=d>here</a>\
        <script>alert(1)</script><pre>x\n  &amp;y</pre></div></body></html>";
    assert_eq!(
        parse_with(html, &options).simplified_html,
        "<html>\n<head><title>A &lt; B</title></head>\n<body>\n<h1>Hi</h1>\n<p>some words \
         <a href=\"?a&amp;b\">here</a>\n<pre>x\n  &amp;y</pre></body></html>"
    );
    let options =
        Options { simplify: Some(TagAllowlist::new(["p", "my-element"], [])), ..Options::default() };
    let html = "<h1>a</h1><p class=x>b</p><My-Element>c</my-element><my-other>d</my-other>";
    assert_eq!(parse_with(html, &options).simplified_html, "a\n<p>b</p>\n<my-element>c</my-element>d");
}

#[test]
fn a_reused_document_contains_nothing_of_the_previous_page() {
    let mut document = Document::default();
    let options = Options { simplify: Some(TagAllowlist::default()), ..Options::default() };
    let page = "<html lang=en><title>t</title><meta name=description content=d><meta name=robots content=none>\
                <base href=/><link rel=canonical href=x><time pubdate datetime=2020-01-01></time><h1>h</h1><a href=y>z</a>";
    parse_html(page, &options, &mut document);
    parse_html("", &options, &mut document);
    assert_eq!(format!("{document:?}"), format!("{:?}", parse_with("", &options)));
}

#[test]
fn limits_truncate_and_mark_the_document() {
    let limits = Limits { input_bytes: 1_000, text_bytes: 50, title_bytes: 5, links: 3 };
    let options = Options { limits, ..Options::default() };
    let document = parse_with(&"<a href=é>é ".repeat(1_000), &options);
    assert!(document.truncated && document.links().len() == 3);
    let document = parse_with(&"é ".repeat(1_000), &options);
    assert!(document.truncated && document.text.len() <= 50);
    assert_eq!(parse_with("<title>abcde fgh</title>", &options).title, "abcde");
    assert_eq!(parse_with("<title>abc defgh</title>", &options).title, "abc d");
    assert!(!parse_with("<a href=x>short</a>", &options).truncated);
    assert!(parse_with("<title>abcdefgh</title>", &options).truncated);
    assert!(parse_with("<meta name=description content=abcdefgh>", &options).truncated);
    assert!(parse(&format!("<p {}>", "a=b ".repeat(513))).truncated);
    let many = parse_with("<h1>a</h1><h2>b</h2><h3>c</h3><h4>d</h4>", &options);
    assert!(many.truncated && many.headings().len() == 3);
    let kept = Options { simplify: Some(TagAllowlist::default()), ..options };
    let document = parse_with(&"<p>&".repeat(200), &kept);
    assert!(
        document.truncated && document.simplified_html.len() < 1_010,
        "{}",
        document.simplified_html.len()
    );
}

#[test]
fn the_text_of_an_unclosed_anchor_is_limited() {
    let document = parse(&format!("<a href=x>{}", "é".repeat(5_000)));
    let text = document.links().next().unwrap().anchor;
    assert!(text.len() <= 1_024 && !text.is_empty());
}

#[test]
fn hostile_sizes_are_parsed_within_the_limits() {
    let deep = "<div><b><ul><svg>".repeat(10_000) + "x" + &"</svg></ul></b></div>".repeat(10_000);
    assert_eq!(parse(&deep).text, "x");
    let attribute = format!("<a href='{}'>", "a".repeat(1 << 20));
    assert_eq!(parse(&attribute).links().next().unwrap().href.len(), 1 << 20);
    let attributes = format!("<a {} href=x>", "b=c ".repeat(100_000));
    assert_eq!(parse(&attributes).links().len(), 0, "an attribute beyond the limit is not read");
    let entities = "&amp;".repeat(100_000);
    assert_eq!(parse(&entities).text.len(), 100_000);
    for open in ["<", "<a", "<a ", "<!--", "<script>", "<title>", "<![CDATA[", "&", "&#", "<a href='"] {
        parse(&open.repeat(50_000));
    }
}
