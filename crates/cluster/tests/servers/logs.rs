//! Logs: conditional appends, and delivery exactly once.

use std::time::Duration;

use cluster::{BrokerCredentials, Role, connect_broker};
use harvest::{Broker, LogEntry, MAX_MESSAGE_BYTES};

use crate::nats_server::{COLLECTION, NatsServer, refusal};
use crate::proxy::Proxy;
use testkit::wait_for;

const LONG: Duration = Duration::from_secs(30);
const NOW: Duration = Duration::ZERO;

fn messages(entries: &[LogEntry]) -> Vec<(u64, &[u8])> {
    entries.iter().map(|entry| (entry.batch, &entry.message[..])).collect()
}

#[test]
fn an_entry_is_appended_only_after_the_entry_that_its_writer_has_seen() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker, other) = (server.coordinator(LONG), server.worker(), server.worker());
    let first = worker.append_log(1, 0, b"a").unwrap().unwrap();
    worker.append_log(2, 0, b"x").unwrap().unwrap();
    let second = worker.append_log(1, first, b"b").unwrap().unwrap();
    assert!(second > first);
    assert_eq!(other.append_log(1, 0, b"c").unwrap(), None);
    assert_eq!(other.append_log(1, first, b"c").unwrap(), None);
    assert_eq!(other.append_log(1, second + 5, b"c").unwrap(), None);
    let log = coordinator.read_log(1).unwrap();
    assert_eq!(messages(&log), [(1, &b"a"[..]), (1, b"b")]);
    assert_eq!([log[0].seq, log[1].seq], [first, second]);
    assert_eq!(coordinator.read_log(3).unwrap(), []);
}

#[test]
fn a_repeated_append_succeeds_but_one_of_another_writer_conflicts() {
    let Some(server) = NatsServer::start() else { return };
    let (_collection, worker, other) = (server.coordinator(LONG), server.worker(), server.worker());
    let number = worker.append_log(1, 0, b"a").unwrap();
    assert!(number.is_some());
    assert_eq!(worker.append_log(1, 0, b"a").unwrap(), number);
    assert_eq!(other.append_log(1, 0, b"a").unwrap(), None, "the same message of another writer");
    assert_eq!(worker.append_log(1, 0, b"b").unwrap(), None, "another message");
    other.append_log(1, number.unwrap(), b"c").unwrap().unwrap();
    assert_eq!(worker.append_log(1, 0, b"a").unwrap(), None, "another entry follows");
    assert_eq!(worker.read_log(1).unwrap().len(), 2);
}

#[test]
fn a_lost_confirmation_causes_neither_a_second_entry_nor_a_conflict() {
    let Some(server) = NatsServer::start() else { return };
    let coordinator = server.coordinator(LONG);
    let proxy = Proxy::to(server.port());
    let worker =
        connect_broker(&proxy.url(), COLLECTION, Role::Worker, &BrokerCredentials::default()).unwrap();
    let first = worker.append_log(1, 0, b"a").unwrap().unwrap();
    proxy.drop_responses();
    let appending = std::thread::spawn(move || worker.append_log(1, first, b"b").unwrap());
    let log = wait_for("the entry", || Some(coordinator.read_log(1).unwrap()).filter(|log| log.len() == 2));
    assert!(!appending.is_finished());
    proxy.cut();
    assert_eq!(appending.join().unwrap(), Some(log[1].seq));
    assert_eq!(coordinator.read_log(1).unwrap().len(), 2);
}

#[test]
fn a_subscriber_gets_each_entry_once_and_a_new_one_all_entries_that_were_not_deleted() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    assert_eq!(coordinator.poll_logs(NOW).unwrap(), []);
    let a = worker.append_log(1, 0, b"a").unwrap().unwrap();
    worker.append_log(2, 0, b"x").unwrap().unwrap();
    assert_eq!(messages(&poll_entries(&*coordinator, 2)), [(1, &b"a"[..]), (2, b"x")]);
    worker.append_log(1, a, b"b").unwrap().unwrap();
    assert_eq!(messages(&poll_entries(&*coordinator, 1)), [(1, &b"b"[..])]);
    assert_eq!(coordinator.poll_logs(Duration::from_millis(300)).unwrap(), []);
    coordinator.delete_batch(1).unwrap();
    assert_eq!(coordinator.read_log(1).unwrap(), []);
    drop(coordinator);
    let coordinator = server.coordinator(LONG);
    assert_eq!(messages(&poll_entries(&*coordinator, 1)), [(2, &b"x"[..])]);
}

#[test]
fn more_entries_than_one_poll_returns_are_all_delivered() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    let mut after = 0;
    for number in 0..200_u32 {
        after = worker.append_log(1, after, &number.to_le_bytes()).unwrap().unwrap();
    }
    let received: Vec<u32> = poll_entries(&*coordinator, 200)
        .iter()
        .map(|entry| u32::from_le_bytes(entry.message[..].try_into().unwrap()))
        .collect();
    assert_eq!(received, (0..200).collect::<Vec<u32>>());
}

#[test]
fn messages_of_the_maximum_size_are_accepted_and_longer_ones_rejected() {
    let Some(server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    let mut message = vec![7; MAX_MESSAGE_BYTES];
    coordinator.publish_batch(1, &message).unwrap();
    assert_eq!(worker.acquire_lease("w", LONG).unwrap().unwrap().message(), message);
    worker.append_log(1, 0, &message).unwrap().unwrap();
    assert_eq!(poll_entries(&*coordinator, 1)[0].message, message);
    message.push(7);
    assert!(refusal(worker.append_log(2, 0, &message)).contains("exceeds the broker's maximum"));
    assert!(refusal(coordinator.publish_batch(2, &message)).contains("exceeds the broker's maximum"));
}

/// Polls until `count` entries were received.
fn poll_entries(broker: &dyn Broker, count: usize) -> Vec<LogEntry> {
    let mut received = Vec::new();
    wait_for("entries", || {
        received.extend(broker.poll_logs(Duration::from_millis(200)).unwrap());
        (received.len() >= count).then_some(())
    });
    assert_eq!(received.len(), count);
    received
}
