//! What is shown of a page that was found.

use std::time::Duration;

use search::{Cut, Error, FacetCount, LinkAnswers, Query, Request, SEARCH_LIMIT_HITS, Snippet};
use store::{Ranked, write_ranks};

use crate::sample::{Page, Sample, settings};

/// With brackets around matches.
fn marked(snippet: &Snippet) -> String {
    let piece =
        |piece: &search::Piece| if piece.is_match { format!("[{}]", piece.text) } else { piece.text.clone() };
    snippet.pieces.iter().map(piece).collect()
}

#[test]
fn a_snippet_shows_the_words_in_the_form_that_the_page_has() {
    let filler =
        "Nothing of interest is told here about anything that anybody might ever want to know. ".repeat(20);
    let body = format!(
        "<title>Old  mills &amp; weirs</title><p>{filler} A mill stood there.</p>\
         <p>{filler} The millers built their weirs\n\n across the river. {filler}"
    );
    let sample = Sample::of(&[("/1", &body), ("/2", "<title>Weir</title>no such word in the text")]);
    let hits = sample.search("miller weir", &Request::default()).hits;
    assert_eq!(hits.len(), 1);
    assert_eq!(marked(&hits[0].title), "Old mills & [weirs]");
    let snippet = marked(&hits[0].snippet);
    assert!(snippet.contains("The [millers] built their [weirs] across the river."), "{snippet}");
    assert!(hits[0].snippet.starts_within && hits[0].snippet.ends_within);
    assert!(hits[0].snippet.text().chars().count() < 260 && hits[0].snippet.text().starts_with("… "));
    let hits = sample.search("title:weir -miller", &Request::default()).hits;
    assert_eq!(hits[0].snippet.text(), "no such word in the text");
}

#[test]
fn hostile_pages_are_shown_as_text() {
    let title = format!("<title>{}\u{202e}\u{7} w1</title>", "x".repeat(100_000));
    let body = format!("{title}&lt;script&gt;alert(1)&lt;/script&gt; w1 {}", "w1".repeat(200_000));
    let sample = Sample::of(&[("/1", &body), ("/2", &"w1 ".repeat(500_000)), ("/3", "<title></title>w1")]);
    let hits = sample.search("w1", &Request::default()).hits;
    assert_eq!(hits.len(), 3);
    for hit in hits {
        let shown = hit.title.text() + &hit.snippet.text();
        assert!(shown.chars().count() < 600, "{}", shown.len());
        assert!(!shown.chars().any(char::is_control), "{shown}");
    }
}

#[test]
fn near_duplicates_are_folded() {
    let sample =
        Sample::of(&[("/1", "w1 a"), ("/2", "w1 b"), ("/3", "w1 c"), ("/4", "w1 d"), ("/5", "w1 e")]);
    write_ranks(sample.folder.path(), Ranked::Pages, "near-group", 1, [0_u32, 2, 2, 0, 2]).unwrap();
    let answer = sample.search("w1", &Request { count: 2, ..Request::default() });
    let shown = |answer: &search::Answer| {
        answer.hits.iter().map(|hit| (crate::sample::path(&hit.url), hit.folded)).collect::<Vec<_>>()
    };
    assert_eq!(answer.total, 5);
    assert_eq!(shown(&answer), [("/1".to_owned(), 0), ("/2".to_owned(), 2)]);
    let next = sample.search("w1", &Request { from: 2, ..Request::default() });
    assert_eq!(shown(&next), [("/4".to_owned(), 0)]);
    let all = sample.search("w1", &Request { fold: false, ..Request::default() });
    assert_eq!(all.hits.len(), 5);
}

#[test]
fn many_copies_do_not_hide_what_comes_after_them() {
    let pages: Vec<(String, &str)> = (0..60).map(|number| (format!("/{number}"), "w1 x")).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(path, body)| (path.as_str(), *body)).collect();
    let sample = Sample::of(&pages);
    let groups = (0..60_u32).map(|page| if page < 57 { 1 } else { 0 });
    write_ranks(sample.folder.path(), Ranked::Pages, "near-group", 1, groups).unwrap();
    let hits = sample.search("w1", &Request { count: 4, ..Request::default() }).hits;
    assert_eq!(hits.iter().map(|hit| hit.folded).collect::<Vec<_>>(), [56, 0, 0, 0]);
}

#[test]
fn facets_count_all_that_was_found() {
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
    let answer = sample.search("w1", &Request { facets: true, count: 0, ..Request::default() });
    let counts = |facet: &[FacetCount]| {
        facet.iter().map(|count| format!("{} {}", count.value, count.pages)).collect::<Vec<_>>()
    };
    assert_eq!((answer.total, answer.facets.counted, answer.hits.len()), (3, 3, 0));
    assert_eq!(counts(&answer.facets.sites), ["http://a.test 2", "http://b.test 1"]);
    assert_eq!(counts(&answer.facets.languages), ["en 1"]);
    assert_eq!(counts(&answer.facets.years), ["2024 2"]);
    assert_eq!(counts(&answer.facets.types), ["text/html 2", "text/plain 1"]);
}

