//! Parses any bytes as an HTML page: the document is within its limits and does not depend on the previous page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::UrlRules;
use parse::html::{Limits, Options, TagAllowlist, parse_html};
use parse::{Document, decode};

/// Maximum growth of simplified HTML: escaping turns one character into up to six.
const MAX_SIMPLIFIED_GROWTH: usize = 8;

fn check(html: &str, options: &Options, document: &mut Document) {
    parse_html(html, options, document);
    assert!(document.text.len() <= options.limits.text_bytes);
    assert!(document.title.len() <= options.limits.title_bytes);
    assert!(document.description.len() <= options.limits.title_bytes);
    assert!(document.links().len() <= options.limits.links);
    assert!(document.simplified_html.len() <= MAX_SIMPLIFIED_GROWTH * html.len());
    assert!(document.headings().all(|heading| (1..=6).contains(&heading.level)));
    for link in document.links() {
        assert_eq!(link.href, link.href.trim_ascii());
        assert!((0.0..=1.0).contains(&link.position));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let html = decode(bytes, None, None).text;
    let mut document = Document::default();
    let limits = Limits { input_bytes: 1 << 10, text_bytes: 64, title_bytes: 16, links: 4 };
    check(&html, &Options { limits, ..Options::default() }, &mut document);
    let whole = Options { simplify: Some(TagAllowlist::default()), ..Options::default() };
    check(&html, &whole, &mut document);

    let mut fresh = Document::default();
    parse_html(&html, &whole, &mut fresh);
    assert_eq!(format!("{fresh:?}"), format!("{document:?}"));

    let rules = UrlRules::default();
    let page = rules.canonical("https://example.com/dir/page.html").expect("a URL");
    let mut resolved = 0;
    document.resolve(&page, &rules, |_| resolved += 1);
    assert_eq!(resolved, document.links().len());
});
