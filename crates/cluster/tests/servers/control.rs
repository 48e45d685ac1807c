//! Control messages to workers, and reports of workers.

use std::time::Duration;

use crate::nats_server::NatsServer;
use testkit::wait_for;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn the_last_control_message_reaches_connected_and_later_workers() {
    let Some(mut server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    assert_eq!(worker.latest_control().unwrap(), None);
    coordinator.publish_control(b"pause").unwrap();
    assert_eq!(coordinator.latest_control().unwrap().unwrap(), b"pause");
    wait_for("the control message", || {
        worker.latest_control().unwrap().filter(|message| message == b"pause")
    });
    coordinator.publish_control(b"continue").unwrap();
    wait_for("the control message", || {
        worker.latest_control().unwrap().filter(|message| message == b"continue")
    });
    assert_eq!(server.worker().latest_control().unwrap().unwrap(), b"continue");
    // It stays cached while the broker is down, and is read again after the reconnect.
    server.kill();
    assert_eq!(worker.latest_control().unwrap().unwrap(), b"continue");
    server.restart();
    coordinator.publish_control(b"stop").unwrap();
    wait_for("the control message", || worker.latest_control().unwrap().filter(|message| message == b"stop"));
}

#[test]
fn the_last_report_of_each_worker_reaches_the_coordinator() {
    let Some(mut server) = NatsServer::start() else { return };
    let (coordinator, worker) = (server.coordinator(LONG), server.worker());
    assert!(coordinator.drain_reports().unwrap().is_empty());
    let reports = |texts: &[&str]| {
        for (index, text) in texts.iter().enumerate() {
            worker.send_report(&format!("host.example:{index}"), text.as_bytes()).unwrap();
        }
        let mut received = Vec::new();
        wait_for("reports", || {
            received.extend(coordinator.drain_reports().unwrap());
            (received.len() >= texts.len()).then_some(())
        });
        received.sort();
        assert_eq!(received, texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
    };
    reports(&["a", "b", "c"]);
    reports(&["d"]);
    server.kill();
    worker.send_report("w", b"lost").unwrap();
    server.restart();
    wait_for("a report", || {
        worker.send_report("w", b"back").unwrap();
        coordinator.drain_reports().unwrap().into_iter().find(|report| report == b"back")
    });
}
