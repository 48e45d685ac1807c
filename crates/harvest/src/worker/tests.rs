//! Tests of a worker with a broker in a directory.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::transport::dir_blob_store::DirBlobStore;
use crate::transport::dir_broker::DirBroker;

fn control(run: u64, now_ms: u64) -> Vec<u8> {
    let message = ControlMessage {
        protocol: PROTOCOL,
        run,
        now_ms,
        stop_mode: StopMode::Running,
        paused: false,
        max_requests_per_second: 0.0,
        settings: String::new(),
    };
    serde_json::to_vec(&message).unwrap()
}

/// Runs a worker in a new directory. `coordinate` acts as the coordinator until the worker has ended.
fn run_worker(
    handle: &CrawlHandle,
    coordinate: impl Fn(&DirBroker, &dyn BlobStore, u64) + Sync,
) -> Result<WorkerSummary, Error> {
    let temp = tempfile::tempdir().unwrap();
    let coordinator = DirBroker::open_coordinator(&temp.path().join("broker")).unwrap();
    let broker = DirBroker::open_worker(&temp.path().join("broker")).unwrap();
    let blobs = DirBlobStore::open(&temp.path().join("blobs")).unwrap();
    let config = WorkerConfig {
        broker: &broker,
        blobs: &blobs,
        name: "w",
        max_batches: 1,
        parse_settings: &|_| Ok(CrawlSettings::default()),
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                coordinate(&coordinator, &blobs, round);
                thread::sleep(Duration::from_millis(10));
            }
        });
        let outcome = work(&config, handle);
        done.store(true, Ordering::Relaxed);
        outcome
    })
}

#[test]
fn a_worker_of_another_protocol_version_is_rejected() {
    let handle = CrawlHandle::new(CrawlSettings::default());
    let outcome = run_worker(&handle, |coordinator, _, _| {
        coordinator.publish_control(br#"{"protocol":999}"#).unwrap();
    });
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("protocol version 999"), "{error}");
}

#[test]
fn a_worker_with_another_blob_store_is_rejected() {
    let handle = CrawlHandle::new(CrawlSettings::default());
    let outcome = run_worker(&handle, |coordinator, blobs, round| {
        blobs.put(messages::RUN_MARKER_BLOB, b"8".to_vec()).unwrap();
        coordinator.publish_control(&control(7, round)).unwrap();
    });
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("another blob store"), "{error}");
}

#[test]
fn a_worker_ends_when_it_is_stopped_or_the_crawl_is() {
    let stopped = CrawlHandle::new(CrawlSettings::default());
    stopped.stop(StopMode::Graceful);
    let summary = run_worker(&stopped, |_, _, _| {}).unwrap();
    assert_eq!((summary.batches_done, summary.leases_lost), (0, 0));

    let handle = CrawlHandle::new(CrawlSettings::default());
    let summary = run_worker(&handle, |coordinator, blobs, round| {
        blobs.put(messages::RUN_MARKER_BLOB, b"7".to_vec()).unwrap();
        let mut message: ControlMessage = serde_json::from_slice(&control(7, round)).unwrap();
        if round > 100 {
            message.stop_mode = StopMode::Graceful;
        }
        coordinator.publish_control(&serde_json::to_vec(&message).unwrap()).unwrap();
    });
    let summary = summary.unwrap();
    assert_eq!((summary.batches_done, summary.leases_lost), (0, 0));
    assert_eq!(handle.stop_mode(), StopMode::Graceful);
}
