//! Converts any bytes as an ftp listing or gopher menu: the page has no markup but its list, and links of an ftp listing
//! stay below its directory.
//!
//! The input is one byte that selects the format, and the bytes of the server.
#![no_main]

use fetch::fuzzing::{ftp_listing_page, gopher_menu_page};
use libfuzzer_sys::fuzz_target;
use model::UrlRules;
use parse::Document;
use parse::html::{Options, parse_html};

/// Maximum growth: each byte can become a line, which has a link of a few dozen bytes around an escaped name.
const MAX_GROWTH: usize = 64;

fuzz_target!(|data: &[u8]| {
    let [selector, list @ ..] = data else { return };
    let rules = UrlRules::default();
    let is_gopher = selector % 3 == 2;
    let url = if is_gopher { "gopher://a.example/1/" } else { "ftp://a.example/pub/d%22ir/" };
    let url = rules.canonical(url).expect("a URL");
    let html = if is_gopher {
        gopher_menu_page(&url, list)
    } else {
        ftp_listing_page(&url, list, selector % 3 == 1)
    };
    assert!(html.len() <= MAX_GROWTH * list.len() + 1_000);
    let html = String::from_utf8(html).expect("a page in UTF-8");
    for tag in html.split('<').skip(1) {
        let known =
            ["!DOCTYPE html>", "meta charset=\"utf-8\">", "title>", "/title>", "ul>", "/ul>", "li>", "/a>"];
        assert!(known.iter().any(|known| tag.starts_with(known)) || tag.starts_with("a href=\""), "{html}");
    }
    let mut document = Document::default();
    parse_html(&html, &Options::default(), &mut document);
    for link in document.links() {
        assert!(is_gopher || link.href.starts_with("/pub/d%22ir/"), "{}", link.href);
    }
});
