//! Tests of the indexer: content of the index after pages were added, changed and removed.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod trouble;

use std::ops::ControlFlow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use search::{Error, ExclusionCounts, TextIndex};
use store::{AnchorRow, AnchorRows, DerivedTable, PageFlags, PageStage, Snapshot};

use testkit::text_collection::{Sample, settings};

const ENGLISH: &str = "<title>The Weirs of England</title><h1>Building barriers</h1><p>A weir is a barrier across the \
    width of a river that alters the flow of water and usually results in a change in the height of the river level. \
    There are many designs of weir, but commonly water flows freely over the top of the weir crest.</p>";
const GERMAN: &str = "<title>Häuser</title><p>Ein Wehr ist eine Stauanlage, die einen Fluss abschließt, um das Wasser \
    zurückzuhalten und zu regulieren. Die Häuser am Fluss waren nicht immer vor dem Hochwasser geschützt, das in \
    jedem Jahr wieder kam.</p>";
const JAPANESE: &str =
    "<title>堰</title><p>堰は、河川の水をせき止めるために設けられる構造物である。東京都の水道。</p>";

#[test]
fn words_are_found_by_the_stems_of_their_language() {
    let mut sample = Sample::new();
    let english = sample.visit("http://a.test/weirs/England", ENGLISH).0;
    let german = sample.visit("http://b.test/", GERMAN).0;
    let japanese = sample.visit("http://c.test/", JAPANESE).0;
    let summary = sample.index();
    assert_eq!((summary.pages, summary.added, summary.pages_read), (3, 3, 3));
    let found = |field: &str, term: &str| sample.pages_with(field, term);
    assert_eq!(found("title", "weir"), [english]);
    assert_eq!(found("title", "the"), Vec::<u32>::new(), "a stop word");
    assert_eq!(found("headings", "barrier"), [english]);
    assert_eq!(found("body", "river"), [english]);
    assert_eq!(found("url", "weirs"), [english], "the URL is not stemmed");
    assert_eq!((found("title", "haus"), found("body", "fluss")), (vec![german], vec![german]));
    assert_eq!((found("body", "東京"), found("title", "堰")), (vec![japanese], vec![japanese]));
    assert_eq!(found("language", "de"), [german]);
    assert_eq!(found("mime_type", "text/html"), [english, german, japanese]);
    assert_eq!(found("domain", "b.test"), [german]);
    // The, Weirs, of, England: stop words keep their positions.
    assert_eq!(sample.terms()[&("title".to_owned(), "england".to_owned())][&english], [3]);
    let index = TextIndex::open(sample.path()).unwrap();
    assert_eq!(index.languages().unwrap(), ["de", "en", "ja"]);
    assert!(index.has_positions() && index.pages() == 3);
}

#[test]
fn an_incremental_index_equals_a_rebuilt_one() {
    let mut grown = Sample::new();
    let mut pages = Vec::new();
    for n in 0..60 {
        pages.push(grown.visit(&format!("http://s{}.test/{n}", n % 4), &page(n, 0)));
        if n % 7 == 0 {
            grown.index();
        }
    }
    for n in (0..60).step_by(3) {
        grown.visit(&format!("http://s{}.test/{n}", n % 4), &page(n, 1));
    }
    for n in (0..60).step_by(5) {
        grown.visit_with(&format!("http://s{}.test/{n}", n % 4), 404, "", "gone");
    }
    let summary = grown.index();
    let indexed_later = 4 + (57..60).filter(|n| n % 5 != 0).count() as u64 - 4;
    assert_eq!((summary.removed, summary.updated), (12, 15), "{summary:?}");
    assert_eq!((summary.added, summary.pages), (indexed_later, 48));
    assert_eq!(summary.excluded.no_content, 12);
    let terms = grown.terms();
    assert_eq!(grown.index().pages_read, 0);
    std::fs::remove_dir_all(grown.path().join("text")).unwrap();
    let rebuilt = grown.index();
    assert_eq!((rebuilt.added, rebuilt.pages_read, rebuilt.excluded), (48, 48, summary.excluded));
    assert!(terms == grown.terms());
    assert!(terms.len() > 100);
}

fn page(number: usize, version: usize) -> String {
    let words =
        ["river", "weir", "water", "barrier", "flow", "crest", "dam", "sluice", "lock", "mill", "fish"];
    let text: Vec<&str> = (0..40).map(|n| words[(number * 7 + version * 3 + n * n) % words.len()]).collect();
    format!("<title>Page {number}</title><p>word{number} version{version} of the {}", text.join(" the "))
}

