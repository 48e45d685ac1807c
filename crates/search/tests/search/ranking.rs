//! Ranking: scores, PageRank, sort orders.

use std::ops::ControlFlow;

use search::{SearchOptions, Sort};
use store::{AnchorRow, AnchorRows, DerivedTable, RankTarget, Snapshot, write_ranks};

use crate::sample::{Page, Sample, open, settings, store_pages};

#[test]
fn title_words_and_rare_words_rank_higher() {
    let filler = "x1 x2 x3 x4 x5 x6 x7 x8";
    let sample = Sample::of(&[
        ("/text", &format!("<title>t0</title>weir9 {filler}")),
        ("/title", &format!("<title>weir9</title>t0 {filler}")),
        ("/rare", &format!("<title>t0</title>rare8 {filler}")),
        ("/more", &format!("<title>t0</title>weir9 {filler}")),
    ]);
    assert_eq!(sample.found("weir9")[0], "/title");
    assert_eq!(sample.found("weir9 OR rare8").len(), 4);
    assert_eq!(sample.found("title:t0 (weir9 OR rare8)")[0], "/rare");
}

#[test]
fn a_new_pagerank_takes_effect_without_reindexing() {
    let sample = Sample::of(&[("/1", "weir9 b2"), ("/2", "weir9 b2"), ("/3", "weir9 b2")]);
    let dir = sample.dir.path();
    assert_eq!(sample.found("weir9"), ["/1", "/2", "/3"], "equal scores: by page id");
    write_ranks(dir, RankTarget::Pages, "pagerank", 1, [0.1_f32, 0.2, 0.7]).unwrap();
    assert_eq!(sample.found("weir9"), ["/3", "/2", "/1"]);
    write_ranks(dir, RankTarget::Pages, "pagerank", 2, [0.2_f32, 0.7, 0.1]).unwrap();
    assert_eq!(sample.found("weir9"), ["/2", "/1", "/3"]);
    let hits = sample.search("weir9", &SearchOptions::default()).hits;
    assert_eq!(hits[0].pagerank, Some(0.7));
    // The contribution of PageRank is w S / (S + k).
    let difference = f64::from(hits[0].score - hits[2].score);
    let saturated = |share: f64| 2.0 * share * 3.0 / (share * 3.0 + 5.0);
    assert!((difference - (saturated(0.7) - saturated(0.1))).abs() < 1e-4, "{difference}");
}

#[test]
fn a_score_is_the_sum_of_its_parts() {
    let sample = Sample::of(&[
        ("/weir9", "<title>weir9 dam8</title><h1>weir9</h1>weir9 dam8 mill7"),
        ("/2", "dam8 and a weir9 by the mill7"),
    ]);
    write_ranks(sample.dir.path(), RankTarget::Pages, "pagerank", 1, [0.3_f32, 0.7]).unwrap();
    let options = SearchOptions { explain: true, ..SearchOptions::default() };
    for query in [
        "weir9",
        "weir9 dam8 mil*",
        "weir9 dam8 mill7",
        "\"weir9 dam8\" OR mill7",
        "weir9 NEAR/3 mill7 depth:0 -absent",
    ] {
        let result = sample.search(query, &options);
        assert!(!result.hits.is_empty(), "{query}");
        for hit in result.hits {
            let sum: f32 = hit.explanation.iter().map(|part| part.score).sum();
            assert!((sum - hit.score).abs() < 1e-4, "{query}: {sum} {}, {:?}", hit.score, hit.explanation);
            assert!(hit.explanation.iter().any(|part| part.description.contains("PageRank")));
        }
    }
}

#[test]
fn hits_are_sorted_by_the_requested_order() {
    let dated = |date: &str| format!("Content-Type: text/html\r\nLast-Modified: {date}\r\n");
    let (old, new) = (dated("Thu, 15 Feb 1996 10:00:00 GMT"), dated("Thu, 15 Feb 2024 10:00:00 GMT"));
    let page = |url, head, body| Page { url, head, body, depth: 0 };
    let sample = Sample::of_pages(
        &[
            page("http://a.test/old", &old, "w1 w1 w1"),
            page("http://a.test/none", "Content-Type: text/html\r\n", "w1 w1 x y z"),
            page("http://a.test/new", &new, "w1 x y z x y z"),
        ],
        &settings(),
    );
    let sorted = |sort| {
        let result = sample.search("w1", &SearchOptions { sort, ..SearchOptions::default() });
        result.hits.iter().map(|hit| crate::sample::path(&hit.url)).collect::<Vec<_>>()
    };
    assert_eq!(sorted(Sort::Relevance)[0], "/old");
    assert_eq!(sorted(Sort::Date), ["/new", "/old", "/none"]);
    write_ranks(sample.dir.path(), RankTarget::Pages, "pagerank", 1, [0.2_f32, 0.3, 0.25]).unwrap();
    assert_eq!(sorted(Sort::Rank), ["/none", "/new", "/old"]);
}

#[test]
fn adjacent_words_rank_higher_in_both_modes() {
    let sample = Sample::of(&[
        ("/apart", "low3 x1 x2 x3 x4 x5 x6 x7 x8 x9 dam4"),
        ("/near", "dam4 low3 x1 x2 x3 x4 x5 x6 x7 x8 x9"),
        ("/adjacent", "x1 x2 x3 x4 x5 x6 x7 x8 x9 low3 dam4"),
        ("/other", "x1 x2 x3"),
    ]);
    assert_eq!(sample.found("low3 dam4"), ["/adjacent", "/near", "/apart"]);
    let query = search::Query::any_word("low3 dam4").unwrap();
    let result = sample.searcher.search(&query, &search::LinkMatches::default(), &SearchOptions::default());
    let hits = result.unwrap().hits;
    assert!(hits[0].url.ends_with("/adjacent") && hits[1].url.ends_with("/near"), "{hits:?}");
}

#[test]
fn a_page_that_many_links_call_by_a_name_ranks_above_the_pages_that_link_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = (0..21).map(|number| format!("http://a.test/{number}")).collect();
    let linking = "<h1>Links</h1><p>sluice7 is described elsewhere: sluice7, and x1 x2 x3</p>";
    let page = |(number, url): (usize, &'_ String)| {
        (url.clone(), if number == 0 { "<p>x1 x2 x3 x4</p>" } else { linking })
    };
    let pages: Vec<(String, &str)> = urls.iter().enumerate().map(page).collect();
    let pages: Vec<Page<'_>> = pages
        .iter()
        .map(|(url, body)| Page { url, head: "Content-Type: text/html\r\n", body, depth: 0 })
        .collect();
    store_pages(dir.path(), &pages);
    let mut table = DerivedTable::<AnchorRows>::create(dir.path(), 1).unwrap();
    table.push(&AnchorRow { page_id: 0, anchor: "sluice7", link_count: 20, site_count: 1 }).unwrap();
    table.finish().unwrap();
    let snapshot = Snapshot::open(dir.path(), None).unwrap();
    search::index(&snapshot, &settings(), &mut |_| ControlFlow::Continue(())).unwrap();
    let sample = Sample { searcher: open(dir.path()), dir };
    let found = sample.found("sluice7");
    assert_eq!((found.len(), found[0].as_str()), (21, "/0"));
}
