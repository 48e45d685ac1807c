//! Are entries of logs added behind the one that their writer knows, and heard once?

use std::time::Duration;

use cluster::{Credentials, Role, connect_broker};
use crawl::{Broker, LogEntry, MESSAGE_LIMIT_BYTES};

use crate::nats_server::{COLLECTION, NatsServer, refusal};
use crate::proxy::Proxy;
use crate::waiting::wait_for;

const LONG: Duration = Duration::from_secs(30);
const NOW: Duration = Duration::ZERO;

fn says(entries: &[LogEntry]) -> Vec<(u64, &[u8])> {
    entries.iter().map(|entry| (entry.batch, &entry.message[..])).collect()
}

#[test]
fn entries_are_added_in_order_or_not_at_all() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker, other) = (server.collection(LONG), server.worker(), server.worker());
    let first = worker.append(1, 0, b"a").unwrap().unwrap();
    worker.append(2, 0, b"x").unwrap().unwrap();
    let second = worker.append(1, first, b"b").unwrap().unwrap();
    assert!(second > first);
    assert_eq!(other.append(1, 0, b"c").unwrap(), None);
    assert_eq!(other.append(1, first, b"c").unwrap(), None);
    assert_eq!(other.append(1, second + 5, b"c").unwrap(), None);
    let log = collection.log(1).unwrap();
    assert_eq!(says(&log), [(1, &b"a"[..]), (1, b"b")]);
    assert_eq!([log[0].number, log[1].number], [first, second]);
    assert_eq!(collection.log(3).unwrap(), []);
}

#[test]
fn an_append_that_is_repeated_is_not_refused_but_another_writer_is() {
    let Some(server) = NatsServer::start() else { return };
    let (_collection, worker, other) = (server.collection(LONG), server.worker(), server.worker());
    let number = worker.append(1, 0, b"a").unwrap();
    assert!(number.is_some());
    assert_eq!(worker.append(1, 0, b"a").unwrap(), number);
    assert_eq!(other.append(1, 0, b"a").unwrap(), None, "the same words of somebody else");
    assert_eq!(worker.append(1, 0, b"b").unwrap(), None, "other words");
    other.append(1, number.unwrap(), b"c").unwrap().unwrap();
    assert_eq!(worker.append(1, 0, b"a").unwrap(), None, "somebody has gone on since");
    assert_eq!(worker.log(1).unwrap().len(), 2);
}

#[test]
fn a_confirmation_that_is_lost_makes_no_second_entry_and_no_refusal() {
    let Some(server) = NatsServer::start() else { return };
    let collection = server.collection(LONG);
    let proxy = Proxy::to(server.port());
    let worker = connect_broker(&proxy.url(), COLLECTION, Role::Worker, &Credentials::default()).unwrap();
    let first = worker.append(1, 0, b"a").unwrap().unwrap();
    proxy.lose_answers();
    let appending = std::thread::spawn(move || worker.append(1, first, b"b").unwrap());
    let log = wait_for("the entry", || Some(collection.log(1).unwrap()).filter(|log| log.len() == 2));
    assert!(!appending.is_finished());
    proxy.cut();
    assert_eq!(appending.join().unwrap(), Some(log[1].number));
    assert_eq!(collection.log(1).unwrap().len(), 2);
}

#[test]
fn who_listens_hears_every_entry_once_and_who_comes_later_what_was_not_forgotten() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    assert_eq!(collection.listen(NOW).unwrap(), []);
    let a = worker.append(1, 0, b"a").unwrap().unwrap();
    worker.append(2, 0, b"x").unwrap().unwrap();
    assert_eq!(says(&listen_for(&*collection, 2)), [(1, &b"a"[..]), (2, b"x")]);
    worker.append(1, a, b"b").unwrap().unwrap();
    assert_eq!(says(&listen_for(&*collection, 1)), [(1, &b"b"[..])]);
    assert_eq!(collection.listen(Duration::from_millis(300)).unwrap(), []);
    collection.forget(1).unwrap();
    assert_eq!(collection.log(1).unwrap(), []);
    drop(collection);
    let collection = server.collection(LONG);
    assert_eq!(says(&listen_for(&*collection, 1)), [(2, &b"x"[..])]);
}

#[test]
fn more_entries_than_are_handed_on_at_once_are_all_heard() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    let mut after = 0;
    for number in 0..200_u32 {
        after = worker.append(1, after, &number.to_le_bytes()).unwrap().unwrap();
    }
    let heard: Vec<u32> = listen_for(&*collection, 200)
        .iter()
        .map(|entry| u32::from_le_bytes(entry.message[..].try_into().unwrap()))
        .collect();
    assert_eq!(heard, (0..200).collect::<Vec<u32>>());
}

#[test]
fn messages_as_long_as_the_limit_are_carried_and_longer_ones_refused() {
    let Some(server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    let mut message = vec![7; MESSAGE_LIMIT_BYTES];
    collection.offer(1, &message).unwrap();
    assert_eq!(worker.take("w", LONG).unwrap().unwrap().message(), message);
    worker.append(1, 0, &message).unwrap().unwrap();
    assert_eq!(listen_for(&*collection, 1)[0].message, message);
    message.push(7);
    assert!(refusal(worker.append(2, 0, &message)).contains("too long"));
    assert!(refusal(collection.offer(2, &message)).contains("too long"));
}

/// Listens until so many entries were heard.
fn listen_for(broker: &dyn Broker, count: usize) -> Vec<LogEntry> {
    let mut heard = Vec::new();
    wait_for("entries", || {
        heard.extend(broker.listen(Duration::from_millis(200)).unwrap());
        (heard.len() >= count).then_some(())
    });
    assert_eq!(heard.len(), count);
    heard
}