#[test]
fn noindex_pages_and_pages_without_text_are_excluded() {
    let mut sample = Sample::new();
    let html = "Content-Type: text/html\r\n";
    let meta = |content: &str| format!("<meta name=robots content='{content}'><p>some words");
    sample.visit("http://a.test/meta", &meta("noindex"));
    sample.visit("http://a.test/none", &meta("NONE"));
    sample.visit("http://a.test/past", &meta("unavailable_after: 2020-01-01"));
    let future = sample.visit("http://a.test/future", &meta("unavailable_after: 2090-01-01")).0;
    let nofollow = sample.visit("http://a.test/nofollow", &meta("nofollow")).0;
    let head = sample.visit_with(
        "http://a.test/head",
        200,
        &format!("{html}X-Robots-Tag: noindex\r\n"),
        "<p>some words",
    );
    sample.visit_with("http://a.test/image", 200, "Content-Type: image/png\r\n", "\u{0}PNG words");
    sample.visit_with("http://a.test/empty", 200, html, "");
    sample.visit_with("http://a.test/error", 500, html, "words");
    let original = sample.visit("http://a.test/original", "<p>words twice");
    let copy = sample.visit("http://a.test/copy", "<p>words twice");
    sample.note(copy, |record| {
        record.duplicate_of = Some(original);
        record.flags = record.flags.with(PageFlags::DUPLICATE);
    });
    sample.page("http://a.test/unknown");
    let summary = sample.index();
    assert_eq!(
        summary.excluded,
        ExclusionCounts { noindex: 4, not_text: 1, duplicate: 1, no_content: 2, damaged: 0 }
    );
    assert_eq!(sample.pages_with("body", "words"), [future, nofollow, original.0]);

    // The same content with other response headers.
    sample.visit_with("http://a.test/head", 200, html, "<p>some words");
    sample.visit_with(
        "http://a.test/nofollow",
        200,
        &format!("{html}X-Robots-Tag: noindex\r\n"),
        &meta("nofollow"),
    );
    sample.note(original, |record| (record.stage, record.status) = (PageStage::Failed, 404));
    let summary = sample.index();
    assert_eq!((summary.added, summary.removed), (2, 2), "{summary:?}");
    assert_eq!(
        sample.pages_with("body", "words"),
        [future, head.0, copy.0],
        "the duplicate is indexed instead"
    );
    assert_eq!(
        summary.excluded,
        ExclusionCounts { noindex: 4, not_text: 1, duplicate: 0, no_content: 3, damaged: 0 }
    );
}

#[test]
fn a_passing_error_does_not_remove_a_page() {
    let mut sample = Sample::new();
    let page = sample.visit("http://a.test/", "<p>words");
    sample.index();
    for (status, is_passing) in
        [(500, true), (0, true), (429, true), (302, false), (404, false), (410, false)]
    {
        sample.note(page, |record| (record.stage, record.status) = (PageStage::Failed, status));
        sample.index();
        assert_eq!(!sample.pages_with("body", "words").is_empty(), is_passing, "{status}");
    }
}

#[test]
fn a_duplicate_is_indexed_if_its_original_is_noindex() {
    let mut sample = Sample::new();
    let html = "Content-Type: text/html\r\n";
    let hidden = format!("{html}X-Robots-Tag: noindex\r\n");
    // One duplicate has a smaller page id than its original, the other a larger one.
    let early = sample.page("http://a.test/early");
    let original = sample.visit_with("http://a.test/original", 200, &hidden, "<p>words");
    let late = sample.visit("http://a.test/late", "<p>words");
    sample.visit("http://a.test/early", "<p>words");
    for copy in [early, late] {
        sample.note(copy, |record| {
            record.duplicate_of = Some(original);
            record.flags = record.flags.with(PageFlags::DUPLICATE);
        });
    }
    let summary = sample.index();
    assert_eq!(sample.pages_with("body", "words"), [early.0, late.0]);
    assert_eq!((summary.excluded.noindex, summary.excluded.duplicate), (1, 0));
    assert_eq!(index_again(&sample).pages_read, 0);
    sample.visit_with("http://a.test/original", 200, html, "<p>words");
    let summary = sample.index();
    assert_eq!(sample.pages_with("body", "words"), [original.0], "the original represents both again");
    assert_eq!((summary.added, summary.removed, summary.excluded.duplicate), (1, 2, 2));
}

#[test]
fn pages_are_removed_after_unavailable_after() {
    let mut sample = Sample::new();
    let until = |when: &str| format!("<meta name=robots content='unavailable_after: {when}'><p>words {when}");
    let body = sample.visit("http://a.test/body", &until("2090-01-01")).0;
    let head = "Content-Type: text/html\r\nX-Robots-Tag: unavailable_after: 2090-01-01\r\n";
    let head = sample.visit_with("http://a.test/head", 200, head, "<p>words").0;
    let later = sample.visit("http://a.test/later", &until("2095-01-01")).0;
    sample.index();
    assert_eq!(sample.pages_with("body", "words"), [body, head, later]);
    // Only the time of the commit changes.
    let day_of_2091 = 3_818_448_000_000;
    sample.collection.commit(day_of_2091).unwrap();
    let summary = index_again(&sample);
    assert_eq!(sample.pages_with("body", "words"), [later]);
    assert_eq!((summary.removed, summary.excluded.noindex), (2, 2));
}

#[test]
fn unavailable_after_needs_no_new_commit() {
    let mut sample = Sample::new();
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    let until = parse::format_date(now_s + 2);
    sample.visit("http://a.test/", &format!("<meta name=robots content='unavailable_after: {until}'><p>x"));
    sample.collection.commit(1).unwrap();
    let start = Instant::now();
    assert_eq!(index_again(&sample).pages, 1, "{until}");
    while index_again(&sample).pages > 0 {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::yield_now();
    }
}

