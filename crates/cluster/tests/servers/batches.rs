//! Are batches lent to one worker at a time, and to another when the first is gone?

use std::time::{Duration, Instant};

use crate::nats_server::NatsServer;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::ZERO;

#[test]
fn a_batch_is_offered_taken_kept_and_done() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    assert!(worker.take("w", NOW).unwrap().is_none());
    collection.offer(7, b"pages").unwrap();
    collection.offer(7, b"other pages").unwrap();
    let lease = worker.take("w", LONG).unwrap().unwrap();
    assert_eq!((lease.batch(), lease.message(), lease.duration()), (7, &b"pages"[..], Some(LONG)));
    assert!(lease.keep().unwrap());
    assert!(lease.keep().unwrap());
    assert!(worker.take("w", NOW).unwrap().is_none(), "it is lent");
    lease.done().unwrap();
    collection.offer(7, b"pages").unwrap();
    assert!(worker.take("w", SHORT).unwrap().is_none(), "it is done, and was offered already");
    collection.forget(7).unwrap();
    collection.forget(7).unwrap();
    collection.offer(7, b"new pages").unwrap();
    assert_eq!(worker.take("w", LONG).unwrap().unwrap().message(), b"new pages");
}

#[test]
fn a_worker_that_waits_gets_a_batch_as_soon_as_there_is_one() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    let started = Instant::now();
    let waiting = std::thread::spawn(move || worker.take("w", LONG).unwrap().unwrap().batch());
    collection.offer(1, b"").unwrap();
    assert_eq!(waiting.join().unwrap(), 1);
    assert!(started.elapsed() < LONG / 2);
}

#[test]
fn workers_share_batches_without_taking_any_twice() {
    let Some(server) = NatsServer::start() else { return };
    let collection = server.collection(LONG);
    let workers: Vec<_> = (0..4).map(|_| server.worker()).collect();
    for batch in 1..=40 {
        collection.offer(batch, b"pages").unwrap();
    }
    let takers: Vec<_> = workers
        .into_iter()
        .map(|worker| {
            std::thread::spawn(move || {
                let mut taken = Vec::new();
                while let Some(lease) = worker.take("w", SHORT).unwrap() {
                    taken.push(lease.batch());
                    lease.done().unwrap();
                }
                taken
            })
        })
        .collect();
    let mut taken: Vec<u64> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, (1..=40).collect::<Vec<u64>>());
}

#[test]
fn a_batch_of_a_dead_worker_goes_to_another_and_the_dead_one_cannot_come_back() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, first, second) = (server.collection(SHORT), server.worker(), server.worker());
    collection.offer(1, b"pages").unwrap();
    let stale = first.take("first", LONG).unwrap().unwrap();
    let before = Instant::now();
    assert!(stale.keep().unwrap());
    let lease = second.take("second", LONG).unwrap().unwrap();
    assert!(before.elapsed() >= SHORT, "taken away after {:?}", before.elapsed());
    assert_eq!((lease.batch(), lease.message()), (1, &b"pages"[..]));
    // The second tells that it has it; the first knows of nothing.
    assert!(second.append(1, 0, b"mine").unwrap().is_some());
    assert_eq!(first.append(1, 0, b"mine").unwrap(), None);
    assert!(!stale.keep().unwrap());
    assert!(lease.keep().unwrap());
    // What the first says about it counts no more: when the second dies too, a third one gets it.
    stale.done().unwrap();
    let third = first.take("third", LONG).unwrap().unwrap();
    assert!(!lease.keep().unwrap());
    third.done().unwrap();
    assert!(second.take("second", 2 * SHORT).unwrap().is_none());
}

#[test]
fn who_keeps_a_batch_keeps_it() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker, other) = (server.collection(SHORT), server.worker(), server.worker());
    collection.offer(1, b"pages").unwrap();
    let lease = worker.take("w", LONG).unwrap().unwrap();
    let waiting = std::thread::spawn(move || other.take("other", 4 * SHORT).unwrap().is_none());
    while !waiting.is_finished() {
        assert!(lease.keep().unwrap());
        std::thread::sleep(SHORT / 4);
    }
    assert!(waiting.join().unwrap(), "another got what was kept");
}

#[test]
fn a_lease_lasts_as_long_as_its_holder_thinks() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    collection.offer(1, b"pages").unwrap();
    let lease = worker.take("w", LONG).unwrap().unwrap();
    drop(collection);
    let _impatient = server.collection(SHORT);
    assert!(server.worker().take("other", 3 * SHORT).unwrap().is_none(), "it was lent for longer");
    assert!(lease.keep().unwrap());
}

#[test]
fn a_batch_that_was_forgotten_is_lent_to_nobody() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(SHORT), server.worker());
    collection.offer(1, b"pages").unwrap();
    collection.offer(2, b"pages").unwrap();
    let lease = worker.take("w", LONG).unwrap().unwrap();
    collection.forget(1).unwrap();
    collection.forget(2).unwrap();
    assert!(!lease.keep().unwrap());
    assert!(worker.take("w", 3 * SHORT).unwrap().is_none());
    lease.done().unwrap();
}
