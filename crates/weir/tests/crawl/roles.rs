//! The four programs of a crawl create the same collection as `weir crawl`, also if one of them is stopped, killed or runs
//! on another machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::PageId;
use serde_json::Value;
use simweb::{Endpoints, Settings, SimWeb};
use store::{PageRecord, PageStage, Snapshot};

use crate::process::{Collection, run};
use crate::request_log::Requests;

const QUICK: &str = "[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n";
const SLOW: &str = "[politeness]\ndelay = '50ms'\nlarge_site_delay = '50ms'\n";

fn web() -> SimWeb {
    let settings = Settings { sites: 20, pages: 300, page_bytes: 4_000.0, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Runs a command, which must succeed, and returns its JSON output.
fn output(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--json"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Creates batches and returns their directories.
fn create_batches(collection: &Collection, count: &str) -> Vec<PathBuf> {
    let created = output(&["manager", &collection.dir(), "--batches", count]);
    let batches = created["batches"].as_array().unwrap().iter();
    batches.map(|batch| batch["directory"].as_str().unwrap().into()).collect()
}

/// Runs gatherer and seeder.
fn ingest(collection: &Collection) {
    output(&["gatherer", &collection.dir()]);
    output(&["seeder", &collection.dir()]);
}

/// Runs all programs until no page is left.
fn run_to_end(collection: &Collection) {
    while !create_batches(collection, "2").is_empty() {
        output(&["harvester", &collection.dir()]);
        ingest(collection);
    }
    collection.assert_sound();
    for dir in ["batches", "harvests", "outlinks"] {
        let left: Vec<_> = fs::read_dir(collection.path().join(dir)).unwrap().collect();
        assert!(left.is_empty(), "{dir}: {left:?}");
    }
}

fn fetched(collection: &Collection) -> BTreeSet<String> {
    collection.urls(|record: &PageRecord| record.stage == PageStage::Fetched)
}

/// All links by URL, and the numbers of inlinks and fetches of each page.
#[derive(Debug, Default, PartialEq, Eq)]
struct Graph {
    links: BTreeSet<(String, String)>,
    pages: BTreeSet<(String, u32, u16)>,
}

fn graph(collection: &Collection) -> Graph {
    let snapshot = Snapshot::open(&collection.path(), None).unwrap();
    let url = |page: PageId| snapshot.urls.url(page).unwrap().unwrap();
    let mut graph = Graph::default();
    let add = |source, links: &[store::Link]| {
        graph.links.extend(links.iter().map(|link| (url(source), url(link.target))));
        Ok(())
    };
    snapshot.links.for_each(add).unwrap();
    for page in (0..snapshot.page_state.pages()).map(PageId) {
        let record = snapshot.page_state.get(page).unwrap().unwrap();
        graph.pages.insert((url(page), record.inlinks, record.fetch_count));
    }
    graph
}

/// Number of rows of a table.
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
fn the_four_programs_create_the_collection_of_weir_crawl() {
    let web = web();
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    let four = Collection::of_web(&web, QUICK);
    let requests_before = web.log.entries().len();

    // The first batch is harvested on another machine, with only the batch and the settings.
    let batches = create_batches(&four, "1");
    assert_eq!(batches.len(), 1, "{batches:?}");
    assert!(create_batches(&four, "1").is_empty(), "the only known site is in a batch");
    let remote = tempfile::tempdir().unwrap();
    let (batch, out) = (remote.path().join("batch"), remote.path().join("harvest"));
    let settings = remote.path().join("weir.toml");
    copy(&batches[0], &batch);
    copy(&four.path().join("weir.toml"), &settings);
    let arguments =
        ["harvester", "--batch", text(&batch), "--out", text(&out), "--settings", text(&settings)];
    let harvest = output(&arguments);
    assert_eq!((&harvest["fetches"], &harvest["stopped_early"]), (&1.into(), &false.into()), "{harvest}");
    assert!(!run(&arguments).status.success(), "a harvest is not overwritten");
    assert!(out.join("pages.warc.gz").exists());
    fs::create_dir_all(four.path().join("harvests")).unwrap();
    copy(&out, &four.path().join("harvests").join(batches[0].file_name().unwrap()));
    ingest(&four);

    run_to_end(&four);
    assert_eq!(fetched(&four), fetched(&one));
    assert!(fetched(&four).len() > 100);
    let graph_of_four = graph(&four);
    assert!(graph_of_four.links.len() > 500, "{}", graph_of_four.links.len());
    assert_eq!(graph_of_four, graph(&one));
    for table in ["fetches", "documents", "links"] {
        assert_eq!(rows(&four, table), rows(&one, table), "{table}");
    }
    // No URL was requested twice.
    let again: BTreeSet<_> = web.log.entries()[requests_before..]
        .iter()
        .map(|entry| (entry.host.clone(), entry.path.clone()))
        .collect();
    assert_eq!(again.len(), web.log.entries().len() - requests_before);
}

#[test]
fn a_stopped_or_killed_harvester_loses_nothing() {
    let web = web();
    let collection = Collection::of_web(&web, SLOW);
    // Enough sites are known after two batches.
    for _ in 0..2 {
        create_batches(&collection, "1");
        output(&["harvester", &collection.dir()]);
        ingest(&collection);
    }
    let batch = create_batches(&collection, "1").remove(0);
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
    assert_eq!(ended.summary()["stopped_early"], true, "{}", ended.stdout);
    assert!(harvest.join("HARVEST").exists());
    assert!(!collection.path().join("harvests/journal").exists());
    let gathered = output(&["gatherer", &collection.dir()]);
    assert!(
        gathered["pages"].as_u64() > Some(0) && gathered["pages_not_fetched"].as_u64() > Some(0),
        "{gathered}"
    );
    output(&["seeder", &collection.dir()]);

    run_to_end(&collection);
    let requests = Requests::of(&web, vec![killed_us]);
    requests.assert_robots_first_and_once();
    requests.assert_gaps(|entry| entry.host.clone(), |_| 50);
    requests.assert_gaps(|entry| entry.ip_address, |_| 50);
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    assert_eq!(fetched(&collection), fetched(&one));
    assert_eq!(graph(&collection), graph(&one));
}

#[test]
fn a_harvest_is_ingested_only_once() {
    let web = web();
    let collection = Collection::of_web(&web, QUICK);
    let copies = tempfile::tempdir().unwrap();
    let paths = |name: &str| (collection.path().join(name), copies.path().join(name));
    for round in 0..3 {
        create_batches(&collection, "1");
        output(&["harvester", &collection.dir()]);
        let id = fs::read_dir(collection.path().join("harvests")).unwrap().next().unwrap().unwrap();
        let id = id.file_name().into_string().unwrap();

        // A gatherer that is killed before its commit has no effect.
        let mut gatherer = collection.start_role("gatherer");
        let found = collection.path().join("outlinks");
        gatherer.until_or_end(|| found.join(format!("{id}.unfinished")).exists());
        gatherer.kill();
        for name in ["batches", "harvests"] {
            let (original, copied) = paths(&format!("{name}/{id}"));
            fs::create_dir_all(copied.parent().unwrap()).unwrap();
            if original.exists() {
                copy(&original, &copied);
            }
        }
        output(&["gatherer", &collection.dir()]);
        let fetches = rows(&collection, "fetches");

        // A gatherer that is killed after its commit leaves directories, which the next one removes.
        for name in ["batches", "harvests"] {
            let (original, copied) = paths(&format!("{name}/{id}"));
            if copied.exists() {
                copy(&copied, &original);
            }
        }
        let again = output(&["gatherer", &collection.dir()]);
        assert_eq!((&again["harvests"], &again["pages"]), (&0.into(), &0.into()), "round {round}: {again}");
        assert_eq!(rows(&collection, "fetches"), fetches);
        assert!(!paths(&format!("batches/{id}")).0.exists());

        let (original, copied) = paths(&format!("outlinks/{id}"));
        fs::create_dir_all(copied.parent().unwrap()).unwrap();
        copy(&original, &copied);
        output(&["seeder", &collection.dir()]);
        copy(&copied, &original);
        let again = output(&["seeder", &collection.dir()]);
        assert_eq!((&again["links"], &again["new_pages"]), (&0.into(), &0.into()), "{again}");
    }
    run_to_end(&collection);
    let one = Collection::of_web(&web, QUICK);
    one.crawl(&[]);
    assert_eq!(graph(&collection), graph(&one));
}

#[test]
fn seeds_can_be_added_and_harvests_of_unknown_batches_are_refused() {
    let web = web();
    let collection = Collection::of_web(&web, QUICK);
    let seed = "http://other.test/start?a=1";
    let list = collection.path().join("list");
    fs::write(&list, format!("{seed} delay=7s\n")).unwrap();
    let added = output(&["seeder", &collection.dir(), "--seeds", text(&list)]);
    assert_eq!(added["new_seeds"], 1, "{added}");
    assert_eq!(output(&["seeder", &collection.dir(), "--seed", seed])["new_seeds"], 0);
    assert_eq!(collection.why(seed)["stage"], "discovered");
    assert!(fs::read_to_string(collection.path().join("weir.toml")).unwrap().contains("7s"));

    let batch = create_batches(&collection, "1").remove(0);
    output(&["harvester", &collection.dir()]);
    fs::remove_dir_all(&batch).unwrap();
    let refused = run(&["gatherer", &collection.dir()]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && message.contains("cannot ingest the harvest"), "{message}");
}
