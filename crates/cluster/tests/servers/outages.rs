//! Restarts of the broker: nothing is lost and nothing is delivered twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cluster::{BrokerCredentials, Role, StreamSettings, connect_broker};
use harvest::{Broker, BrokerError};

use crate::nats_server::{COLLECTION, NatsServer};
use testkit::wait_for;

const LONG: Duration = Duration::from_secs(30);

/// Messages received, by batch.
type Received = HashMap<u64, Vec<Vec<u8>>>;

#[test]
fn log_entries_are_delivered_once_and_in_order_across_restarts_of_the_broker() {
    let Some(mut server) = NatsServer::start() else { return };
    let coordinator = server.coordinator(LONG);
    let workers: Vec<_> = (0..3).map(|_| server.worker()).collect();
    let (stop, written) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    let mut received = Received::new();
    let appended: HashMap<u64, u32> = std::thread::scope(|scope| {
        let writers: Vec<_> = (1..)
            .zip(&workers)
            .map(|(batch, worker)| {
                let (stop, written) = (&stop, &written);
                scope.spawn(move || (batch, write_until(&**worker, batch, stop, written)))
            })
            .collect();
        let mut receive = |enough: &dyn Fn(&Received) -> bool| {
            wait_for("entries", || {
                for entry in retry(|| coordinator.poll_logs(Duration::from_millis(100))) {
                    received.entry(entry.batch).or_default().push(entry.message);
                }
                enough(&received).then_some(())
            });
        };
        for _ in 0..3 {
            let before = written.load(Ordering::SeqCst);
            receive(&|_| written.load(Ordering::SeqCst) > before + 30);
            server.kill();
            server.restart();
        }
        stop.store(true, Ordering::SeqCst);
        let appended: HashMap<u64, u32> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        receive(&|received| {
            appended
                .iter()
                .all(|(batch, count)| received.get(batch).is_some_and(|log| log.len() >= *count as usize))
        });
        appended
    });
    for (batch, count) in appended {
        let expected: Vec<Vec<u8>> = (0..count).map(|number| number.to_le_bytes().to_vec()).collect();
        assert!(
            received[&batch] == expected,
            "batch {batch}: {} of {count} received",
            received[&batch].len()
        );
    }
    assert_eq!(coordinator.poll_logs(Duration::from_millis(300)).unwrap(), []);
}

/// Appends numbers to a log until `stop` is set; returns how many.
fn write_until(
    worker: &dyn Broker,
    batch: u64,
    stop: &AtomicBool,
    written: &std::sync::atomic::AtomicU64,
) -> u32 {
    let (mut after, mut count) = (0, 0_u32);
    while !stop.load(Ordering::SeqCst) {
        after =
            retry(|| worker.append_log(batch, after, &count.to_le_bytes())).expect("this log has one writer");
        count += 1;
        written.fetch_add(1, Ordering::SeqCst);
    }
    count
}

/// Retries while the broker is unavailable.
fn retry<T>(mut operation: impl FnMut() -> Result<T, BrokerError>) -> T {
    loop {
        match operation() {
            Err(BrokerError::Unavailable { .. }) => {}
            result => return result.unwrap(),
        }
    }
}

#[test]
fn leases_and_batches_survive_a_restart_of_the_broker() {
    let Some(mut server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    for batch in 1..=3 {
        coordinator.publish_batch(batch, b"pages").unwrap();
    }
    let first = worker.acquire_lease("w", LONG).unwrap().unwrap();
    let second = worker.acquire_lease("w", LONG).unwrap().unwrap();
    first.complete().unwrap();
    server.kill();
    server.restart();
    assert!(retry(|| second.renew()));
    coordinator.publish_batch(1, b"pages").unwrap();
    let third = worker.acquire_lease("w", LONG).unwrap().unwrap();
    assert_eq!(third.batch(), 3);
    second.complete().unwrap();
    third.complete().unwrap();
    assert!(worker.acquire_lease("w", Duration::from_secs(1)).unwrap().is_none());
}

#[test]
fn every_operation_fails_as_unavailable_within_a_bounded_time_while_the_broker_is_down() {
    let Some(mut server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    coordinator.publish_batch(1, b"pages").unwrap();
    let lease = worker.acquire_lease("w", LONG).unwrap().unwrap();
    server.kill();
    let operations: Vec<Box<dyn Fn() -> Result<(), BrokerError> + Send + Sync>> = vec![
        Box::new(|| coordinator.publish_batch(2, b"pages")),
        Box::new(|| worker.acquire_lease("w", Duration::from_secs(1)).map(|_| ())),
        Box::new(|| worker.append_log(1, 0, b"a").map(|_| ())),
        Box::new(|| coordinator.read_log(1).map(|_| ())),
        Box::new(|| coordinator.poll_logs(Duration::from_secs(1)).map(|_| ())),
        Box::new(|| coordinator.delete_batch(9)),
        Box::new(|| coordinator.publish_control(b"stop")),
        Box::new(|| lease.renew().map(|_| ())),
    ];
    std::thread::scope(|scope| {
        for operation in &operations {
            scope.spawn(move || {
                let started = Instant::now();
                let outcome = operation();
                assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })), "{outcome:?}");
                assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
            });
        }
    });
    let role = Role::Coordinator(StreamSettings::default());
    let outcome = connect_broker(&server.url(), COLLECTION, role, &BrokerCredentials::default());
    assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })));
    server.restart();
    for operation in &operations {
        retry(operation);
    }
    assert_eq!(coordinator.read_log(1).unwrap().len(), 1, "no operation was applied twice");
}

#[test]
fn a_worker_that_waits_during_a_restart_of_the_broker_gets_its_batch() {
    let Some(mut server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    let waiting =
        std::thread::spawn(move || worker.acquire_lease("w", LONG).unwrap().map(|lease| lease.batch()));
    server.kill();
    server.restart();
    retry(|| coordinator.publish_batch(5, b"pages"));
    assert_eq!(waiting.join().unwrap(), Some(5));
}
