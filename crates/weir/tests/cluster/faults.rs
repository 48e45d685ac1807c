//! What fails: workers, the broker, the store, and the way between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};
use crate::site::{Site, assert_ends_well};
use crate::small_disk::SmallDisk;

#[test]
fn four_workers_find_what_there_is_and_nobody_is_asked_too_soon() {
    let Some(site) = Site::new(true) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b", "c", "d"].map(|name| site.worker(name)).into();
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn workers_may_be_killed_and_their_batches_go_to_others() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let mut workers = vec![site.worker("a"), site.worker("b")];
    for number in 0..if crate::long() { 20 } else { 3 } {
        site.await_requests(&mut crawl, 60);
        workers.remove(0).kill();
        workers.push(site.worker(&format!("c{number}")));
    }
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn a_worker_that_was_asleep_for_longer_than_its_lease_asks_nobody_and_tells_nothing() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let sleeper = site.worker("sleeper");
    site.await_requests(&mut crawl, 60);
    sleeper.signal("STOP");
    let other = site.worker("other");
    // The other one gets the batches of the sleeper when their time is over.
    site.await_requests(&mut crawl, 60);
    sleeper.signal("CONT");
    assert_ends_well(crawl);
    [sleeper, other].into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn the_broker_may_be_killed_and_started_again() {
    let Some(mut site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    for _ in 0..2 {
        site.await_requests(&mut crawl, 80);
        site.broker.kill();
        // Longer than a lease: nobody may ask by then.
        std::thread::sleep(Duration::from_secs(4));
        site.broker.start_again();
    }
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn a_request_ends_with_the_lease() {
    let Some(mut site) = Site::new(false) else { return };
    let calm = Arc::new(AtomicBool::new(false));
    let is_calm = Arc::clone(&calm);
    let server = Server::site("slow", [127, 77, 10, 1], move |path, peer| match path {
        "/slow" if !is_calm.load(Ordering::Relaxed) => {
            peer.say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n");
            while peer.say("x") {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        _ => peer.page("<a href=/slow>slow</a>"),
    });
    site.collection =
        Collection::new(&[server.url("/")], &(hosts(&[&server]) + "politeness.wait = '100ms'\n"));
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    crawl.until(|| server.paths().iter().any(|path| path == "/slow"));
    site.broker.kill();
    let killed = Instant::now();
    // Whoever would take the batch by now finds nobody there any more.
    crawl.until(|| server.log().iter().all(|asked| asked.ended.is_some()));
    assert!(killed.elapsed() < Duration::from_secs(4), "{:?}", killed.elapsed());
    calm.store(true, Ordering::Relaxed);
    site.broker.start_again();
    assert_ends_well(crawl);
    assert_ends_well(worker);
    let asked = server.paths().iter().filter(|path| *path == "/slow").count();
    assert_eq!(asked, 2, "{:?}", server.log());
    let again = site.collection.urls(|record| record.visits != 1);
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn the_store_may_be_down_for_a_while() {
    let Some(mut site) = Site::new(true) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    site.await_requests(&mut crawl, 80);
    let down = if crate::long() { 30 } else { 5 };
    site.store.as_mut().unwrap().kill();
    std::thread::sleep(Duration::from_secs(down));
    site.store.as_mut().unwrap().start_again();
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn a_full_disk_at_a_worker_loses_nothing() {
    let Some(site) = Site::new(false) else { return };
    let Some(_disk) = SmallDisk::mount(&site.depot(), "64m") else {
        eprintln!("skipped: this process may not mount a small disk");
        return;
    };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    site.await_requests(&mut crawl, 80);
    let ballast = site.depot().join("ballast");
    let full = std::fs::write(&ballast, vec![1; 128 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    // Longer than a lease: who cannot hand over what he has keeps it nevertheless.
    std::thread::sleep(Duration::from_secs(4));
    std::fs::remove_file(ballast).unwrap();
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}

#[test]
fn batches_that_workers_have_are_not_given_to_others_by_another_way() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    site.await_requests(&mut crawl, 80);
    crawl.kill();
    let refused = run(&["crawl", &site.collection.dir(), "--workers", "local:1"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("as before"), "{told}");
    let crawl = site.crawl();
    assert_ends_well(crawl);
    assert_ends_well(worker);
    site.assert_right();
    // Nobody has any more.
    site.collection.crawl(&["--workers", "local:1"]);
    site.assert_right();
}

#[test]
fn batches_that_somebody_has_taken_back_by_hand_are_crawled_as_politely() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    site.await_requests(&mut crawl, 80);
    crawl.kill();
    worker.kill();
    std::fs::remove_dir_all(site.collection.path().join("lent")).unwrap();
    site.collection.crawl(&["--workers", "local:1"]);
    site.assert_right();
}

#[test]
fn a_worker_with_another_store_is_refused() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let elsewhere = tempfile::tempdir().unwrap();
    let store = format!("file://{}", elsewhere.path().display());
    let way = ["--broker", &site.broker.url(), "--store", &store, "--collection", "example"];
    let refused = run(&[&["worker", "--name", "lost"], &way[..]].concat());
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(told.contains("give --store as the crawl has it"), "{told}");
    let worker = site.worker("right");
    assert_ends_well(crawl);
    assert_ends_well(worker);
    site.assert_right();
}

#[test]
fn the_collection_may_be_killed_and_goes_on() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    for _ in 0..2 {
        site.await_requests(&mut crawl, 80);
        crawl.kill();
        crawl = site.crawl();
        crawl.wait_for("workers");
    }
    assert_ends_well(crawl);
    workers.into_iter().for_each(assert_ends_well);
    site.assert_right();
}
