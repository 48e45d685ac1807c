//! Is anything lost or doubled when the broker is killed and started again?

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cluster::{Carriage, Credentials, Role, connect_broker};
use crawl::{Broker, BrokerError};

use crate::nats_server::{COLLECTION, NatsServer};
use crate::waiting::wait_for;

const LONG: Duration = Duration::from_secs(30);

/// Entries by batch.
type Heard = HashMap<u64, Vec<Vec<u8>>>;

#[test]
fn logs_are_heard_once_and_in_order_over_kills_of_the_broker() {
    let Some(mut server) = NatsServer::start() else { return };
    let collection = server.collection(LONG);
    let workers: Vec<_> = (0..3).map(|_| server.worker()).collect();
    let (over, written) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    let mut heard = Heard::new();
    let told: HashMap<u64, u32> = std::thread::scope(|scope| {
        let writers: Vec<_> = (1..)
            .zip(&workers)
            .map(|(batch, worker)| {
                let (over, written) = (&over, &written);
                scope.spawn(move || (batch, write_until(&**worker, batch, over, written)))
            })
            .collect();
        let mut hear = |enough: &dyn Fn(&Heard) -> bool| {
            wait_for("entries", || {
                for entry in until_there(|| collection.listen(Duration::from_millis(100))) {
                    heard.entry(entry.batch).or_default().push(entry.message);
                }
                enough(&heard).then_some(())
            });
        };
        for _ in 0..3 {
            let before = written.load(Ordering::SeqCst);
            hear(&|_| written.load(Ordering::SeqCst) > before + 30);
            server.kill();
            server.start_again();
        }
        over.store(true, Ordering::SeqCst);
        let told: HashMap<u64, u32> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        hear(&|heard| {
            told.iter().all(|(batch, count)| heard.get(batch).is_some_and(|log| log.len() >= *count as usize))
        });
        told
    });
    for (batch, count) in told {
        let expected: Vec<Vec<u8>> = (0..count).map(|number| number.to_le_bytes().to_vec()).collect();
        assert!(heard[&batch] == expected, "batch {batch}: {} heard of {count}", heard[&batch].len());
    }
    assert_eq!(collection.listen(Duration::from_millis(300)).unwrap(), []);
}

/// Adds numbers to a log until it is over; tells how many.
fn write_until(
    worker: &dyn Broker,
    batch: u64,
    over: &AtomicBool,
    written: &std::sync::atomic::AtomicU64,
) -> u32 {
    let (mut after, mut count) = (0, 0_u32);
    while !over.load(Ordering::SeqCst) {
        after = until_there(|| worker.append(batch, after, &count.to_le_bytes()))
            .expect("nobody else writes here");
        count += 1;
        written.fetch_add(1, Ordering::SeqCst);
    }
    count
}

/// Asks until the broker is there.
fn until_there<T>(mut ask: impl FnMut() -> Result<T, BrokerError>) -> T {
    loop {
        match ask() {
            Err(BrokerError::Unavailable { .. }) => {}
            answer => return answer.unwrap(),
        }
    }
}

#[test]
fn leases_and_offers_survive_a_kill_of_the_broker() {
    let Some(mut server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    for batch in 1..=3 {
        collection.offer(batch, b"pages").unwrap();
    }
    let first = worker.take("w", LONG).unwrap().unwrap();
    let second = worker.take("w", LONG).unwrap().unwrap();
    first.done().unwrap();
    server.kill();
    server.start_again();
    assert!(until_there(|| second.keep()));
    collection.offer(1, b"pages").unwrap();
    let third = worker.take("w", LONG).unwrap().unwrap();
    assert_eq!(third.batch(), 3);
    second.done().unwrap();
    third.done().unwrap();
    assert!(worker.take("w", Duration::from_secs(1)).unwrap().is_none());
}

#[test]
fn a_broker_that_is_away_is_said_to_be_unavailable_within_a_bounded_time() {
    let Some(mut server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    collection.offer(1, b"pages").unwrap();
    let lease = worker.take("w", LONG).unwrap().unwrap();
    server.kill();
    let asks: Vec<Box<dyn Fn() -> Result<(), BrokerError> + Send + Sync>> = vec![
        Box::new(|| collection.offer(2, b"pages")),
        Box::new(|| worker.take("w", Duration::from_secs(1)).map(|_| ())),
        Box::new(|| worker.append(1, 0, b"a").map(|_| ())),
        Box::new(|| collection.log(1).map(|_| ())),
        Box::new(|| collection.listen(Duration::from_secs(1)).map(|_| ())),
        Box::new(|| collection.forget(9)),
        Box::new(|| collection.order(b"stop")),
        Box::new(|| lease.keep().map(|_| ())),
    ];
    std::thread::scope(|scope| {
        for ask in &asks {
            scope.spawn(move || {
                let started = Instant::now();
                let outcome = ask();
                assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })), "{outcome:?}");
                assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
            });
        }
    });
    let role = Role::Collection(Carriage::default());
    let outcome = connect_broker(&server.url(), COLLECTION, role, &Credentials::default());
    assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })));
    server.start_again();
    for ask in &asks {
        until_there(ask);
    }
    assert_eq!(collection.log(1).unwrap().len(), 1, "what was asked before was not done twice");
}

#[test]
fn who_waits_for_a_batch_over_a_kill_of_the_broker_gets_it() {
    let Some(mut server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    let waiting = std::thread::spawn(move || worker.take("w", LONG).unwrap().map(|lease| lease.batch()));
    server.kill();
    server.start_again();
    until_there(|| collection.offer(5, b"pages"));
    assert_eq!(waiting.join().unwrap(), Some(5));
}