#[test]
fn a_fetch_with_the_same_content_only_checks_the_headers() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/", ENGLISH);
    sample.index();
    sample.visit_with(
        "http://a.test/",
        200,
        "Content-Type: text/html; charset=utf-8\r\nServer: other\r\n",
        ENGLISH,
    );
    let summary = sample.index();
    assert_eq!((summary.pages_read, summary.read_bytes, summary.updated, summary.pages), (1, 0, 0, 1));
}

#[test]
fn anchor_texts_are_indexed_after_an_analysis() {
    let mut sample = Sample::new();
    let page = sample.visit("http://a.test/", ENGLISH).0;
    let other = sample.visit("http://b.test/", GERMAN).0;
    sample.index();
    let write = |sample: &Sample, anchor: &str| {
        let generation = sample.collection.manifest().unwrap().generation;
        let mut table = DerivedTable::<AnchorRows>::create(sample.path(), generation).unwrap();
        table.push(&AnchorRow { page_id: page, anchor, link_count: 3, site_count: 2 }).unwrap();
        table.finish().unwrap();
    };
    write(&sample, "dams and sluices");
    let summary = index_again(&sample);
    assert_eq!((summary.updated, summary.pages_read), (1, 1), "only the page with inlinks");
    assert_eq!(sample.pages_with("anchor", "sluic"), [page]);
    // A changed page keeps its anchor texts.
    sample.visit("http://a.test/", &format!("{ENGLISH}<p>more"));
    sample.visit("http://b.test/", &format!("{GERMAN}<p>mehr"));
    assert_eq!(sample.index().updated, 2);
    assert_eq!(
        (sample.pages_with("anchor", "sluic"), sample.pages_with("body", "mehr")),
        (vec![page], vec![other])
    );
    write(&sample, "locks");
    assert_eq!(index_again(&sample).updated, 1);
    assert!(sample.pages_with("anchor", "sluic").is_empty());
    assert_eq!(sample.pages_with("anchor", "lock"), [page]);
}

pub(crate) fn index_again(sample: &Sample) -> search::IndexSummary {
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    search::index(&snapshot, &settings(), &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn a_changed_setting_or_damage_rebuilds_the_index() {
    let mut sample = Sample::new();
    let page = sample.visit("http://a.test/", ENGLISH).0;
    assert!(matches!(TextIndex::open(sample.path()), Err(Error::NotIndexed { .. })));
    sample.index();
    let with = sample.terms();
    let without = sample.index_with(&search::IndexSettings { positions: false, ..settings() });
    assert_eq!((without.added, without.pages), (1, 1));
    assert!(!TextIndex::open(sample.path()).unwrap().has_positions());
    assert_eq!(sample.pages_with("body", "weir"), [page]);
    assert_eq!((sample.index().added, sample.terms() == with), (1, true));
    // The file of page states is damaged.
    let states = std::fs::read_dir(sample.path().join("text")).unwrap().map(|entry| entry.unwrap().path());
    let states = states
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("pages-"))
        .last()
        .unwrap();
    std::fs::write(&states, b"nonsense").unwrap();
    sample.visit("http://b.test/", GERMAN);
    assert_eq!(sample.index().added, 2);
    // The index itself is damaged.
    std::fs::write(sample.path().join("text/index/meta.json"), b"{}").unwrap();
    assert!(matches!(TextIndex::open(sample.path()), Err(Error::Unreadable { .. })));
    assert_eq!(index_again(&sample).added, 2);
}

#[test]
fn suggestions_are_words_as_written() {
    let mut sample = Sample::new();
    for n in 0..20 {
        sample.visit(&format!("http://a.test/{n}"), &format!("{ENGLISH}<p>usually {n}"));
    }
    sample.index();
    let vocabulary = TextIndex::open(sample.path()).unwrap().vocabulary().unwrap();
    assert_eq!(vocabulary.nearest("barier"), Some("barrier"));
    assert_eq!(vocabulary.nearest("usualy"), Some("usually"), "not stemmed");
    assert_eq!(vocabulary.nearest("barrier"), None);
    let before = vocabulary.count("river");
    sample.visit("http://b.test/", &format!("<p>{}", "river ".repeat(100)));
    sample.index();
    let after = TextIndex::open(sample.path()).unwrap().vocabulary().unwrap().count("river");
    assert_eq!(after, before + 100);
}

#[test]
fn only_one_process_indexes_at_a_time() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/", ENGLISH);
    sample.index();
    sample.visit("http://a.test/2", GERMAN);
    sample.collection.commit(1).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let mut inner = None;
    let on_progress = &mut |_| {
        inner.get_or_insert_with(|| {
            let snapshot = Snapshot::open(sample.path(), None).unwrap();
            search::index(&snapshot, &settings(), &mut |_| ControlFlow::Continue(())).unwrap_err().to_string()
        });
        ControlFlow::Continue(())
    };
    search::index(&snapshot, &settings(), on_progress).unwrap();
    assert!(inner.unwrap().contains("another process"));
}
