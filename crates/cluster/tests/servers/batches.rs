//! Leases: one worker at a time, and another one after the lease has expired.

use std::time::{Duration, Instant};

use crate::nats_server::NatsServer;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::ZERO;

#[test]
fn a_batch_is_published_leased_renewed_and_completed() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    assert!(worker.acquire_lease("w", NOW).unwrap().is_none());
    coordinator.publish_batch(7, b"pages").unwrap();
    coordinator.publish_batch(7, b"other pages").unwrap();
    let lease = worker.acquire_lease("w", LONG).unwrap().unwrap();
    assert_eq!((lease.batch(), lease.message(), lease.duration()), (7, &b"pages"[..], Some(LONG)));
    assert!(lease.renew().unwrap());
    assert!(lease.renew().unwrap());
    assert!(worker.acquire_lease("w", NOW).unwrap().is_none(), "it is leased");
    lease.complete().unwrap();
    coordinator.publish_batch(7, b"pages").unwrap();
    assert!(
        worker.acquire_lease("w", SHORT).unwrap().is_none(),
        "it is completed and cannot be published again"
    );
    coordinator.delete_batch(7).unwrap();
    coordinator.delete_batch(7).unwrap();
    coordinator.publish_batch(7, b"new pages").unwrap();
    assert_eq!(worker.acquire_lease("w", LONG).unwrap().unwrap().message(), b"new pages");
}

#[test]
fn a_waiting_worker_gets_a_batch_as_soon_as_it_is_published() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    let started = Instant::now();
    let waiting = std::thread::spawn(move || worker.acquire_lease("w", LONG).unwrap().unwrap().batch());
    coordinator.publish_batch(1, b"").unwrap();
    assert_eq!(waiting.join().unwrap(), 1);
    assert!(started.elapsed() < LONG / 2);
}

#[test]
fn each_batch_is_leased_by_exactly_one_worker() {
    let Some(server) = NatsServer::start() else { return };
    let coordinator = server.coordinator(LONG);
    let workers: Vec<_> = (0..4).map(|_| server.worker()).collect();
    for batch in 1..=40 {
        coordinator.publish_batch(batch, b"pages").unwrap();
    }
    let threads: Vec<_> = workers
        .into_iter()
        .map(|worker| {
            std::thread::spawn(move || {
                let mut leased = Vec::new();
                while let Some(lease) = worker.acquire_lease("w", SHORT).unwrap() {
                    leased.push(lease.batch());
                    lease.complete().unwrap();
                }
                leased
            })
        })
        .collect();
    let mut leased: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    leased.sort_unstable();
    assert_eq!(leased, (1..=40).collect::<Vec<u64>>());
}

#[test]
fn a_batch_with_an_expired_lease_goes_to_another_worker_and_the_first_cannot_return() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, first, second) = (server.coordinator(SHORT), server.worker(), server.worker());
    coordinator.publish_batch(1, b"pages").unwrap();
    let stale = first.acquire_lease("first", LONG).unwrap().unwrap();
    let before = Instant::now();
    assert!(stale.renew().unwrap());
    let lease = second.acquire_lease("second", LONG).unwrap().unwrap();
    assert!(before.elapsed() >= SHORT, "leased again after {:?}", before.elapsed());
    assert_eq!((lease.batch(), lease.message()), (1, &b"pages"[..]));
    // The second writes to the log; the first does not know yet that it has lost the lease.
    assert!(second.append_log(1, 0, b"mine").unwrap().is_some());
    assert_eq!(first.append_log(1, 0, b"mine").unwrap(), None);
    assert!(!stale.renew().unwrap());
    assert!(lease.renew().unwrap());
    // Completion by the first has no effect: when the second lease expires too, a third worker gets the batch.
    stale.complete().unwrap();
    let third = first.acquire_lease("third", LONG).unwrap().unwrap();
    assert!(!lease.renew().unwrap());
    third.complete().unwrap();
    assert!(second.acquire_lease("second", 2 * SHORT).unwrap().is_none());
}

#[test]
fn a_renewed_lease_does_not_expire() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker, other) = (server.coordinator(SHORT), server.worker(), server.worker());
    coordinator.publish_batch(1, b"pages").unwrap();
    let lease = worker.acquire_lease("w", LONG).unwrap().unwrap();
    let waiting = std::thread::spawn(move || other.acquire_lease("other", 4 * SHORT).unwrap().is_none());
    while !waiting.is_finished() {
        assert!(lease.renew().unwrap());
        std::thread::sleep(SHORT / 4);
    }
    assert!(waiting.join().unwrap(), "another worker got a renewed lease");
}

#[test]
fn a_lease_keeps_the_duration_with_which_it_was_acquired() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    coordinator.publish_batch(1, b"pages").unwrap();
    let lease = worker.acquire_lease("w", LONG).unwrap().unwrap();
    drop(coordinator);
    let _shorter_lease = server.coordinator(SHORT);
    assert!(server.worker().acquire_lease("other", 3 * SHORT).unwrap().is_none(), "it was leased for longer");
    assert!(lease.renew().unwrap());
}

#[test]
fn a_deleted_batch_is_not_leased() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(SHORT), server.worker());
    coordinator.publish_batch(1, b"pages").unwrap();
    coordinator.publish_batch(2, b"pages").unwrap();
    let lease = worker.acquire_lease("w", LONG).unwrap().unwrap();
    coordinator.delete_batch(1).unwrap();
    coordinator.delete_batch(2).unwrap();
    assert!(!lease.renew().unwrap());
    assert!(worker.acquire_lease("w", 3 * SHORT).unwrap().is_none());
    lease.complete().unwrap();
}
