//! Indexing of damaged pages, I/O errors and interrupted runs.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use model::PageId;
use search::Error;
use store::Snapshot;

use crate::index_again;
use testkit::text_collection::{Sample, settings};

#[test]
fn a_damaged_page_is_excluded_and_reported_until_it_is_repaired() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    let damaged = sample.visit("http://a.test/2", "<p>second");
    sample.visit("http://a.test/3", "<p>third");
    sample.collection.commit(1).unwrap();
    let (file, offset) = record_middle(&sample, damaged);
    let mut before = [0; 8];
    file.read_exact_at(&mut before, offset).unwrap();
    file.write_all_at(&before.map(|byte| !byte), offset).unwrap();
    for _ in 0..2 {
        let summary = index_again(&sample);
        assert_eq!((summary.pages, summary.excluded.damaged), (2, 1));
        assert_eq!(summary.damaged[0].url, "http://a.test/2");
        assert!(summary.damaged[0].error.contains("corrupt"), "{:?}", summary.damaged);
    }
    file.write_all_at(&before, offset).unwrap();
    let summary = index_again(&sample);
    assert_eq!((summary.pages, summary.added, summary.excluded.damaged), (3, 1, 0));
    assert_eq!(sample.pages_with("body", "second"), [damaged.0]);
}

#[test]
fn a_page_that_becomes_damaged_is_removed() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    let damaged = sample.visit("http://a.test/2", "<p>second");
    sample.index();
    sample.visit("http://a.test/2", "<p>changed");
    sample.collection.commit(2).unwrap();
    let (file, offset) = record_middle(&sample, damaged);
    file.write_all_at(&[0; 8], offset).unwrap();
    let summary = index_again(&sample);
    assert_eq!((summary.pages, summary.removed, summary.excluded.damaged), (1, 1, 1));
}

/// Opens the file of a page, with the offset of a byte in the middle of its record.
fn record_middle(sample: &Sample, page: PageId) -> (File, u64) {
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let location = snapshot.page_state.get(page).unwrap().unwrap().record_location.unwrap();
    let mut dirs = vec![sample.path().to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let is_file = path.to_string_lossy().ends_with(".warc.gz");
            if path.is_dir() { &mut dirs } else { &mut files }
                .extend((path.is_dir() || is_file).then_some(path));
        }
    }
    assert_eq!(files.len(), 1, "{files:?}");
    let file = File::options().read(true).write(true).open(&files[0]).unwrap();
    (file, location.offset + u64::from(location.length) / 2)
}

#[test]
fn an_io_error_does_not_discard_the_index() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    sample.index();
    sample.visit("http://a.test/2", "<p>second");
    sample.collection.commit(2).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let index = || search::index(&snapshot, &settings(), &mut |_| ControlFlow::Continue(()));
    // A directory can be opened but not read: an I/O error, not damage.
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
fn an_interrupted_run_is_resumed() {
    let mut sample = Sample::new();
    for n in 0..600 {
        sample.visit(&format!("http://a.test/{n}"), &format!("<p>word{n} and all the others"));
    }
    sample.collection.commit(1).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let mut stops = 0;
    let summary = loop {
        let mut left = 100;
        let index = search::index(&snapshot, &settings(), &mut |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match index {
            Err(Error::Stopped) => stops += 1,
            summary => break summary.unwrap(),
        }
    };
    assert!(stops > 1 && summary.added < 600, "{stops}, {summary:?}");
    assert_eq!(summary.pages, 600);
    let terms = sample.terms();
    fs::remove_dir_all(sample.path().join("text")).unwrap();
    index_again(&sample);
    assert!(terms == sample.terms(), "no page is indexed twice");
}

#[test]
fn names_in_the_list_of_index_files_do_not_lead_out_of_the_index() {
    let mut sample = Sample::new();
    sample.visit("http://a.test/1", "<p>first");
    sample.index();
    let victim = sample.path().join("letter");
    fs::write(&victim, "dear").unwrap();
    let managed = sample.path().join("text/index/.managed.json");
    for name in ["../../letter", victim.to_str().unwrap()] {
        let list = fs::read_to_string(&managed).unwrap();
        fs::write(&managed, list.replacen('[', &format!("[\"{name}\","), 1)).unwrap();
        let error = search::TextIndex::open(sample.path()).err().unwrap();
        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
        index_again(&sample);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "dear");
        assert_eq!(search::TextIndex::open(sample.path()).unwrap().pages(), 1, "the index is rebuilt");
    }
}

#[test]
fn the_checksums_of_the_index_files_are_complete_after_every_run() {
    let list = |sample: &Sample| store::FileList::read(&sample.path().join("text/FILES")).unwrap().unwrap();
    let mut sample = Sample::new();
    for round in 0..3 {
        sample.visit(&format!("http://a.test/{round}"), "<p>first");
        sample.index();
        let list = list(&sample);
        assert!(list.is_complete);
        let names: Vec<&str> = list.files().iter().map(|file| file.name.as_str()).collect();
        assert!(
            names.contains(&"text/index/meta.json") && names.contains(&"text/index/.managed.json"),
            "{names:?}"
        );
        for file in list.files() {
            let mut measured = store::FileList::new();
            measured.add_file(&sample.path().join(&file.name), &file.name).unwrap();
            assert_eq!(measured.get(&file.name), Some(file));
        }
    }
}
