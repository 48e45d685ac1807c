//! What becomes of the index when pages are damaged, disks are in trouble or somebody is in a hurry.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use model::PageId;
use search::Error;
use store::Snapshot;

use crate::index_again;
use crate::sample::{Sample, settings};

#[test]
fn a_damaged_page_is_left_out_by_name_until_it_is_put_right() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    let damaged = sample.visit("http://a.test/2", "<p>second");
    sample.visit("http://a.test/3", "<p>third");
    sample.collection.commit(1).unwrap();
    let (file, offset) = place_of(&sample, damaged);
    let mut before = [0; 8];
    file.read_exact_at(&mut before, offset).unwrap();
    file.write_all_at(&before.map(|byte| !byte), offset).unwrap();
    for _ in 0..2 {
        let summary = index_again(&sample);
        assert_eq!((summary.pages, summary.left_out.damaged), (2, 1));
        assert_eq!(summary.damaged[0].url, "http://a.test/2");
        assert!(summary.damaged[0].why.contains("damaged"), "{:?}", summary.damaged);
    }
    file.write_all_at(&before, offset).unwrap();
    let summary = index_again(&sample);
    assert_eq!((summary.pages, summary.added, summary.left_out.damaged), (3, 1, 0));
    assert_eq!(sample.pages_with("body", "second"), [damaged.0]);
}

#[test]
fn a_page_that_was_damaged_since_leaves_the_index() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    let damaged = sample.visit("http://a.test/2", "<p>second");
    sample.index();
    sample.visit("http://a.test/2", "<p>changed");
    sample.collection.commit(2).unwrap();
    let (file, offset) = place_of(&sample, damaged);
    file.write_all_at(&[0; 8], offset).unwrap();
    let summary = index_again(&sample);
    assert_eq!((summary.pages, summary.removed, summary.left_out.damaged), (1, 1, 1));
}

/// The file with a page, and a byte in the middle of it.
fn place_of(sample: &Sample, page: PageId) -> (File, u64) {
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let location = snapshot.pages.get(page).unwrap().unwrap().stored.unwrap();
    let mut folders = vec![sample.path().to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_file = path.to_string_lossy().ends_with(".warc.gz");
            if path.is_dir() { &mut folders } else { &mut files }
                .extend((path.is_dir() || is_file).then_some(path));
        }
    }
    assert_eq!(files.len(), 1, "{files:?}");
    let file = File::options().read(true).write(true).open(&files[0]).unwrap();
    (file, location.offset + u64::from(location.length) / 2)
}

#[test]
fn an_error_of_the_system_deletes_nothing() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    sample.index();
    sample.visit("http://a.test/2", "<p>second");
    sample.collection.commit(2).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let index = || search::index(&snapshot, &settings(), &mut |_| ControlFlow::Continue(()));
    // A folder opens and cannot be read; the file is not damaged, it is out of reach.
    let (meta, aside) = (sample.path().join("text/index/meta.json"), sample.path().join("aside"));
    fs::rename(&meta, &aside).unwrap();
    fs::create_dir(&meta).unwrap();
    let error = index().unwrap_err();
    assert!(!matches!(error, Error::Unreadable { .. }), "{error}");
    fs::remove_dir(&meta).unwrap();
    fs::rename(&aside, &meta).unwrap();
    assert_eq!(index().unwrap().added, 1, "the first page is still there");
}

#[test]
fn who_breaks_off_goes_on_where_it_was() {
    let mut sample = Sample::new();
    for n in 0..600 {
        sample.visit(&format!("http://a.test/{n}"), &format!("<p>word{n} and all the others"));
    }
    sample.collection.commit(1).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let mut broken_off = 0;
    let summary = loop {
        let mut left = 100;
        let index = search::index(&snapshot, &settings(), &mut |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match index {
            Err(Error::Stopped) => broken_off += 1,
            summary => break summary.unwrap(),
        }
    };
    assert!(broken_off > 1 && summary.added < 600, "{broken_off}, {summary:?}");
    assert_eq!(summary.pages, 600);
    let terms = sample.terms();
    fs::remove_dir_all(sample.path().join("text")).unwrap();
    index_again(&sample);
    assert!(terms == sample.terms(), "nothing is there twice");
}
