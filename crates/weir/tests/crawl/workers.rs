//! Worker processes create the same collection as one process, politely, also if workers or the coordinator are killed.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use simweb::{Endpoints, Settings, SimWeb};
use store::{PageRecord, PageStage};

use crate::long;
use crate::process::{Collection, Crawl, now_us, run};
use crate::request_log::Requests;
use crate::servers::{Server, hosts};

const DELAY_MS: u64 = 60;

fn web() -> SimWeb {
    let (sites, pages) = if long() { (2_000, 20_000) } else { (30, 600) };
    let settings =
        Settings { sites, pages, page_bytes: 4_000.0, max_ips: sites * 2 / 3, ..Settings::plain() };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn collection(web: &SimWeb) -> Collection {
    let politeness = format!("[politeness]\ndelay = '{DELAY_MS}ms'\nlarge_site_delay = '{DELAY_MS}ms'\n");
    Collection::of_web(web, &format!("{politeness}[commit]\ninterval = '1s'\n"))
}

fn worker(collection: &Collection, name: &str) -> Crawl {
    collection.start_as(&["worker", "--local", &collection.dir(), "--name", name, "--json"])
}

fn fetched(collection: &Collection) -> BTreeSet<String> {
    collection.urls(|record: &PageRecord| record.stage == PageStage::Fetched)
}

/// Checks that every page was fetched and counted once, that delays were obeyed, and that no files remain.
fn assert_complete(collection: &Collection, web: &SimWeb, kills_us: Vec<u64>) {
    collection.assert_sound();
    let killed = !kills_us.is_empty();
    let requests = Requests::of(web, kills_us);
    requests.assert_gaps(|entry| entry.host.clone(), |_| DELAY_MS);
    requests.assert_gaps(|entry| entry.ip_address, |_| DELAY_MS);
    requests.assert_nothing_disallowed();
    if !killed {
        requests.assert_robots_first_and_once();
    }
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    let pages = sites.flat_map(|site| (0..site.pages).map(move |page| (site, page)));
    let truths = pages.map(|(site, page)| web.world.page_ground_truth(&site, page));
    let truth: BTreeSet<String> = truths.filter(|page| page.crawlable).map(|page| page.url).collect();
    let found = fetched(collection);
    let missing: Vec<_> = truth.difference(&found).take(5).collect();
    assert_eq!((found.len(), missing), (truth.len(), Vec::<&String>::new()));
    let again = collection.urls(|record| record.fetch_count > 1);
    assert!(again.is_empty(), "counted more than once: {again:?}");
    for dir in ["leased", "workers/batches", "workers/logs"] {
        let left: Vec<_> = fs::read_dir(collection.path().join(dir)).unwrap().collect();
        assert!(left.is_empty(), "{dir}: {left:?}");
    }
}

#[test]
fn workers_fetch_all_pages_politely() {
    let web = web();
    let collection = collection(&web);
    let summary = collection.crawl(&["--workers", "local:3"]);
    assert_eq!(summary["stopped_early"], false);
    assert_complete(&collection, &web, Vec::new());
    let requests = web.log.entries().len() as u64;
    assert!(summary["pages_this_run"].as_u64().unwrap() <= requests);
}

#[test]
fn killed_workers_lose_nothing() {
    let web = web();
    let collection = collection(&web);
    let mut crawl = collection.start(&["--workers", "local:0"]);
    crawl.until(|| collection.path().join("workers/COORDINATOR.lock").exists());
    let mut workers = vec![worker(&collection, "a-0"), worker(&collection, "b-0")];
    let mut kills_us = Vec::new();
    for number in 1..=if long() { 40 } else { 5 } {
        let (began, before) = (Instant::now(), web.log.entries().len());
        let lifetime = Duration::from_millis(800 + now_us() % 700);
        if !crawl.until_or_end(|| began.elapsed() > lifetime && web.log.entries().len() > before + 20) {
            break;
        }
        kills_us.push(workers.remove(0).kill());
        workers.push(worker(&collection, &format!("w-{number}")));
    }
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(kills_us.len() >= 3, "the crawl ended after kills at {kills_us:?}");
    for worker in workers {
        let ended = worker.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    assert_complete(&collection, &web, kills_us);
}

#[test]
fn a_killed_coordinator_continues_with_its_workers() {
    let web = web();
    let collection = collection(&web);
    let mut kills_us = Vec::new();
    for _ in 0..3 {
        let mut crawl = collection.start(&["--workers", "local:2"]);
        let (began, before) = (Instant::now(), web.log.entries().len());
        let lifetime = Duration::from_millis(1_500 + now_us() % 700);
        if !crawl.until_or_end(|| began.elapsed() > lifetime && web.log.entries().len() > before + 20) {
            break;
        }
        kills_us.push(crawl.kill());
    }
    assert!(!kills_us.is_empty());
    collection.crawl(&["--workers", "local:2"]);
    assert_complete(&collection, &web, kills_us);
}

#[test]
fn a_stopped_crawl_waits_for_its_workers_and_can_be_resumed() {
    let web = web();
    let collection = collection(&web);
    let mut crawl = collection.start(&["--workers", "local:2"]);
    crawl.until(|| web.log.entries().len() > 100);
    crawl.signal("INT");
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let queued = collection.urls(|record: &PageRecord| record.stage == PageStage::Queued);
    assert!(queued.is_empty(), "{queued:?}");
    // Also without workers: no batch is leased any more.
    collection.crawl(&[]);
    assert_complete(&collection, &web, Vec::new());
}

#[test]
fn a_crawl_by_workers_stops_at_the_maximum_number_of_pages() {
    let web = web();
    let collection = collection(&web);
    let summary = collection.crawl(&["--workers", "local:2", "--max-pages", "100"]);
    assert_eq!(summary["stopped_early"], true);
    let pages = summary["pages_this_run"].as_u64().unwrap();
    assert!((100..600).contains(&pages), "{pages}");
    collection.crawl(&["--workers", "local:2", "--max-batches", "1"]);
    collection.crawl(&["--workers", "local:2"]);
    assert_complete(&collection, &web, Vec::new());
}

#[test]
fn a_robots_txt_redirect_to_another_site_is_followed_by_the_worker_with_both_sites() {
    let target_site = Server::start("target", [127, 77, 9, 1], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nCrawl-delay: 1\nDisallow: /no\n"),
        "/" => peer.page("<a href=/a>a</a>"),
        _ => peer.page("end"),
    });
    let redirecting = |number: u8, target: String| {
        let name = format!("way{number}");
        Server::start(&name, [127, 77, 9, 1 + number], move |path, peer| match path {
            "/robots.txt" => peer.redirect(&target),
            _ => peer.page(&format!("<a href=/no>no</a> {number}")),
        })
    };
    let near = redirecting(1, target_site.url("/robots.txt"));
    let far = redirecting(2, near.url("/robots.txt"));
    let servers = [&target_site, &near, &far];
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    let settings =
        "[politeness]\ndelay = '100ms'\n[crawl]\nmax_idle = '2s'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&seeds, &(hosts(&servers) + settings));
    let summary = collection.crawl(&["--workers", "local:3"]);
    assert_eq!(summary["stopped_early"], false);
    for server in servers {
        let log = server.log();
        for pair in log.windows(2) {
            let gap = pair[1].began.saturating_duration_since(pair[0].ended.unwrap());
            assert!(gap.as_millis() >= 99, "{gap:?}: {log:?}");
        }
        assert_eq!(server.paths().iter().filter(|path| *path == "/").count(), 1, "{log:?}");
    }
    for server in [near, far] {
        assert!(!server.paths().iter().any(|path| path == "/no"), "{:?}", server.log());
        assert_eq!(collection.why(&server.url("/no"))["reason"], "robots-disallowed");
    }
}

#[test]
fn a_worker_of_another_version_is_refused() {
    let web = web();
    let collection = collection(&web);
    let dir = collection.path().join("workers");
    let broker = harvest::DirBroker::open_coordinator(&dir).unwrap();
    harvest::Broker::publish_control(&broker, br#"{"protocol":999,"whatever":"it says"}"#).unwrap();
    let output = run(&["worker", "--local", &collection.dir(), "--name", "old"]);
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("version 999") && err.contains("run the same version"), "{err}");
}

#[test]
fn wrong_options_for_workers_are_usage_errors() {
    let web = web();
    let collection = collection(&web);
    let refused = |arguments: &[&str], message: &str| {
        let output = run(arguments);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(message), "{err}");
    };
    refused(&["worker", "--local", &collection.dir()], "is not a directory for workers");
    refused(&["worker", "--local", &collection.dir(), "--name", "a/b"], "use letters, digits");
    refused(&["crawl", &collection.dir(), "--workers", "3"], "use local:N");
    if cfg!(not(feature = "cluster")) {
        let transport = ["--broker", "nats://127.0.0.1:1", "--store", "file:///tmp/x"];
        refused(&[&["crawl", &collection.dir()], &transport[..]].concat(), "--features cluster");
    }
}
