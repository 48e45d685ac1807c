//! Do orders reach all workers, and reports the collection?

use std::time::Duration;

use crate::nats_server::NatsServer;
use crate::waiting::wait_for;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn the_last_orders_reach_those_who_are_there_and_those_who_come_later() {
    let Some(mut server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    assert_eq!(worker.orders().unwrap(), None);
    collection.order(b"pause").unwrap();
    assert_eq!(collection.orders().unwrap().unwrap(), b"pause");
    wait_for("orders", || worker.orders().unwrap().filter(|orders| orders == b"pause"));
    collection.order(b"go on").unwrap();
    wait_for("orders", || worker.orders().unwrap().filter(|orders| orders == b"go on"));
    assert_eq!(server.worker().orders().unwrap().unwrap(), b"go on");
    // They are still known while the broker is away, and looked up when it is back.
    server.kill();
    assert_eq!(worker.orders().unwrap().unwrap(), b"go on");
    server.start_again();
    collection.order(b"stop").unwrap();
    wait_for("orders", || worker.orders().unwrap().filter(|orders| orders == b"stop"));
}

#[test]
fn the_last_report_of_each_worker_reaches_the_collection() {
    let Some(mut server) = NatsServer::start() else { return };
    let (collection, worker) = (server.collection(LONG), server.worker());
    assert!(collection.reports().unwrap().is_empty());
    let reports = |texts: &[&str]| {
        for (number, text) in texts.iter().enumerate() {
            worker.report(&format!("host.example:{number}"), text.as_bytes()).unwrap();
        }
        let mut heard = Vec::new();
        wait_for("reports", || {
            heard.extend(collection.reports().unwrap());
            (heard.len() >= texts.len()).then_some(())
        });
        heard.sort();
        assert_eq!(heard, texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
    };
    reports(&["a", "b", "c"]);
    reports(&["d"]);
    server.kill();
    worker.report("w", b"nobody hears this").unwrap();
    server.start_again();
    wait_for("a report", || {
        worker.report("w", b"back").unwrap();
        collection.reports().unwrap().into_iter().find(|report| report == b"back")
    });
}