#[test]
fn a_mistyped_word_is_corrected() {
    let often = "weir ".repeat(200);
    let sample = Sample::of(&[("/1", &often), ("/2", "river river river")]);
    let answer = sample.search("wier -dam", &Request::default());
    assert_eq!((answer.total, answer.suggestion.as_deref()), (0, Some("weir -dam")));
    assert_eq!(sample.search("weir", &Request::default()).suggestion, None);
}

#[test]
fn nobody_reads_on_for_ever() {
    let sample = Sample::of(&[("/1", "w1")]);
    let query = Query::parse("w1").unwrap();
    let far = Request { from: SEARCH_LIMIT_HITS, ..Request::default() };
    let error = sample.searcher.search(&query, &LinkAnswers::default(), &far).unwrap_err();
    assert!(matches!(error, Error::TooFar { .. }), "{error}");
    assert!(sample.search("w1", &Request { from: 5, ..Request::default() }).hits.is_empty());
}

#[test]
fn an_index_without_positions_says_so() {
    let without = search::IndexSettings { positions: false, ..settings() };
    let page = Page { url: "http://a.test/1", head: "Content-Type: text/html\r\n", body: "a1 b2", depth: 0 };
    let sample = Sample::of_pages(&[page], &without);
    assert_eq!(sample.found("a1-b2"), ["/1"]);
    let query = Query::parse("\"a1 b2\"").unwrap();
    let error = sample.searcher.search(&query, &LinkAnswers::default(), &Request::default()).unwrap_err();
    assert!(matches!(error, Error::NoPositions), "{error}");
}

#[test]
fn pages_of_equal_worth_are_paged_through_once() {
    let paths: Vec<String> = (0..300).map(|number| format!("/{:03}", number * 7 % 300)).collect();
    let texts: Vec<String> = (0..300).map(|number| format!("weir w{number}x")).collect();
    let pages: Vec<(&str, &str)> =
        paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sample = Sample::of(&pages);
    let mut seen = Vec::new();
    for from in (0..300).step_by(10) {
        let answer = sample.search("weir", &Request { from, count: 10, ..Request::default() });
        seen.extend(answer.hits.iter().map(|hit| crate::sample::path(&hit.url)));
    }
    assert_eq!(seen.len(), 300);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 300, "none twice, none left out");
}

#[test]
fn an_answer_tells_whether_pages_follow() {
    let sample =
        Sample::of(&[("/1", "w1 a"), ("/2", "w1 b"), ("/3", "w1 c"), ("/4", "w1 d"), ("/5", "w1 e")]);
    write_ranks(sample.folder.path(), Ranked::Pages, "near-group", 1, [1_u32, 1, 1, 2, 2]).unwrap();
    let has_more = |from, count, fold| {
        sample.search("w1", &Request { from, count, fold, ..Request::default() }).has_more
    };
    assert!(has_more(0, 1, true) && !has_more(0, 2, true) && !has_more(1, 1, true) && !has_more(0, 5, true));
    assert!(has_more(0, 4, false) && !has_more(0, 5, false) && !has_more(4, 10, false));
}

#[test]
fn an_answer_for_which_there_was_no_time_says_so() {
    let sample = Sample::of(&[("/1", "w1 w2"), ("/2", "w1 w2")]);
    let hurried = Request { time_limit: Duration::ZERO, ..Request::default() };
    for query in ["w1", "\"w1 w2\"", "w*", "depth:0"] {
        let answer = sample.search(query, &hurried);
        assert_eq!((answer.total, answer.cuts.as_slice()), (0, [Cut::Time].as_slice()), "{query}");
        let answer = sample.search(query, &Request::default());
        assert_eq!((answer.total, answer.cuts.as_slice()), (2, [].as_slice()), "{query}");
    }
}

#[test]
fn a_star_stands_for_the_most_frequent_words() {
    let rare: Vec<String> = (0..700).map(|number| format!("pre{number}a")).collect();
    let often = "prez pretty ";
    let sample = Sample::of(&[("/1", &rare.join(" ")), ("/2", often), ("/3", often)]);
    let answer = sample.search("pre*", &Request::default());
    assert_eq!((answer.total, answer.cuts.as_slice()), (3, [Cut::RareWords].as_slice()));
    assert_eq!(sample.search("pret*", &Request::default()).cuts, []);
    assert_eq!(sample.sorted("*rez*"), ["/2", "/3"]);
}

#[test]
fn words_that_are_gone_suggest_nothing() {
    let often = "weir ".repeat(200);
    let sample = Sample::of(&[("/1", &often)]);
    let files =
        std::fs::read_dir(sample.folder.path().join("text")).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("words-")) {
        std::fs::remove_file(file).unwrap();
    }
    let answer = sample.search("wier", &Request::default());
    assert_eq!((answer.total, answer.suggestion), (0, None));
}

#[test]
fn a_type_that_cannot_be_asked_for_is_none() {
    let page = |url, head| Page { url, head, body: "<html><p>w1", depth: 0 };
    let sample = Sample::of_pages(
        &[
            page("http://a.test/1", "Content-Type: text/html\r\n"),
            page("http://a.test/2", "Content-Type: */*\r\n"),
        ],
        &settings(),
    );
    let answer = sample.search("w1", &Request { facets: true, ..Request::default() });
    assert_eq!((answer.total, answer.facets.types.len()), (2, 1));
    for facet in answer.facets.types {
        assert_eq!(sample.found(&format!("type:{}", facet.value)), ["/1"]);
    }
}
