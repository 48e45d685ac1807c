//! `weir compact`.

use super::{objects, sample, told};

#[test]
fn space_is_given_back_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 6));
    let page_bytes = || objects(dir, &["status", "DIR"])[0]["bytes"].as_u64().unwrap();
    let page_bytes_before = page_bytes();
    let answer = &objects(dir, &["compact", "DIR", "--keep", "latest"])[0];
    let [before, after] = ["bytes_before", "bytes_after"].map(|name| answer[name].as_u64().unwrap());
    let superseded = page_bytes_before - page_bytes();
    assert!(superseded > page_bytes_before / 2, "{superseded} of {page_bytes_before}");
    assert!(before - after > superseded, "{before} {after} {superseded}");
    let files = std::fs::read_dir(dir.join("pages")).unwrap().count();
    assert_eq!(files, 3, "one file of pages, and an index of two");
    assert_eq!(objects(dir, &["check", "DIR"])[0]["sound"], true);
    assert_eq!(objects(dir, &["status", "DIR"])[0]["pages_fetched"], 5);

    let (code, out, _) = told(dir, &["compact", "DIR", "--keep", "1"]);
    assert!(code == 0 && out.starts_with("gave 0 bytes back: "), "{out}");
}

#[test]
fn the_settings_say_what_is_kept_and_a_named_snapshot_keeps_all() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(dir, 6));
    assert_eq!(told(dir, &["snapshots", "DIR", "--keep", "old"]).0, 0);
    assert_eq!(told(dir, &["compact", "DIR"]).0, 0);
    let versions = |snapshot: Option<&str>| {
        let snapshot = store::Snapshot::open(dir, snapshot).unwrap();
        snapshot.bodies.versions(sample::URLS[0]).unwrap().len()
    };
    assert_eq!(versions(None), 6, "all are kept unless somebody says otherwise");
    std::fs::write(dir.join("weir.toml"), "[pages]\nkeep = 2\n").unwrap();
    assert_eq!(told(dir, &["compact", "DIR"]).0, 0);
    assert_eq!((versions(None), versions(Some("old"))), (2, 6));

    std::fs::write(dir.join("weir.toml"), "[pages]\nkeeps = 2\n").unwrap();
    let (code, _, err) = told(dir, &["compact", "DIR"]);
    assert_eq!(code, 2);
    assert_eq!(err, "weir: DIR/weir.toml: there is no setting `pages.keeps`; is `pages.keep` meant?\n");
}

#[test]
fn a_second_writer_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let _first = sample::make(dir, 1);
    let second = told(dir, &["compact", "DIR"]);
    let sentence = "weir: DIR is being written to by another process; wait for it, or stop it\n";
    assert_eq!(second, (2, String::new(), sentence.to_owned()));
}
