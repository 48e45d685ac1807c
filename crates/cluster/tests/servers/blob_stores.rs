//! Blob stores: what is written is read back, within size limits.

use std::time::{Duration, Instant};

use cluster::{S3Config, open_blob_store};
use harvest::{BlobStore, BrokerError};

use crate::nats_server::refusal;
use crate::s3_server::S3Server;
use testkit::wait_for;

/// More than one chunk of any client.
const LARGE_BYTES: usize = 20 << 20;

/// Checks that hold for every blob store.
fn returns_what_was_written(blobs: &dyn BlobStore) {
    let large: Vec<u8> = (0..LARGE_BYTES).map(|index| (index % 251) as u8).collect();
    blobs.put("harvest/7/a.zst", b"pages".to_vec()).unwrap();
    blobs.put("harvest/7/a.zst", b"pages".to_vec()).unwrap();
    blobs.put("harvest/7/b.zst", large.clone()).unwrap();
    blobs.put("empty", Vec::new()).unwrap();
    assert_eq!(blobs.get("harvest/7/a.zst", 5).unwrap().unwrap(), b"pages");
    assert!(blobs.get("harvest/7/b.zst", LARGE_BYTES as u64).unwrap().unwrap() == large);
    assert_eq!(blobs.get("empty", 0).unwrap().unwrap(), b"");
    assert!(refusal(blobs.get("harvest/7/a.zst", 4)).contains("longer than 4 bytes"));
    assert!(refusal(blobs.get("harvest/7/b.zst", LARGE_BYTES as u64 - 1)).contains("longer than"));
    assert_eq!(blobs.get("harvest/7/c.zst", 5).unwrap(), None);
    blobs.put("harvest/70/a.zst", b"other".to_vec()).unwrap();
    blobs.remove("harvest/7/a.zst").unwrap();
    blobs.remove("harvest/7/a.zst").unwrap();
    assert!(blobs.get("harvest/7/b.zst", LARGE_BYTES as u64).unwrap().is_some());
    blobs.remove_prefix("harvest/7").unwrap();
    blobs.remove_prefix("harvest/7").unwrap();
    for gone in ["a", "b"] {
        assert_eq!(blobs.get(&format!("harvest/7/{gone}.zst"), 5).unwrap(), None);
    }
    assert_eq!(blobs.get("harvest/70/a.zst", 5).unwrap().unwrap(), b"other");
    for name in ["", "/etc/passwd", "../a", "harvest//a", "harvest/.a", "a b"] {
        assert!(refusal(blobs.put(name, Vec::new())).contains("not a valid blob name"), "{name}");
        assert!(refusal(blobs.get(name, 5)).contains("not a valid blob name"), "{name}");
        assert!(refusal(blobs.remove(name)).contains("not a valid blob name"), "{name}");
        assert!(refusal(blobs.remove_prefix(name)).contains("not a valid blob name"), "{name}");
    }
}

#[test]
fn a_directory_returns_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("blobs");
    let url = format!("file://{}", path.display());
    returns_what_was_written(&*open_blob_store(&url, &S3Config::default()).unwrap());
    let left: Vec<_> =
        std::fs::read_dir(path.join("harvest/70")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["a.zst"], "no temporary file is left");
    assert!(!path.join("harvest/7").exists());
}

#[test]
fn invalid_store_urls_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let here = format!("file://{}", file.display());
    for url in ["harvest", "ftp://host/a", "file://host/a", "s3://", "s3:///a", "s3://bucket/../a", &here] {
        refusal(open_blob_store(url, &S3Config::default()));
    }
}

#[test]
fn a_bucket_returns_what_was_written_and_rejects_wrong_credentials() {
    let Some(server) = S3Server::start() else { return };
    returns_what_was_written(&*open_blob_store("s3://crawl/a/b/", &server.config()).unwrap());
    let [whole, dir] =
        ["s3://crawl", "s3://crawl/a"].map(|url| open_blob_store(url, &server.config()).unwrap());
    whole.put("a/x", b"1".to_vec()).unwrap();
    assert_eq!(dir.get("x", 1).unwrap().unwrap(), b"1");
    let wrong_key = S3Config { secret_key: Some("guess".to_owned()), ..server.config() };
    let cause = refusal(open_blob_store("s3://crawl", &wrong_key).unwrap().get("a/x", 1));
    assert!(cause.contains("cannot read from the blob store"), "{cause}");
}

#[test]
fn a_bucket_is_unavailable_while_its_server_is_down_and_recovers() {
    let Some(mut server) = S3Server::start() else { return };
    let blobs = open_blob_store("s3://crawl", &server.config()).unwrap();
    blobs.put("a", b"1".to_vec()).unwrap();
    server.kill();
    let started = Instant::now();
    let (put, got) = (blobs.put("b", b"2".to_vec()), blobs.get("a", 1).map(|_| ()));
    for outcome in [put, got, blobs.remove("a"), blobs.remove_prefix("a")] {
        assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })), "{outcome:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    server.restart();
    wait_for("the blob store", || blobs.put("b", b"2".to_vec()).ok());
    let both = (blobs.get("a", 1).unwrap().unwrap(), blobs.get("b", 1).unwrap().unwrap());
    assert_eq!(both, (b"1".to_vec(), b"2".to_vec()));
}
