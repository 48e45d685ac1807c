//! Faults of workers, broker and object store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::{Collection, run};
use crate::servers::{Server, hosts};
use crate::site::{Site, assert_succeeds};
use testkit::SmallDisk;

#[test]
fn four_workers_fetch_all_pages_politely() {
    let Some(site) = Site::new(true) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b", "c", "d"].map(|name| site.worker(name)).into();
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn the_batches_of_killed_workers_are_leased_to_others() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let mut workers = vec![site.worker("a"), site.worker("b")];
    for number in 0..if crate::long() { 20 } else { 3 } {
        site.await_requests(&mut crawl, 60);
        workers.remove(0).kill();
        workers.push(site.worker(&format!("c{number}")));
    }
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn a_worker_suspended_for_longer_than_its_lease_sends_no_requests_and_no_results() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let suspended = site.worker("suspended");
    site.await_requests(&mut crawl, 60);
    suspended.signal("STOP");
    let other = site.worker("other");
    // The other worker gets the batches when their leases expire.
    site.await_requests(&mut crawl, 60);
    suspended.signal("CONT");
    assert_succeeds(crawl);
    [suspended, other].into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn the_crawl_survives_a_killed_and_restarted_broker() {
    let Some(mut site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    for _ in 0..2 {
        site.await_requests(&mut crawl, 80);
        site.broker.kill();
        // Longer than a lease, after which no worker may send requests.
        std::thread::sleep(Duration::from_secs(4));
        site.broker.restart();
    }
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn a_request_is_aborted_when_the_lease_expires() {
    let Some(mut site) = Site::new(false) else { return };
    let calm = Arc::new(AtomicBool::new(false));
    let is_calm = Arc::clone(&calm);
    let server = Server::site("slow", [127, 77, 10, 1], move |path, peer| match path {
        "/slow" if !is_calm.load(Ordering::Relaxed) => {
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n");
            while peer.send("x") {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        _ => peer.page("<a href=/slow>slow</a>"),
    });
    site.collection =
        Collection::new(&[server.url("/")], &(hosts(&[&server]) + "politeness.delay = '100ms'\n"));
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    crawl.until(|| server.paths().iter().any(|path| path == "/slow"));
    site.broker.kill();
    let killed = Instant::now();
    // The request ends before another worker could get the batch.
    crawl.until(|| server.log().iter().all(|request| request.ended.is_some()));
    assert!(killed.elapsed() < Duration::from_secs(4), "{:?}", killed.elapsed());
    calm.store(true, Ordering::Relaxed);
    site.broker.restart();
    assert_succeeds(crawl);
    assert_succeeds(worker);
    let requests = server.paths().iter().filter(|path| *path == "/slow").count();
    assert_eq!(requests, 2, "{:?}", server.log());
    let again = site.collection.urls(|record| record.fetch_count != 1);
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn the_crawl_survives_an_outage_of_the_store() {
    let Some(mut site) = Site::new(true) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    site.await_requests(&mut crawl, 80);
    let down = if crate::long() { 30 } else { 5 };
    site.store.as_mut().unwrap().kill();
    std::thread::sleep(Duration::from_secs(down));
    site.store.as_mut().unwrap().restart();
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn a_full_disk_of_a_worker_loses_nothing() {
    let Some(site) = Site::new(false) else { return };
    let Some(_disk) = SmallDisk::mount(&site.store_dir(), "64m") else {
        return testkit::skip("no privilege to mount a small disk");
    };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let workers: Vec<_> = ["a", "b"].map(|name| site.worker(name)).into();
    site.await_requests(&mut crawl, 80);
    let ballast = site.store_dir().join("ballast");
    let full = std::fs::write(&ballast, vec![1; 128 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    // Longer than a lease: a worker that cannot submit its pages keeps renewing the lease.
    std::thread::sleep(Duration::from_secs(4));
    std::fs::remove_file(ballast).unwrap();
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}

#[test]
fn leased_batches_are_not_leased_over_another_transport() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    site.await_requests(&mut crawl, 80);
    crawl.kill();
    let refused = run(&["crawl", &site.collection.dir(), "--workers", "local:1"]);
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("leased through another broker"), "{err}");
    let crawl = site.crawl();
    assert_succeeds(crawl);
    assert_succeeds(worker);
    site.assert_complete();
    // No batch is leased any more.
    site.collection.crawl(&["--workers", "local:1"]);
    site.assert_complete();
}

#[test]
fn batches_whose_leases_were_deleted_by_hand_are_crawled_politely() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let worker = site.worker("a");
    site.await_requests(&mut crawl, 80);
    crawl.kill();
    worker.kill();
    std::fs::remove_dir_all(site.collection.path().join("leased")).unwrap();
    site.collection.crawl(&["--workers", "local:1"]);
    site.assert_complete();
}

#[test]
fn a_worker_with_another_store_is_refused() {
    let Some(site) = Site::new(false) else { return };
    let mut crawl = site.crawl();
    crawl.wait_for("workers");
    let other = tempfile::tempdir().unwrap();
    let store = format!("file://{}", other.path().display());
    let transport = ["--broker", &site.broker.url(), "--store", &store, "--collection", "example"];
    let refused = run(&[&["worker", "--name", "lost"], &transport[..]].concat());
    let err = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{err}");
    assert!(err.contains("--store"), "{err}");
    let worker = site.worker("right");
    assert_succeeds(crawl);
    assert_succeeds(worker);
    site.assert_complete();
}

#[test]
fn a_killed_coordinator_can_be_restarted() {
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
    assert_succeeds(crawl);
    workers.into_iter().for_each(assert_succeeds);
    site.assert_complete();
}
