//! Full disk: the commit fails with an error, the collection stays readable, and writing continues when there is space.

use store::Collection;

use crate::rounds::{settings, verify, write_round};
use testkit::SmallDisk;

#[test]
fn a_full_disk_fails_only_the_commit() {
    let place = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(place.path(), "1m") else {
        return testkit::skip("no privilege to mount a small disk");
    };
    let dir = place.path().join("collection");
    let mut collection = Collection::create(&dir, settings()).unwrap();
    let mut committed = 0;
    let error = loop {
        let written = write_round(&mut collection, committed + 1);
        match written.and_then(|()| collection.commit(0).map(|manifest| manifest.generation)) {
            Ok(generation) => committed = generation,
            Err(error) => break error,
        }
        assert!(committed < 10_000, "the disk never fills");
    };
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert!(committed > 2, "{committed} rounds had room");
    assert_eq!(verify(&dir), committed, "readable while the disk is full");

    drop(collection);
    disk.resize("64m");
    let mut collection = Collection::open(&dir, settings()).unwrap();
    for round in committed + 1..committed + 4 {
        write_round(&mut collection, round).unwrap();
        collection.commit(0).unwrap();
    }
    assert_eq!(verify(&dir), committed + 3);
}
