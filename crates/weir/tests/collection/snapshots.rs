//! `weir snapshots`.

use super::{objects, run_text, sample};

#[test]
fn a_snapshot_is_created_and_deleted() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let mut collection = sample::make(dir, 1);
    let (code, out, _) = run_text(dir, &["snapshots", "DIR", "--create", "the first", "--generation", "1"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(out, @r"
             0  empty
             1  2026-11-15 08:30:00 UTC  the first
             2  2026-11-15 08:31:00 UTC
    ");
    for now_ms in 0..8 {
        collection.commit(now_ms).unwrap();
    }
    let generations = |entries: Vec<serde_json::Value>| -> Vec<u64> {
        entries.iter().map(|entry| entry["generation"].as_u64().unwrap()).collect()
    };
    assert_eq!(generations(objects(dir, &["snapshots", "DIR"])), [1, 7, 8, 9, 10]);
    assert_eq!(objects(dir, &["status", "DIR", "--snapshot", "the first"])[0]["pages_fetched"], 0);
    assert_eq!(objects(dir, &["check", "DIR", "--snapshot", "the first"])[0]["generation"], 1);

    assert_eq!(run_text(dir, &["snapshots", "DIR", "--delete", "the first"]).0, 0);
    collection.commit(9).unwrap();
    assert_eq!(generations(objects(dir, &["snapshots", "DIR"])), [8, 9, 10, 11]);
}

#[test]
fn invalid_and_duplicate_names_are_rejected() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(dir, 1));
    let refused = |arguments: &[&str]| {
        let (code, out, err) = run_text(dir, &[&["snapshots", "DIR"], arguments].concat());
        assert_eq!((code, out.as_str()), (2, ""));
        err
    };
    assert!(refused(&["--create", "12"]).contains("it must contain a letter"));
    assert!(refused(&["--create", ""]).contains("invalid snapshot name"));
    let reversed = refused(&["--create", "a\u{202e}b"]);
    assert!(reversed.contains("invalid snapshot name `a\\u{202e}b`"), "{reversed}");
    assert_eq!(run_text(dir, &["snapshots", "DIR", "--create", "a"]).0, 0);
    assert!(refused(&["--create", "a"]).contains("snapshot `a` already exists (generation 2)"));
    assert!(refused(&["--create", "b"]).contains("generation 2 already has the name `a`"));
    assert!(refused(&["--create", "c", "--generation", "77"]).contains("no snapshot `77`"));
    assert!(refused(&["--delete", "z"]).contains("no snapshot `z`"));
}
