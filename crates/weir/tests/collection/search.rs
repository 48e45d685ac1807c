//! `weir search`, and known-item search on a synthetic Web.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use analysis::PageText;
use model::PageId;
use search::{LinkMatches, Query, Ranking, SearchOptions, Searcher};
use store::{DocumentRow, DocumentRows, Link, Snapshot, TableReader};

use super::{objects, run_text};
use testkit::text_collection::Sample;

fn sample() -> Sample {
    let mut sample = Sample::new();
    let home =
        sample.visit("http://a.test/", "<title>Gardens</title><p>gardens7 with chairs8 and tables9</p>");
    let chairs =
        sample.visit("http://a.test/chairs", "<title>A chair8</title><p>one chair8 in a garden7</p>");
    sample.visit("http://b.test/tables", "<p>tables9 \u{1b}[31m garden7</p>");
    let link = |target| Link { target, kind: 0, context: 0, anchor_chars: 5, position: 0 };
    sample.collection.links.append(home, [link(chairs)]).unwrap();
    sample.collection.commit(0).unwrap();
    sample
}

#[test]
fn results_are_printed_as_text_and_as_json() {
    let sample = sample();
    let dir = sample.path();
    assert_eq!(run_text(dir, &["index", "DIR"]).0, 0);
    let (code, out, err) = run_text(dir, &["search", "DIR", "chair8", "garden7"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("1 result in "), "{out}");
    assert_eq!(
        lines[1..5],
        ["", "  1. A chair8", "     http://a.test/chairs", "     one chair8 in a garden7"]
    );
    assert!(lines[5].contains("score ") && lines.len() == 6, "{out}");
    let (_, out, _) = run_text(dir, &["search", "DIR", "tables9 -chairs8", "--explain", "--facets"]);
    assert!(!out.contains('\u{1b}'), "{out}");
    assert!(out.contains("tables9 in the text") && out.contains("sites      http://b.test 1"), "{out}");
    let found = &objects(dir, &["search", "DIR", "garden7 OR chair8", "--limit", "1", "--offset", "1"])[0];
    assert_eq!((&found["total"], found["hits"].as_array().unwrap().len()), (&2.into(), 1));
    let hit = &found["hits"][0];
    for name in [
        "rank",
        "score",
        "page_id",
        "url",
        "title",
        "snippet",
        "site",
        "mime_type",
        "body_bytes",
        "near_duplicates",
    ] {
        assert!(!hit[name].is_null(), "{name}: {hit}");
    }
    assert_eq!(hit["rank"], 2);
    assert!(found["seconds"].as_f64().unwrap() > 0.0);
    let any = &objects(dir, &["search", "DIR", "--any", "is there a chair8 (or tables9?"])[0];
    assert_eq!(any["total"], 3, "{any}");
    let (code, out, _) = run_text(dir, &["search", "DIR", "absent1"]);
    assert_eq!((code, out.as_str()), (0, "no results\n"));
    let (_, out, _) = run_text(dir, &["search", "DIR", "chair8", "absent1"]);
    assert!(out.starts_with("1 result with any of the words; none has all of them, in "), "{out}");
    assert!(out.contains("\nno page matches absent1\n"), "{out}");
    let (_, out, _) = run_text(dir, &["search", "DIR", "chair8 AND tables9 AND one"]);
    assert!(out == "no results\nwithout tables9: 1 result\n", "{out}");
    let relaxed = &objects(dir, &["search", "DIR", "chair8 absent1"])[0];
    assert_eq!((relaxed["mode"].as_str(), &relaxed["total"]), (Some("any"), &1.into()));
    assert_eq!(relaxed["emptied_by"][0]["condition"], "absent1");
}

#[test]
fn pages_are_found_by_their_links_after_an_analysis() {
    let sample = sample();
    let dir = sample.path();
    run_text(dir, &["index", "DIR"]);
    let (code, _, err) = run_text(dir, &["search", "DIR", "links-to:http://a.test/chairs"]);
    assert_eq!((code, err.as_str()), (2, "weir: no link graph; run `weir analyze DIR`\n"));
    let (code, _, err) = run_text(dir, &["search", "DIR", "chair8 inlinks:>=1"]);
    assert_eq!((code, err.as_str()), (2, "weir: `inlinks:` needs an analysis; run `weir analyze`\n"));
    assert_eq!(run_text(dir, &["analyze", "DIR"]).0, 0);
    let urls = |query: &str| {
        let found = &objects(dir, &["search", "DIR", query])[0];
        found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["url"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(urls("links-to:http://A.test/chairs"), ["http://a.test/"]);
    assert_eq!(urls("garden7 linked-from:http://a.test/"), ["http://a.test/chairs"]);
    assert_eq!(urls("inlinks:>=1"), ["http://a.test/chairs"]);
    assert!(urls("related:http://a.test/chairs").is_empty());
    let (code, _, err) = run_text(dir, &["search", "DIR", "links-to:http://a.test/nowhere"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("http://a.test/nowhere is not in the collection; known sites of this host"),
        "{err}"
    );
}

#[test]
fn a_syntax_error_is_shown_with_its_position() {
    let sample = sample();
    let dir = sample.path();
    let (code, out, err) = run_text(dir, &["search", "DIR", "chair8"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "weir: DIR has no text index; run `weir index DIR`\n");
    run_text(dir, &["index", "DIR"]);
    let (code, out, err) = run_text(dir, &["search", "DIR", "chair8 AND (titel:garden7"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("weir: invalid query at character 13: expected one of title:"), "{err}");
    assert!(err.contains("\n  chair8 AND (titel:garden7\n              ^\n"), "{err}");
    for wrong in [&["search", "DIR", "x", "--limit", "20000"][..], &["search", "DIR", "--any", "--", "--"]] {
        let (code, _, err) = run_text(dir, wrong);
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    }
}

/// Number of words of a query: the rarest of the page.
const QUERY_WORDS: usize = 4;
/// Every third page is searched for.
const STEP: usize = 3;

#[test]
fn a_query_with_the_rarest_words_of_a_page_finds_it_first() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    for arguments in [&["demo", "DIR/c", "--pages", "1500", "--sites", "80"][..], &["index", "DIR/c"]] {
        let (code, _, err) = run_text(dir, arguments);
        assert_eq!(code, 0, "{err}");
    }
    let texts = texts(&dir.join("c"));
    let mut pages_with: HashMap<&str, u32> = HashMap::new();
    texts.iter().flat_map(|(_, words)| words).for_each(|word| *pages_with.entry(word).or_default() += 1);
    let snapshot = Snapshot::open(&dir.join("c"), None).unwrap();
    let searcher = Searcher::open(snapshot, Ranking::default()).unwrap();
    let (mut first, mut searched) = (0, 0);
    for (page, words) in texts.iter().step_by(STEP) {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.sort_unstable_by_key(|word| (pages_with[word], *word));
        words.truncate(QUERY_WORDS);
        let query = Query::parse(&words.join(" ")).unwrap();
        let options = SearchOptions { limit: 1, ..SearchOptions::default() };
        let result = searcher.search(&query, &LinkMatches::default(), &options).unwrap();
        searched += 1;
        first += u32::from(result.hits.first().is_some_and(|hit| hit.page == *page));
    }
    eprintln!("known items: {first} of {searched} first");
    assert!(searched > 200 && first * 100 >= searched * 95, "{first} of {searched}");
}

/// Distinct words of each indexed page that has no duplicate or near duplicate.
fn texts(dir: &Path) -> Vec<(PageId, HashSet<String>)> {
    let snapshot = Snapshot::open(dir, None).unwrap();
    let documents = TableReader::<DocumentRows>::open_committed(dir, &snapshot.manifest).unwrap();
    let mut noindex = HashSet::new();
    let check_row = |row: &DocumentRow<'_>| {
        if row.robots_directives.is_some_and(|robots| robots.contains("noindex") || robots.contains("none")) {
            noindex.insert(row.page_id);
        }
    };
    documents.with_columns(&["page_id", "robots_directives"]).for_each_row(check_row).unwrap();
    let near = store::RankColumn::<u32>::open(dir, store::RankTarget::Pages, "near-group").unwrap();
    let mut texts = Vec::new();
    for page in (0..snapshot.page_state.pages()).map(PageId) {
        let record = snapshot.page_state.get(page).unwrap().unwrap();
        let is_near = near.as_ref().is_some_and(|near| near.get(page.0).unwrap().unwrap_or(0) != 0);
        let is_own =
            record.status == 200 && record.duplicate_of.is_none() && !is_near && !noindex.contains(&page.0);
        let Some(text) = PageText::read(&snapshot, &record).unwrap().filter(|_| is_own) else { continue };
        let letters = |word: &&str| word.chars().count() > 2;
        let words = text.text.split(|letter: char| !letter.is_alphanumeric()).filter(letters);
        let words: HashSet<String> = words.map(str::to_lowercase).collect();
        if words.len() >= QUERY_WORDS {
            texts.push((page, words));
        }
    }
    texts
}
