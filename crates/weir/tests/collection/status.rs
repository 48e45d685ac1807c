//! `weir status`.

use super::{objects, sample, told};

#[test]
fn counts_are_those_of_the_last_commit() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    // It stays open for writing: nobody who reads has to wait.
    let _writer = sample::make(dir, 2);
    let answer = &objects(dir, &["status", "DIR"])[0];
    let numbers =
        ["pages_known", "pages_fetched", "pages_queued", "sites", "links", "errors", "cycle", "generation"]
            .map(|name| answer[name].as_u64().unwrap());
    assert_eq!(numbers, [6, 5, 0, 2, 10, 1, 0, 3]);
    assert!(answer["bytes"].as_u64().unwrap() > 1_000);
    assert!(answer["disk_bytes"].as_u64() > answer["bytes"].as_u64());

    let (code, out, err) = told(dir, &["status", "DIR", "--snapshot", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let out = regular(&out);
    insta::assert_snapshot!(out, @r"
    DIR
      pages     6 known: 0 fetched, 0 queued, 6 wait, 0 failed, 0 rejected
      sites     2, 0 with queued pages, 0 left alone after failures, 0 only other names
      robots    0 with rules, 0 without, 0 out of reach, 2 not asked for
      links     0
      disk      SIZE, of which 0 bytes are pages
      commit    number 1, of 2026-11-15 08:30:00 UTC
    ");
}

/// The sizes of compressed files are no words of ours.
fn regular(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(", of which") {
        Some((_, rest)) => format!("  disk      SIZE, of which{rest}"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_not_there_is_wrong_use() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let none = told(dir, &["status", "DIR"]);
    let sentence = "weir: DIR is no collection: it has no MANIFEST; `weir init` makes one\n";
    assert_eq!(none, (2, String::new(), sentence.to_owned()));
    drop(sample::make(dir, 1));
    let (code, _, err) = told(dir, &["status", "DIR", "--snapshot", "other"]);
    assert_eq!(code, 2);
    assert_eq!(err, "weir: there is no snapshot other; `weir snapshots` lists those that are kept\n");
}
