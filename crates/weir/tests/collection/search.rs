//! `weir search`, and whether a page is found by its own words.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use analysis::PageText;
use model::PageId;
use search::{LinkAnswers, Query, Ranking, Request, Searcher};
use store::{DocumentRow, DocumentRows, Link, Snapshot, TableReader};

use super::texts::Sample;
use super::{objects, told};

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
fn pages_are_shown_to_people_and_to_programs() {
    let sample = sample();
    let dir = sample.path();
    assert_eq!(told(dir, &["index", "DIR"]).0, 0);
    let (code, out, err) = told(dir, &["search", "DIR", "chair8", "garden7"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("1 page fits, in "), "{out}");
    assert_eq!(
        lines[1..5],
        ["", "  1. A chair8", "     http://a.test/chairs", "     one chair8 in a garden7"]
    );
    assert!(lines[5].contains("score ") && lines.len() == 6, "{out}");
    let (_, out, _) = told(dir, &["search", "DIR", "tables9 -chairs8", "--explain", "--facets"]);
    assert!(!out.contains('\u{1b}'), "{out}");
    assert!(out.contains("tables9 in the text") && out.contains("sites      http://b.test 1"), "{out}");
    let found = &objects(dir, &["search", "DIR", "garden7 OR chair8", "--count", "1", "--from", "1"])[0];
    assert_eq!((&found["total"], found["hits"].as_array().unwrap().len()), (&2.into(), 1));
    let hit = &found["hits"][0];
    for name in
        ["rank", "score", "page_id", "url", "title", "snippet", "site", "mime", "size_bytes", "folded"]
    {
        assert!(!hit[name].is_null(), "{name}: {hit}");
    }
    assert_eq!(hit["rank"], 2);
    assert!(found["seconds"].as_f64().unwrap() > 0.0);
    let any = &objects(dir, &["search", "DIR", "--any", "is there a chair8 (or tables9?"])[0];
    assert_eq!(any["total"], 3, "{any}");
    let (code, out, _) = told(dir, &["search", "DIR", "absent1"]);
    assert_eq!((code, out.as_str()), (0, "no page of DIR fits\n"));
}

#[test]
fn pages_are_found_by_their_links_after_an_analysis() {
    let sample = sample();
    let dir = sample.path();
    told(dir, &["index", "DIR"]);
    let (code, _, err) = told(dir, &["search", "DIR", "links-to:http://a.test/chairs"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "weir: links are not known before an analysis: run `weir analyze DIR`\n")
    );
    let (code, _, err) = told(dir, &["search", "DIR", "chair8 inlinks:>=1"]);
    assert_eq!(
        (code, err.as_str()),
        (2, "weir: `inlinks:` is not known before an analysis; run `weir analyze`\n")
    );
    assert_eq!(told(dir, &["analyze", "DIR"]).0, 0);
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
    let (code, _, err) = told(dir, &["search", "DIR", "links-to:http://a.test/nowhere"]);
    assert_eq!(code, 2);
    assert!(err.contains("does not know http://a.test/nowhere; of this host"), "{err}");
}

#[test]
fn a_mistake_is_pointed_at() {
    let sample = sample();
    let dir = sample.path();
    let (code, out, err) = told(dir, &["search", "DIR", "chair8"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(err, "weir: DIR has no index of its text yet; run `weir index`\n");
    told(dir, &["index", "DIR"]);
    let (code, out, err) = told(dir, &["search", "DIR", "chair8 AND (titel:garden7"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("weir: at character 13 of the query: expected one of title:"), "{err}");
    assert!(err.contains("\n  chair8 AND (titel:garden7\n              ^\n"), "{err}");
    for wrong in [&["search", "DIR", "x", "--count", "20000"][..], &["search", "DIR", "--any", "--", "--"]] {
        let (code, _, err) = told(dir, wrong);
        assert_eq!((code, err.lines().count()), (2, 1), "{err}");
    }
}

/// Of each page the rarest words that it has.
const RAREST: usize = 4;
/// Every third page is asked for.
const EACH: usize = 3;

#[test]
fn a_pages_own_rare_words_find_it_first() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for arguments in [&["demo", "DIR/c", "--pages", "1500", "--sites", "80"][..], &["index", "DIR/c"]] {
        let (code, _, err) = told(dir, arguments);
        assert_eq!(code, 0, "{err}");
    }
    let texts = texts(&dir.join("c"));
    let mut pages_with: HashMap<&str, u32> = HashMap::new();
    texts.iter().flat_map(|(_, words)| words).for_each(|word| *pages_with.entry(word).or_default() += 1);
    let snapshot = Snapshot::open(&dir.join("c"), None).unwrap();
    let searcher = Searcher::open(snapshot, Ranking::default()).unwrap();
    let (mut first, mut asked) = (0, 0);
    for (page, words) in texts.iter().step_by(EACH) {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.sort_unstable_by_key(|word| (pages_with[word], *word));
        words.truncate(RAREST);
        let query = Query::parse(&words.join(" ")).unwrap();
        let request = Request { count: 1, ..Request::default() };
        let answer = searcher.search(&query, &LinkAnswers::default(), &request).unwrap();
        asked += 1;
        first += u32::from(answer.hits.first().is_some_and(|hit| hit.page == *page));
    }
    eprintln!("known items: {first} of {asked} first");
    assert!(asked > 200 && first * 100 >= asked * 95, "{first} of {asked}");
}

/// The different words of each page that the index has, without copies and near duplicates of others.
fn texts(folder: &Path) -> Vec<(PageId, HashSet<String>)> {
    let snapshot = Snapshot::open(folder, None).unwrap();
    let documents = TableReader::<DocumentRows>::committed(folder, &snapshot.manifest).unwrap();
    let mut unwanted = HashSet::new();
    let judge = |row: &DocumentRow<'_>| {
        if row.robots.is_some_and(|robots| robots.contains("noindex") || robots.contains("none")) {
            unwanted.insert(row.page_id);
        }
    };
    documents.with_columns(&["page_id", "robots"]).for_each_row(judge).unwrap();
    let near = store::RankColumn::<u32>::open(folder, store::Ranked::Pages, "near-group").unwrap();
    let mut texts = Vec::new();
    for page in (0..snapshot.pages.pages()).map(PageId) {
        let record = snapshot.pages.get(page).unwrap().unwrap();
        let is_near = near.as_ref().is_some_and(|near| near.get(page.0).unwrap().unwrap_or(0) != 0);
        let is_own =
            record.status == 200 && record.duplicate_of.is_none() && !is_near && !unwanted.contains(&page.0);
        let Some(text) = PageText::read(&snapshot, &record).unwrap().filter(|_| is_own) else { continue };
        let letters = |word: &&str| word.chars().count() > 2;
        let words = text.text.split(|letter: char| !letter.is_alphanumeric()).filter(letters);
        let words: HashSet<String> = words.map(str::to_lowercase).collect();
        if words.len() >= RAREST {
            texts.push((page, words));
        }
    }
    texts
}
