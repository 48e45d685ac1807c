//! Results: snippets, near duplicates, facets, suggestions, limits.

use std::time::Duration;

use search::{Error, FacetCount, LimitHit, LinkMatches, MAX_RESULT_WINDOW, Query, SearchOptions, Snippet};
use store::{RankTarget, write_ranks};

use crate::sample::{Page, Sample, settings};

/// Formats a snippet with brackets around matches.
fn highlighted(snippet: &Snippet) -> String {
    let fragment = |fragment: &search::Fragment| {
        if fragment.is_match { format!("[{}]", fragment.text) } else { fragment.text.clone() }
    };
    snippet.fragments.iter().map(fragment).collect()
}

#[test]
fn a_snippet_shows_words_as_written_in_the_page() {
    let filler =
        "This sentence has nothing to do with the query and is repeated to make the text long. ".repeat(20);
    let body = format!(
        "<title>Old  mills &amp; weirs</title><p>{filler} A mill stood there.</p>\
         <p>{filler} The millers built their weirs\n\n across the river. {filler}"
    );
    let sample = Sample::of(&[("/1", &body), ("/2", "<title>Weir</title>no such word in the text")]);
    let hits = sample.search("miller weir", &SearchOptions::default()).hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(highlighted(&hits[0].title), "Old mills & [weirs]");
    let snippet = highlighted(&hits[0].snippet);
    assert!(snippet.contains("The [millers] built their [weirs] across the river."), "{snippet}");
    assert!(hits[0].snippet.is_truncated_before && hits[0].snippet.is_truncated_after);
    assert!(hits[0].snippet.text().chars().count() < 260 && hits[0].snippet.text().starts_with("… "));
    let hits = sample.search("title:weir -miller", &SearchOptions::default()).hits;
    assert_eq!(hits[0].snippet.text(), "no such word in the text");
}

