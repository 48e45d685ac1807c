//! `weir status`.

use super::{objects, run_text, sample};

#[test]
fn counts_are_those_of_the_last_commit() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    // Readers do not need the lock of the writer.
    let _writer = sample::make(dir, 2);
    let status = &objects(dir, &["status", "DIR"])[0];
    let numbers = [
        "pages_known",
        "pages_fetched",
        "pages_queued",
        "sites_known",
        "links",
        "pages_failed",
        "last_batch",
        "generation",
    ]
    .map(|name| status[name].as_u64().unwrap());
    assert_eq!(numbers, [6, 5, 0, 2, 10, 1, 0, 3]);
    assert!(status["warc_bytes"].as_u64().unwrap() > 1_000);
    assert!(status["disk_bytes"].as_u64() > status["warc_bytes"].as_u64());

    let (code, out, err) = run_text(dir, &["status", "DIR", "--snapshot", "1"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let out = without_sizes(&out);
    insta::assert_snapshot!(out, @r"
    DIR
      pages     6 known: 0 fetched, 0 queued, 6 discovered, 0 failed, 0 rejected
      sites     2 known, 0 with queued pages, 0 in back-off, 0 aliases
      robots    0 with rules, 0 missing, 0 unreachable, 2 not fetched
      links     0
      disk      SIZE (WARC 0 bytes)
      commit    generation 1, 2026-11-15 08:30:00 UTC
    ");
}

/// Replaces the size on disk, which depends on the compression library.
fn without_sizes(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(" (WARC") {
        Some((_, rest)) => format!("  disk      SIZE (WARC{rest}"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_missing_collection_or_snapshot_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let none = run_text(dir, &["status", "DIR"]);
    let message = "weir: DIR is not a Weir collection (no MANIFEST); create one with `weir init DIR`\n";
    assert_eq!(none, (2, String::new(), message.to_owned()));
    drop(sample::make(dir, 1));
    let (code, _, err) = run_text(dir, &["status", "DIR", "--snapshot", "other"]);
    assert_eq!(code, 2);
    assert_eq!(err, "weir: no snapshot `other`; list them with `weir snapshots DIR`\n");
}
