//! Do depots keep what is put there, within limits?

use std::time::{Duration, Instant};

use cluster::{S3Access, open_depot};
use crawl::{BrokerError, Depot};

use crate::nats_server::refusal;
use crate::s3_server::S3Server;
use crate::waiting::wait_for;

/// More than one piece of anything.
const LARGE_BYTES: usize = 20 << 20;

/// What all depots do.
fn keeps_what_is_put_there(depot: &dyn Depot) {
    let large: Vec<u8> = (0..LARGE_BYTES).map(|place| (place % 251) as u8).collect();
    depot.put("harvest/7/a.zst", b"pages".to_vec()).unwrap();
    depot.put("harvest/7/a.zst", b"pages".to_vec()).unwrap();
    depot.put("harvest/7/b.zst", large.clone()).unwrap();
    depot.put("empty", Vec::new()).unwrap();
    assert_eq!(depot.get("harvest/7/a.zst", 5).unwrap().unwrap(), b"pages");
    assert!(depot.get("harvest/7/b.zst", LARGE_BYTES as u64).unwrap().unwrap() == large);
    assert_eq!(depot.get("empty", 0).unwrap().unwrap(), b"");
    assert!(refusal(depot.get("harvest/7/a.zst", 4)).contains("longer than 4 bytes"));
    assert!(refusal(depot.get("harvest/7/b.zst", LARGE_BYTES as u64 - 1)).contains("longer than"));
    assert_eq!(depot.get("harvest/7/c.zst", 5).unwrap(), None);
    depot.put("harvest/70/a.zst", b"other".to_vec()).unwrap();
    depot.remove("harvest/7/a.zst").unwrap();
    depot.remove("harvest/7/a.zst").unwrap();
    assert!(depot.get("harvest/7/b.zst", LARGE_BYTES as u64).unwrap().is_some());
    depot.remove_all("harvest/7").unwrap();
    depot.remove_all("harvest/7").unwrap();
    for gone in ["a", "b"] {
        assert_eq!(depot.get(&format!("harvest/7/{gone}.zst"), 5).unwrap(), None);
    }
    assert_eq!(depot.get("harvest/70/a.zst", 5).unwrap().unwrap(), b"other");
    for name in ["", "/etc/passwd", "../a", "harvest//a", "harvest/.a", "a b"] {
        assert!(refusal(depot.put(name, Vec::new())).contains("no name"), "{name}");
        assert!(refusal(depot.get(name, 5)).contains("no name"), "{name}");
        assert!(refusal(depot.remove(name)).contains("no name"), "{name}");
        assert!(refusal(depot.remove_all(name)).contains("no name"), "{name}");
    }
}

#[test]
fn a_folder_keeps_what_is_put_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("depot");
    let url = format!("file://{}", path.display());
    keeps_what_is_put_there(&*open_depot(&url, &S3Access::default()).unwrap());
    let left: Vec<_> =
        std::fs::read_dir(path.join("harvest/70")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["a.zst"], "nothing half done is left");
    assert!(!path.join("harvest/7").exists());
}

#[test]
fn what_is_no_depot_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let here = format!("file://{}", file.display());
    for url in ["harvest", "ftp://host/a", "file://host/a", "s3://", "s3:///a", "s3://bucket/../a", &here] {
        refusal(open_depot(url, &S3Access::default()));
    }
}

#[test]
fn a_bucket_keeps_what_is_put_there_and_a_stranger_is_refused() {
    let Some(server) = S3Server::start() else { return };
    keeps_what_is_put_there(&*open_depot("s3://crawl/a/b/", &server.access()).unwrap());
    let [whole, folder] =
        ["s3://crawl", "s3://crawl/a"].map(|url| open_depot(url, &server.access()).unwrap());
    whole.put("a/x", b"1".to_vec()).unwrap();
    assert_eq!(folder.get("x", 1).unwrap().unwrap(), b"1");
    let stranger = S3Access { secret_key: Some("guess".to_owned()), ..server.access() };
    let why = refusal(open_depot("s3://crawl", &stranger).unwrap().get("a/x", 1));
    assert!(why.contains("get from the depot"), "{why}");
}

#[test]
fn a_bucket_whose_server_is_away_is_unavailable_and_works_again_later() {
    let Some(mut server) = S3Server::start() else { return };
    let depot = open_depot("s3://crawl", &server.access()).unwrap();
    depot.put("a", b"1".to_vec()).unwrap();
    server.kill();
    let started = Instant::now();
    let (put, got) = (depot.put("b", b"2".to_vec()), depot.get("a", 1).map(|_| ()));
    for outcome in [put, got, depot.remove("a"), depot.remove_all("a")] {
        assert!(matches!(outcome, Err(BrokerError::Unavailable { .. })), "{outcome:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    server.start_again();
    wait_for("the depot", || depot.put("b", b"2".to_vec()).ok());
    let both = (depot.get("a", 1).unwrap().unwrap(), depot.get("b", 1).unwrap().unwrap());
    assert_eq!(both, (b"1".to_vec(), b"2".to_vec()));
}