#[test]
fn a_page_that_forbids_snippets_has_none() {
    let page = |url, head, body| Page { url, head, body, depth: 0 };
    let html = "Content-Type: text/html\r\n";
    let header =
        "Content-Type: text/html\r\nX-Robots-Tag: other: all\r\nX-Robots-Tag: weir: max-snippet:0\r\n";
    let other = "Content-Type: text/html\r\nX-Robots-Tag: other: nosnippet\r\n";
    let sample = Sample::of_pages(
        &[
            page("http://a.test/1", html, "<title>T</title><meta name=robots content='NoSnippet'>w1 one"),
            page("http://a.test/2", header, "<title>T</title>w1 two"),
            page(
                "http://a.test/3",
                html,
                "<title>T</title><meta name=Weir content='max-snippet: 0'>w1 three",
            ),
            page("http://a.test/4", other, "<title>T</title><meta name=other content=nosnippet>w1 four"),
        ],
        &settings(),
    );
    let mut hits = sample.search("w1", &SearchOptions::default()).hits;
    hits.sort_by(|a, b| a.url.cmp(&b.url));
    let found: Vec<(String, String)> =
        hits.iter().map(|hit| (hit.title.text(), hit.snippet.text())).collect();
    let expected = ["", "", "", "w1 four"].map(|snippet| ("T".to_owned(), snippet.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_cancelled_search_fails() {
    let sample = Sample::of(&[("/1", "w1"), ("/2", "w1")]);
    let query = Query::parse("w1").unwrap();
    let cancellation = store::Cancellation::default();
    cancellation.cancel();
    let result = sample.searcher.search_cancellable(
        &query,
        &LinkMatches::default(),
        &SearchOptions::default(),
        &cancellation,
    );
    assert!(matches!(result, Err(Error::Store(store::Error::Cancelled))), "{result:?}");
}

#[test]
fn hostile_pages_are_displayed_as_text() {
    let title = format!("<title>{}\u{202e}\u{7} w1</title>", "x".repeat(100_000));
    let body = format!("{title}&lt;script&gt;alert(1)&lt;/script&gt; w1 {}", "w1".repeat(200_000));
    let sample = Sample::of(&[("/1", &body), ("/2", &"w1 ".repeat(500_000)), ("/3", "<title></title>w1")]);
    let hits = sample.search("w1", &SearchOptions::default()).hits;
    assert_eq!(hits.len(), 3);
    for hit in hits {
        let shown = hit.title.text() + &hit.snippet.text();
        assert!(shown.chars().count() < 600, "{}", shown.len());
        assert!(!shown.chars().any(char::is_control), "{shown}");
    }
}

#[test]
fn near_duplicates_are_collapsed() {
    let sample =
        Sample::of(&[("/1", "w1 a"), ("/2", "w1 b"), ("/3", "w1 c"), ("/4", "w1 d"), ("/5", "w1 e")]);
    write_ranks(sample.dir.path(), RankTarget::Pages, "near-group", 1, [0_u32, 2, 2, 0, 2]).unwrap();
    let result = sample.search("w1", &SearchOptions { limit: 2, ..SearchOptions::default() });
    let shown = |result: &search::SearchResult| {
        result.hits.iter().map(|hit| (crate::sample::path(&hit.url), hit.near_duplicates)).collect::<Vec<_>>()
    };
    assert_eq!(result.total, 5);
    assert_eq!(shown(&result), [("/1".to_owned(), 0), ("/2".to_owned(), 2)]);
    let next = sample.search("w1", &SearchOptions { offset: 2, ..SearchOptions::default() });
    assert_eq!(shown(&next), [("/4".to_owned(), 0)]);
    let all = sample.search("w1", &SearchOptions { collapse: false, ..SearchOptions::default() });
    assert_eq!(all.hits.len(), 5);
}

#[test]
fn many_near_duplicates_do_not_hide_later_hits() {
    let pages: Vec<(String, &str)> = (0..60).map(|number| (format!("/{number}"), "w1 x")).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, body)| (path.as_str(), *body)).collect();
    let sample = Sample::of(&pages);
    let groups = (0..60_u32).map(|page| if page < 57 { 1 } else { 0 });
    write_ranks(sample.dir.path(), RankTarget::Pages, "near-group", 1, groups).unwrap();
    let hits = sample.search("w1", &SearchOptions { limit: 4, ..SearchOptions::default() }).hits;
    assert_eq!(hits.iter().map(|hit| hit.near_duplicates).collect::<Vec<_>>(), [56, 0, 0, 0]);
}

#[test]
fn facets_count_all_matches() {
    let html = "Content-Type: text/html\r\nLast-Modified: Thu, 15 Feb 2024 10:00:00 GMT\r\n";
    let english = "w1 The weirs of the river were built by the millers who needed water for their wheels.";
    let page = |url, head, body| Page { url, head, body, depth: 0 };
    let sample = Sample::of_pages(
        &[
            page("http://a.test/1", html, english),
            page("http://a.test/2", html, "w1"),
            page("http://b.test/3", "Content-Type: text/plain\r\n", "w1"),
            page("http://b.test/4", html, "x9"),
        ],
        &settings(),
    );
    let result = sample.search("w1", &SearchOptions { facets: true, limit: 0, ..SearchOptions::default() });
    let counts = |facet: &[FacetCount]| {
        facet.iter().map(|count| format!("{} {}", count.value, count.pages)).collect::<Vec<_>>()
    };
    assert_eq!((result.total, result.facets.hits_counted, result.hits.len()), (3, 3, 0));
    assert_eq!(counts(&result.facets.sites), ["http://a.test 2", "http://b.test 1"]);
    assert_eq!(counts(&result.facets.languages), ["en 1"]);
    assert_eq!(counts(&result.facets.years), ["2024 2"]);
    assert_eq!(counts(&result.facets.mime_types), ["text/html 2", "text/plain 1"]);
}

#[test]
fn a_misspelled_word_is_corrected() {
    let often = "weir ".repeat(200);
    let sample = Sample::of(&[("/1", &often), ("/2", "river river river")]);
    let result = sample.search("wier -dam", &SearchOptions::default());
    assert_eq!((result.total, result.suggestion.as_deref()), (0, Some("weir -dam")));
    assert_eq!(sample.search("weir", &SearchOptions::default()).suggestion, None);
}

#[test]
fn a_frequent_word_is_not_corrected_to_a_rare_one() {
    let often = "river ".repeat(300);
    // `rivar` is in many pages, but occurs once in each: the vocabulary does not count it.
    let numbers: Vec<String> = (0..30).map(|number| format!("/{number}")).collect();
    let mut pages: Vec<(&str, &str)> = numbers.iter().map(|path| (path.as_str(), "rivar x1")).collect();
    pages.push(("/often", &often));
    let sample = Sample::of(&pages);
    let result = sample.search("rivar absent", &SearchOptions::default());
    assert_eq!((result.total, result.suggestion), (0, None));
}

#[test]
fn a_query_without_hits_is_relaxed_and_explained() {
    let sample = Sample::of(&[("/1", "low3 dam4"), ("/2", "low3 weir5"), ("/3", "mill6")]);
    let relaxed = SearchOptions { relax: true, ..SearchOptions::default() };
    let emptied = |result: &search::SearchResult| {
        let part = |part: &search::EmptyingCondition| {
            format!("{} {} {}", part.condition, part.is_absent, part.hits_without)
        };
        result.emptied_by.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let result = sample.search("low3 sluice7 dam4", &relaxed);
    assert_eq!((result.total, result.mode, result.hits.len()), (2, search::MatchMode::Any, 2));
    assert_eq!(emptied(&result), "sluice7 true 1");
    assert!(result.hits[0].url.ends_with("/1"), "more words rank higher");
    let result = sample.search("dam4 AND weir5", &relaxed);
    assert_eq!((result.total, result.mode), (0, search::MatchMode::All), "AND is not relaxed");
    assert_eq!(emptied(&result), "dam4 false 1, weir5 false 1");
    let result = sample.search("low3 dam4 lang:fr", &relaxed);
    assert_eq!((result.total, emptied(&result)), (0, "lang:fr true 1".to_owned()), "filters are kept");
    let result = sample.search("low3 mill6", &SearchOptions::default());
    assert_eq!((result.total, result.mode), (0, search::MatchMode::All), "only if requested");
    let result = sample.search("low3 dam4", &relaxed);
    assert_eq!((result.total, result.mode, emptied(&result)), (1, search::MatchMode::All, String::new()));
}

#[test]
fn offset_and_limit_are_bounded() {
    let sample = Sample::of(&[("/1", "w1")]);
    let query = Query::parse("w1").unwrap();
    let far = SearchOptions { offset: MAX_RESULT_WINDOW, ..SearchOptions::default() };
    let error = sample.searcher.search(&query, &LinkMatches::default(), &far).unwrap_err();
    assert!(matches!(error, Error::OffsetTooLarge { .. }), "{error}");
    assert!(sample.search("w1", &SearchOptions { offset: 5, ..SearchOptions::default() }).hits.is_empty());
}

#[test]
fn phrases_need_positions() {
    let without = search::IndexSettings { positions: false, ..settings() };
    let page = Page { url: "http://a.test/1", head: "Content-Type: text/html\r\n", body: "a1 b2", depth: 0 };
    let sample = Sample::of_pages(&[page], &without);
    assert_eq!(sample.found("a1-b2"), ["/1"]);
    let query = Query::parse("\"a1 b2\"").unwrap();
    let error =
        sample.searcher.search(&query, &LinkMatches::default(), &SearchOptions::default()).unwrap_err();
    assert!(matches!(error, Error::NoPositions), "{error}");
}

#[test]
fn pages_with_equal_scores_appear_once_across_pages_of_results() {
    let paths: Vec<String> = (0..300).map(|number| format!("/{:03}", number * 7 % 300)).collect();
    let texts: Vec<String> = (0..300).map(|number| format!("weir w{number}x")).collect();
    let pages: Vec<(&str, &str)> =
        paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sample = Sample::of(&pages);
    let mut seen = Vec::new();
    for offset in (0..300).step_by(10) {
        let result = sample.search("weir", &SearchOptions { offset, limit: 10, ..SearchOptions::default() });
        seen.extend(result.hits.iter().map(|hit| crate::sample::path(&hit.url)));
    }
    assert_eq!(seen.len(), 300);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 300, "no duplicates, none missing");
}

#[test]
fn has_more_is_exact() {
    let sample =
        Sample::of(&[("/1", "w1 a"), ("/2", "w1 b"), ("/3", "w1 c"), ("/4", "w1 d"), ("/5", "w1 e")]);
    write_ranks(sample.dir.path(), RankTarget::Pages, "near-group", 1, [1_u32, 1, 1, 2, 2]).unwrap();
    let has_more = |offset, limit, collapse| {
        sample.search("w1", &SearchOptions { offset, limit, collapse, ..SearchOptions::default() }).has_more
    };
    assert!(has_more(0, 1, true) && !has_more(0, 2, true) && !has_more(1, 1, true) && !has_more(0, 5, true));
    assert!(has_more(0, 4, false) && !has_more(0, 5, false) && !has_more(4, 10, false));
}

#[test]
fn a_timeout_is_reported() {
    let sample = Sample::of(&[("/1", "w1 w2"), ("/2", "w1 w2")]);
    let without_time = SearchOptions { timeout: Duration::ZERO, ..SearchOptions::default() };
    for query in ["w1", "\"w1 w2\"", "w*", "depth:0"] {
        let result = sample.search(query, &without_time);
        assert_eq!(
            (result.total, result.limits_hit.as_slice()),
            (0, [LimitHit::Timeout(Duration::ZERO)].as_slice()),
            "{query}"
        );
        let result = sample.search(query, &SearchOptions::default());
        assert_eq!((result.total, result.limits_hit.as_slice()), (2, [].as_slice()), "{query}");
    }
}

#[test]
fn a_wildcard_expands_to_the_most_frequent_words() {
    let rare: Vec<String> = (0..700).map(|number| format!("pre{number}a")).collect();
    let often = "prez pretty ";
    let sample = Sample::of(&[("/1", &rare.join(" ")), ("/2", often), ("/3", often)]);
    let result = sample.search("pre*", &SearchOptions::default());
    assert_eq!((result.total, result.limits_hit.as_slice()), (3, [LimitHit::WildcardExpansion].as_slice()));
    assert_eq!(sample.search("pret*", &SearchOptions::default()).limits_hit, []);
    assert_eq!(sample.sorted("*rez*"), ["/2", "/3"]);
}

#[test]
fn a_missing_vocabulary_suggests_nothing() {
    let often = "weir ".repeat(200);
    let sample = Sample::of(&[("/1", &often)]);
    let files = std::fs::read_dir(sample.dir.path().join("text")).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("words-")) {
        std::fs::remove_file(file).unwrap();
    }
    let result = sample.search("wier", &SearchOptions::default());
    assert_eq!((result.total, result.suggestion), (0, None));
}

#[test]
fn an_invalid_mime_type_is_not_indexed() {
    let page = |url, head| Page { url, head, body: "<html><p>w1", depth: 0 };
    let sample = Sample::of_pages(
        &[
            page("http://a.test/1", "Content-Type: text/html\r\n"),
            page("http://a.test/2", "Content-Type: */*\r\n"),
        ],
        &settings(),
    );
    let result = sample.search("w1", &SearchOptions { facets: true, ..SearchOptions::default() });
    assert_eq!((result.total, result.facets.mime_types.len()), (2, 1));
    for facet in result.facets.mime_types {
        assert_eq!(sample.found(&format!("type:{}", facet.value)), ["/1"]);
    }
}
