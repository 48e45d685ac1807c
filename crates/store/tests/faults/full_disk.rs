//! A disk that is full: the commit fails and says so, the collection stays readable, and goes on when there is room.

use std::path::Path;
use std::process::Command;

use store::Collection;

use crate::rounds::{settings, verify, write_round};

/// A file system in memory that can be made as small as wanted; gone with this value.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where this process may not mount.
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], folder.path())
            .then_some(SmallDisk { folder })
    }

    fn resize(&self, size: &str) {
        assert!(mount(&["-o", &format!("remount,size={size}")], self.folder.path()));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_full_disk_stops_the_commit_and_nothing_else() {
    let Some(disk) = SmallDisk::mount("1m") else {
        eprintln!("skipped: this process may not mount a small disk");
        return;
    };
    let folder = disk.folder.path().join("collection");
    let mut collection = Collection::create(&folder, settings()).unwrap();
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
    assert_eq!(verify(&folder), committed, "readable while the disk is full");

    drop(collection);
    disk.resize("64m");
    let mut collection = Collection::open(&folder, settings()).unwrap();
    for round in committed + 1..committed + 4 {
        write_round(&mut collection, round).unwrap();
        collection.commit(0).unwrap();
    }
    assert_eq!(verify(&folder), committed + 3);
}
