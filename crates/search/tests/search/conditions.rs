//! Conditions on metadata, ranks and links.

use model::PageId;
use search::{Error, LinkMatches, Query, SearchOptions};
use store::{Collection, RankTarget, StoreSettings, write_ranks};

use crate::sample::{Page, Sample, open, settings};

fn sample() -> Sample {
    let html = "Content-Type: text/html; charset=utf-8\r\nLast-Modified: Thu, 15 Feb 2024 10:00:00 GMT\r\n";
    let xhtml = "Content-Type: application/xhtml+xml\r\nLast-Modified: Fri, 01 Mar 2024 00:00:00 GMT\r\n";
    let plain = "Content-Type: text/plain\r\n";
    let english =
        "<p>w1 The weirs of the river were built by the millers who needed water for their wheels.</p>";
    let page = |url, head, body, depth| Page { url, head, body, depth };
    Sample::of_pages(
        &[
            page("http://www.one.test/a", html, english, 0),
            page("https://www.one.test/b", xhtml, "<p>w1</p>", 1),
            page("http://sub.deep.two.test/c", plain, "w1 w1 w1 w1 w1 w1 w1 w1 w1 w1 w1 w1", 2),
            page("http://other.test:8080/d", html, "w1 w2", 3),
        ],
        &settings(),
    )
}

#[test]
fn pages_are_filtered_by_metadata() {
    let sample = sample();
    for (query, expected) in [
        ("site:www.one.test", "/a /b"),
        ("site:https://www.one.test/", "/b"),
        ("site:one.test", ""),
        ("site:other.test:8080", "/d"),
        ("site:other.test", "/d"),
        ("domain:one.test", "/a /b"),
        ("domain:deep.two.test", "/c"),
        ("domain:eep.two.test", ""),
        ("domain:test", "/a /b /c /d"),
        ("lang:en", "/a"),
        ("-lang:en w1", "/b /c /d"),
        ("the depth:0", "/a"),
        ("w1 depth:<2 depth:>0", "/b"),
        ("w1 -w2 (depth:0 OR depth:3)", "/a"),
        ("depth:<2 - &", "/a /b"),
        ("type:html", "/a /b /d"),
        ("type:text/html", "/a /d"),
        ("type:text", "/a /c /d"),
        ("type:plain", "/c"),
        ("date:2024", "/a /b /d"),
        ("date:2024-02", "/a /d"),
        ("date:>2024-02", "/b"),
        ("date:>=2024-02-15", "/a /b /d"),
        ("date:<=2024-02-14", ""),
        ("date:<2024-03-01", "/a /d"),
        ("depth:0", "/a"),
        ("depth:>1", "/c /d"),
        ("status:200 depth:<=1", "/a /b"),
        ("status:404", ""),
        ("size:>=35 size:<1k", "/a /c"),
        ("w1 OR site:nowhere.test", "/a /b /c /d"),
        ("-site:www.one.test", "/c /d"),
        ("w1 -(depth:0 OR depth:3)", "/b /c"),
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(sample.sorted(query), expected, "{query}");
    }
}

#[test]
fn rank_conditions_need_an_analysis() {
    let sample = sample();
    for (query, name) in [("inlinks:>1", "inlinks"), ("outlinks:0", "outlinks"), ("pagerank:>0", "pagerank")]
    {
        let query = Query::parse(query).unwrap();
        let error =
            sample.searcher.search(&query, &LinkMatches::default(), &SearchOptions::default()).unwrap_err();
        assert!(matches!(error, Error::NotAnalysed { condition } if condition == name), "{error}");
    }
    let dir = sample.dir.path();
    write_ranks(dir, RankTarget::Pages, "in-degree", 1, [0_u32, 5, 10, 15]).unwrap();
    write_ranks(dir, RankTarget::Pages, "out-degree", 1, [1_u32, 1, 0, 0]).unwrap();
    write_ranks(dir, RankTarget::Pages, "pagerank", 1, [0.1_f32, 0.2, 0.3, 0.4]).unwrap();
    assert_eq!(sample.sorted("w1 inlinks:>=10"), ["/c", "/d"]);
    assert_eq!(sample.sorted("outlinks:0 -inlinks:15"), ["/c"]);
    assert_eq!(sample.sorted("pagerank:>0.15 pagerank:<0.35"), ["/b", "/c"]);
}

#[test]
fn link_conditions_are_resolved_by_the_caller() {
    let sample = sample();
    assert_eq!(sample.found_by_links("w1 linked-from:one.test", &[2]), ["/c"]);
    assert_eq!(sample.found_by_links("w2 -links-to:http://x.test/", &[1, 2, 999]), ["/d"]);
    assert!(sample.found_by_links("w1 related:x.test", &[]).is_empty());
    let query = Query::parse("links-to:x.test").unwrap();
    let error =
        sample.searcher.search(&query, &LinkMatches::default(), &SearchOptions::default()).unwrap_err();
    assert!(matches!(error, Error::LinksNotResolved { .. }), "{error}");
}

#[test]
fn depths_are_read_from_the_collection() {
    let sample = sample();
    let dir = sample.dir.path();
    assert_eq!(sample.sorted("depth:>1"), ["/c", "/d"]);
    // A shorter path is found; the index is not updated.
    let mut collection = Collection::open(dir, StoreSettings::default()).unwrap();
    collection.page_state.update(&[PageId(3)], |_, record| record.depth = 1).unwrap();
    collection.commit(1).unwrap();
    drop(collection);
    let sample = Sample { searcher: open(dir), dir: sample.dir };
    assert_eq!(
        (sample.sorted("depth:>1"), sample.sorted("w2 depth:1")),
        (vec!["/c".to_owned()], vec!["/d".to_owned()])
    );
}

#[test]
fn internationalised_hosts_and_public_suffixes_are_matched() {
    let page = |url| Page { url, head: "Content-Type: text/html\r\n", body: "w1", depth: 0 };
    let sample = Sample::of_pages(
        &[
            page("http://www.bücher.example/a"),
            page("http://github.io/b"),
            page("http://one.github.io/c"),
            page("http://two.github.io:8080/d"),
            page("http://notgithub.io/e"),
            page("http://other.test/Gr%C3%B6%C3%9Fe"),
        ],
        &settings(),
    );
    for (query, expected) in [
        ("site:www.bücher.example", "/a"),
        ("site:http://www.bücher.example/", "/a"),
        ("site:www.xn--bcher-kva.example", "/a"),
        ("domain:bücher.example", "/a"),
        ("domain:github.io", "/b /c /d"),
        ("domain:one.github.io", "/c"),
        ("url:bücher", "/a"),
        ("url:xn--bcher-kva", "/a"),
        ("url:größe", "/Gr%C3%B6%C3%9Fe"),
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(sample.sorted(query), expected, "{query}");
    }
}
