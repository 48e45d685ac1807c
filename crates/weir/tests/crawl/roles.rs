//! Do the four programs, each alone, make the same collection as `weir crawl`? And what if one of them is stopped, killed,
//! or runs elsewhere?

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::PageId;
use serde_json::Value;
use simweb::{Endpoints, Settings, SimWeb};
use store::{PageRecord, Snapshot, Stage};

use crate::process::{Collection, run};
use crate::request_log::Requests;

const QUICK: &str = "[politeness]\nwait = '1ms'\nlarge_site_wait = '1ms'\n";
const SLOW: &str = "[politeness]\nwait = '50ms'\nlarge_site_wait = '50ms'\n";

fn web() -> SimWeb {
    let settings = Settings { sites: 20, pages: 300, page_bytes: 4_000.0, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Runs a command, which must succeed, and gives its answer.
fn answer(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Makes batches; gives their folders.
fn manage(collection: &Collection, most: &str) -> Vec<PathBuf> {
    let made = answer(&["manager", &collection.dir(), "--batches", most]);
    made["batches"].as_array().unwrap().iter().map(|batch| batch["folder"].as_str().unwrap().into()).collect()
}

/// Takes in what was harvested.
fn take_in(collection: &Collection) {
    answer(&["gatherer", &collection.dir()]);
    answer(&["seeder", &collection.dir()]);
}

/// Goes on until there is nothing left.
fn go_on(collection: &Collection) {
    while !manage(collection, "2").is_empty() {
        answer(&["harvester", &collection.dir()]);
        take_in(collection);
    }
    collection.assert_sound();
    for place in ["batches", "harvests", "found"] {
        let left: Vec<_> = fs::read_dir(collection.path().join(place)).unwrap().collect();
        assert!(left.is_empty(), "{place}: {left:?}");
    }
}

fn fetched(collection: &Collection) -> BTreeSet<String> {
    collection.urls(|record: &PageRecord| record.stage == Stage::Fetched)
}

/// All links, by URLs, and for each page how many lead there and how often it was visited.
#[derive(Debug, Default, PartialEq, Eq)]
struct Graph {
    links: BTreeSet<(String, String)>,
    pages: BTreeSet<(String, u32, u16)>,
}

fn graph(collection: &Collection) -> Graph {
    let snapshot = Snapshot::open(&collection.path(), None).unwrap();
    let url = |page: PageId| snapshot.urls.url(page).unwrap().unwrap();
    let mut graph = Graph::default();
    let take = |source, links: &[store::Link]| {
        graph.links.extend(links.iter().map(|link| (url(source), url(link.target))));
        Ok(())
    };
    snapshot.links.for_each(take).unwrap();
    for page in (0..snapshot.pages.pages()).map(PageId) {
        let record = snapshot.pages.get(page).unwrap().unwrap();
        graph.pages.insert((url(page), record.in_links, record.visits));
    }
    graph
}

/// The rows of a table.
fn rows(collection: &Collection, table: &str) -> u64 {
    let manifest = Snapshot::open(&collection.path(), None).unwrap().manifest;
    store::count_rows(&collection.path(), &manifest, table).unwrap()
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(copied.success());
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn four_programs_make_the_collection_of_one() {
    let web = web();
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    let four = Collection::of_web(&web, QUICK);
    let requests_before = web.log.entries().len();

    // The first batch is harvested elsewhere, by somebody who has nothing but the batch and the settings.
    let batches = manage(&four, "1");
    assert_eq!(batches.len(), 1, "{batches:?}");
    assert!(manage(&four, "1").is_empty(), "the only site that is known is in a batch");
    let elsewhere = tempfile::tempdir().unwrap();
    let (batch, out) = (elsewhere.path().join("batch"), elsewhere.path().join("harvest"));
    let settings = elsewhere.path().join("weir.toml");
    copy(&batches[0], &batch);
    copy(&four.path().join("weir.toml"), &settings);
    let arguments =
        ["harvester", "--batch", text(&batch), "--out", text(&out), "--settings", text(&settings)];
    let harvest = answer(&arguments);
    assert_eq!((&harvest["visits"], &harvest["stopped"]), (&1.into(), &false.into()), "{harvest}");
    assert!(!run(&arguments).status.success(), "a harvest is not written over");
    assert!(out.join("pages.warc.gz").exists());
    fs::create_dir_all(four.path().join("harvests")).unwrap();
    copy(&out, &four.path().join("harvests").join(batches[0].file_name().unwrap()));
    take_in(&four);

    go_on(&four);
    assert_eq!(fetched(&four), fetched(&one));
    assert!(fetched(&four).len() > 100);
    let graph_of_four = graph(&four);
    assert!(graph_of_four.links.len() > 500, "{}", graph_of_four.links.len());
    assert_eq!(graph_of_four, graph(&one));
    for table in ["fetches", "documents", "links"] {
        assert_eq!(rows(&four, table), rows(&one, table), "{table}");
    }
    // Nothing was asked for twice, and robots.txt first.
    let again: BTreeSet<_> = web.log.entries()[requests_before..]
        .iter()
        .map(|entry| (entry.host.clone(), entry.path.clone()))
        .collect();
    assert_eq!(again.len(), web.log.entries().len() - requests_before);
}

#[test]
fn a_harvest_that_is_stopped_or_killed_loses_nothing() {
    let web = web();
    let collection = Collection::of_web(&web, SLOW);
    // Enough sites are known after two cycles.
    for _ in 0..2 {
        manage(&collection, "1");
        answer(&["harvester", &collection.dir()]);
        take_in(&collection);
    }
    let batch = manage(&collection, "1").remove(0);
    let harvest = collection.path().join("harvests").join(batch.file_name().unwrap());

    let before = web.log.entries().len();
    let mut killed = collection.start_role("harvester");
    killed.until(|| web.log.entries().len() > before + 10);
    let killed_us = killed.kill();
    assert!(!harvest.exists() && batch.exists());
    assert!(collection.path().join("harvests/journal").exists());

    let before = web.log.entries().len();
    let mut stopped = collection.start_role("harvester");
    stopped.until(|| web.log.entries().len() > before + 10);
    stopped.signal("TERM");
    let ended = stopped.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.summary()["stopped"], true, "{}", ended.stdout);
    assert!(harvest.join("HARVEST").exists());
    assert!(!collection.path().join("harvests/journal").exists());
    let taken = answer(&["gatherer", &collection.dir()]);
    assert!(taken["pages"].as_u64() > Some(0) && taken["not_asked"].as_u64() > Some(0), "{taken}");
    answer(&["seeder", &collection.dir()]);

    go_on(&collection);
    let requests = Requests::of(&web, vec![killed_us]);
    requests.assert_robots_first_and_once();
    requests.assert_gaps(|entry| entry.host.clone(), |_| 50);
    requests.assert_gaps(|entry| entry.address, |_| 50);
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    assert_eq!(fetched(&collection), fetched(&one));
    assert_eq!(graph(&collection), graph(&one));
}

#[test]
fn what_was_taken_in_is_not_taken_in_again() {
    let web = web();
    let collection = Collection::of_web(&web, QUICK);
    let kept = tempfile::tempdir().unwrap();
    let place = |name: &str| (collection.path().join(name), kept.path().join(name));
    for cycle in 0..3 {
        manage(&collection, "1");
        answer(&["harvester", &collection.dir()]);
        let number = fs::read_dir(collection.path().join("harvests")).unwrap().next().unwrap().unwrap();
        let number = number.file_name().into_string().unwrap();

        // A gatherer that dies anywhere before its commit has done nothing.
        let mut gatherer = collection.start_role("gatherer");
        let found = collection.path().join("found");
        gatherer.until_or_end(|| found.join(format!("{number}.unfinished")).exists());
        gatherer.kill();
        for name in ["batches", "harvests"] {
            let (there, here) = place(&format!("{name}/{number}"));
            fs::create_dir_all(here.parent().unwrap()).unwrap();
            if there.exists() {
                copy(&there, &here);
            }
        }
        answer(&["gatherer", &collection.dir()]);
        let fetches = rows(&collection, "fetches");

        // One that dies behind it leaves folders, which go.
        for name in ["batches", "harvests"] {
            let (there, here) = place(&format!("{name}/{number}"));
            if here.exists() {
                copy(&here, &there);
            }
        }
        let again = answer(&["gatherer", &collection.dir()]);
        assert_eq!((&again["harvests"], &again["pages"]), (&0.into(), &0.into()), "cycle {cycle}: {again}");
        assert_eq!(rows(&collection, "fetches"), fetches);
        assert!(!place(&format!("batches/{number}")).0.exists());

        let (there, here) = place(&format!("found/{number}"));
        fs::create_dir_all(here.parent().unwrap()).unwrap();
        copy(&there, &here);
        answer(&["seeder", &collection.dir()]);
        copy(&here, &there);
        let again = answer(&["seeder", &collection.dir()]);
        assert_eq!((&again["links"], &again["new_pages"]), (&0.into(), &0.into()), "{again}");
    }
    go_on(&collection);
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    assert_eq!(graph(&collection), graph(&one));
}

#[test]
fn seeds_can_be_added_and_strange_harvests_are_refused() {
    let web = web();
    let collection = Collection::of_web(&web, QUICK);
    let seed = "http://other.test/start?a=1";
    let list = collection.path().join("list");
    fs::write(&list, format!("{seed} wait=7s\n")).unwrap();
    let added = answer(&["seeder", &collection.dir(), "--seeds", text(&list)]);
    assert_eq!(added["new_seeds"], 1, "{added}");
    assert_eq!(answer(&["seeder", &collection.dir(), "--seed", seed])["new_seeds"], 0);
    assert_eq!(collection.why(seed)["state"], "new");
    assert!(fs::read_to_string(collection.path().join("weir.toml")).unwrap().contains("7s"));

    let batch = manage(&collection, "1").remove(0);
    answer(&["harvester", &collection.dir()]);
    fs::remove_dir_all(&batch).unwrap();
    let refused = run(&["gatherer", &collection.dir()]);
    let sentence = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && sentence.contains("is the harvest of no open batch"), "{sentence}");
}
