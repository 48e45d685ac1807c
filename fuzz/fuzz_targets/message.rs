//! Parses any bytes as the messages between coordinator and workers: a message that is written again is read back as it was.
#![no_main]

use std::sync::LazyLock;

use harvest::transport::messages::{ControlMessage, LogRecord, WorkerReport, read_offer, write_offer};
use harvest::{BlobStore, DirBlobStore, check_blob_name};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Empty blob store; offers of this target are short.
static BLOBS: LazyLock<DirBlobStore> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("weir-fuzz-blobs-{}", std::process::id()));
    DirBlobStore::open(&dir).expect("the temporary directory is writable")
});

fn check<T: Serialize + DeserializeOwned + std::fmt::Debug>(message: &[u8]) {
    let Ok(value) = serde_json::from_slice::<T>(message) else { return };
    let written = serde_json::to_vec(&value).expect("a message is valid JSON");
    let again: T = serde_json::from_slice(&written).expect("a written message can be read");
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
}

fuzz_target!(|message: &[u8]| {
    check::<ControlMessage>(message);
    check::<WorkerReport>(message);
    if let Ok(record) = LogRecord::read(message) {
        let again = LogRecord::read(&record.write().expect("a record is valid JSON"))
            .expect("a written record can be read");
        assert_eq!(format!("{again:?}"), format!("{record:?}"));
    }
    let offer = zstd::bulk::compress(message, 1).expect("bytes can be compressed");
    for offer in [message, &offer] {
        if let Ok(batch) = read_offer(7, offer, &*BLOBS) {
            let written = write_offer(&batch, &*BLOBS).expect("an offer can be written");
            assert_eq!(read_offer(7, &written, &*BLOBS).expect("a written offer can be read"), batch);
        }
    }
    let name = String::from_utf8_lossy(message);
    if check_blob_name(&name).is_ok() {
        assert!(
            !name.starts_with('/') && name.split('/').all(|part| !matches!(part, "" | "." | "..")),
            "{name:?}"
        );
        assert!(BLOBS.get(&name, 1).is_ok_and(|blob| blob.is_none()) || name.len() > 200, "{name:?}");
    }
});
