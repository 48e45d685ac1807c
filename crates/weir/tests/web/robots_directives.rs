//! Robots directives of stored pages: `noarchive` forbids cached pages, `nosnippet` forbids snippets.

use crate::archive::Sample;
use crate::served::Served;

const SECRET: &str = "the river flows silently";

fn sample() -> Sample {
    let page = |meta: &str, number: &str| {
        format!(
            "<!doctype html><html lang=en><title>Page {number}</title>{meta}<meta name=description content='{SECRET} {number}'><p>{SECRET} {number}"
        )
    };
    let tag = |name: &str, content: &str| format!("<meta name={name} content='{content}'>");
    let pages = [
        ("https://a.test/open", "", page("", "zero")),
        ("https://a.test/meta", "", page(&tag("robots", "noarchive"), "one")),
        ("https://a.test/nocache", "", page(&tag("ROBOTS", "nocache, nosnippet"), "two")),
        ("https://a.test/header", "X-Robots-Tag: noarchive\r\n", page("", "three")),
        (
            "https://a.test/agent",
            "X-Robots-Tag: other: all\r\nX-Robots-Tag: weir: noarchive, max-snippet:0\r\n",
            page("", "four"),
        ),
        ("https://a.test/named", "", page(&tag("weir", "noarchive"), "five")),
        ("https://a.test/none", "", page(&tag("robots", "none"), "six")),
        (
            "https://a.test/expired",
            "X-Robots-Tag: unavailable_after: 17 May 2024 10:00:00 GMT\r\n",
            page("", "seven"),
        ),
        (
            "https://a.test/other",
            "X-Robots-Tag: other: noarchive\r\n",
            page(&tag("other", "noarchive, nosnippet"), "eight"),
        ),
    ];
    let pages: Vec<(&str, &str, &str)> =
        pages.iter().map(|(url, head, body)| (*url, *head, body.as_str())).collect();
    Sample::of_responses(&pages)
}

#[test]
fn a_page_that_forbids_copies_has_no_cached_page() {
    let sample = sample();
    let served = Served::start(&sample.dir(), &[]);
    for (name, directive) in [
        ("meta", "noarchive"),
        ("nocache", "noarchive"),
        ("header", "noarchive"),
        ("agent", "noarchive"),
        ("named", "noarchive"),
        ("none", "noindex"),
        ("expired", "unavailable_after"),
    ] {
        for path in ["/cached", "/cached/content", "/cached/file"] {
            for at in ["", "&at=1715904000000"] {
                let reply = served.get(&format!("{path}?url=https://a.test/{name}{at}"));
                assert_eq!(reply.status, 403, "{path} {name}: {reply:?}");
                assert!(!reply.body.contains(SECRET), "{path} {name}");
                let message = format!("the page forbids it (robots directive {directive})");
                assert!(reply.body.contains(&message), "{path} {name}: {}", reply.body);
            }
        }
        let details = served.get(&format!("/page?url=https://a.test/{name}"));
        let link = format!("\"/cached?url=https%3A%2F%2Fa.test%2F{name}\"");
        assert!(details.status == 200 && !details.body.contains(&link), "{name}");
        let details = served.get(&format!("/api/v1/page?url=https://a.test/{name}")).json();
        assert_eq!(details["has_cached_page"], false, "{name}: {details}");
    }
    for name in ["open", "other"] {
        assert_eq!(served.get(&format!("/cached?url=https://a.test/{name}")).status, 200, "{name}");
        assert!(
            served.get(&format!("/cached/content?url=https://a.test/{name}")).body.contains(SECRET),
            "{name}"
        );
        let details = served.get(&format!("/api/v1/page?url=https://a.test/{name}")).json();
        assert_eq!(details["has_cached_page"], true, "{name}: {details}");
    }
    let results = served.get("/?q=river&collapse=false&limit=50").body;
    let offers = |name: &str| results.contains(&format!("\"/cached?url=https%3A%2F%2Fa.test%2F{name}&"));
    assert!(offers("open") && offers("other"), "{results}");
    for name in ["meta", "nocache", "header", "agent", "named"] {
        assert!(!offers(name), "{name}");
    }
}

#[test]
fn a_page_that_forbids_snippets_has_neither_snippet_nor_description() {
    let sample = sample();
    let served = Served::start(&sample.dir(), &[]);
    let results = served.get("/api/v1/search?q=river&collapse=false&limit=50").json();
    let mut snippets: Vec<(String, bool)> = results["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["url"].as_str().unwrap().to_owned(), !hit["snippet"].as_str().unwrap().is_empty()))
        .collect();
    snippets.sort();
    let expected = [
        ("agent", false),
        ("header", true),
        ("meta", true),
        ("named", true),
        ("nocache", false),
        ("open", true),
        ("other", true),
    ];
    assert_eq!(snippets, expected.map(|(name, has_snippet)| (format!("https://a.test/{name}"), has_snippet)));
    for (name, has_description) in [("open", true), ("nocache", false), ("agent", false), ("other", true)] {
        let details = served.get(&format!("/api/v1/page?url=https://a.test/{name}")).json();
        assert_eq!(details["description"].is_string(), has_description, "{name}: {details}");
        assert!(details["title"].is_string(), "{name}");
        let page = served.get(&format!("/page?url=https://a.test/{name}")).body;
        assert_eq!(page.contains(SECRET), has_description, "{name}");
    }
    // A stream has every page; its user may filter by the directives.
    let urls = served.get("/stream?format=urls&where=robots_directives+like+'%25noarchive%25'").body;
    assert_eq!(urls.matches("https://a.test/").count(), 5, "{urls}");
}
