//! `weir compact`.

use super::{objects, run_text, sample};

#[test]
fn the_space_of_superseded_versions_is_freed() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 6));
    let page_bytes = || objects(dir, &["status", "DIR"])[0]["warc_bytes"].as_u64().unwrap();
    let page_bytes_before = page_bytes();
    let output = &objects(dir, &["compact", "DIR", "--keep-versions", "latest"])[0];
    let [before, after] = ["bytes_before", "bytes_after"].map(|name| output[name].as_u64().unwrap());
    let superseded = page_bytes_before - page_bytes();
    assert!(superseded > page_bytes_before / 2, "{superseded} of {page_bytes_before}");
    assert!(before - after > superseded, "{before} {after} {superseded}");
    let files = std::fs::read_dir(dir.join("pages")).unwrap().count();
    assert_eq!(files, 3, "one WARC file, and an index of two files");
    assert_eq!(objects(dir, &["check", "DIR"])[0]["ok"], true);
    assert_eq!(objects(dir, &["status", "DIR"])[0]["pages_fetched"], 5);

    let (code, out, _) = run_text(dir, &["compact", "DIR", "--keep-versions", "1"]);
    assert!(code == 0 && out.starts_with("freed 0 bytes ("), "{out}");
}

#[test]
fn the_settings_limit_the_versions_and_a_snapshot_keeps_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 6));
    assert_eq!(run_text(dir, &["snapshots", "DIR", "--create", "old"]).0, 0);
    assert_eq!(run_text(dir, &["compact", "DIR"]).0, 0);
    let versions = |snapshot: Option<&str>| {
        let snapshot = store::Snapshot::open(dir, snapshot).unwrap();
        snapshot.page_store.versions(sample::URLS[0]).unwrap().len()
    };
    assert_eq!(versions(None), 6, "all versions are kept by default");
    std::fs::write(dir.join("weir.toml"), "[warc]\nkeep_versions = 2\n").unwrap();
    assert_eq!(run_text(dir, &["compact", "DIR"]).0, 0);
    assert_eq!((versions(None), versions(Some("old"))), (2, 6));

    std::fs::write(dir.join("weir.toml"), "[warc]\nkeep_version = 2\n").unwrap();
    let (code, _, err) = run_text(dir, &["compact", "DIR"]);
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "weir: DIR/weir.toml: line 2: unknown setting `warc.keep_version`; did you mean `warc.keep_versions`?\n"
    );
}

#[test]
fn fetches_name_the_records_where_they_are_after_a_compaction() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 6));
    objects(dir, &["compact", "DIR", "--keep-versions", "latest"]);
    let snapshot = store::Snapshot::open(dir, None).unwrap();
    let rows = store::TableReader::<store::FetchRows>::open_committed(dir, &snapshot.manifest).unwrap();
    let (mut stored, mut dropped) = (0, 0);
    rows.for_each_row(|row| match row.warc_filename {
        Some(file) => {
            let versions = snapshot.page_store.versions(row.url).unwrap();
            let location = versions.last().unwrap().location;
            assert_eq!(file, format!("pages/{}", location.file_name()));
            assert_eq!(row.warc_record_offset, Some(location.offset as i64));
            assert_eq!(row.warc_record_length, Some(location.length as i32));
            stored += 1;
        }
        None => dropped += 1,
    })
    .unwrap();
    assert_eq!((stored, dropped), (6, 30));
    assert_eq!(objects(dir, &["check", "DIR"])[0]["ok"], true);
}

#[test]
fn a_second_writer_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let _first = sample::make(dir, 1);
    let second = run_text(dir, &["compact", "DIR"]);
    let message = "weir: DIR is locked by another process; wait for it, or stop it\n";
    assert_eq!(second, (2, String::new(), message.to_owned()));
}
