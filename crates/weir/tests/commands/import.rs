//! Tests of `weir import`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use store::{Collection, StoreSettings};

fn weir(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weir")).arg("import").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn archive(dir: &Path) -> std::path::PathBuf {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/next>next</a>";
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2024-05-17T00:00:00Z\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    let path = dir.join("archive.warc");
    fs::write(&path, record).unwrap();
    path
}

#[test]
fn an_import_prints_a_summary() {
    let temp = tempfile::tempdir().unwrap();
    let web = temp.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let output = weir(&[&web, &archive(temp.path()), Path::new("--json")]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, value) in [
        ("files", 1),
        ("records", 1),
        ("pages", 1),
        ("links", 1),
        ("already_stored", 0),
        ("records_skipped", 0),
        ("body_bytes", 22),
    ] {
        assert_eq!(summary[name], value, "{name}");
    }
    assert!(summary["seconds"].is_f64());
}

#[test]
fn a_file_can_be_imported_again() {
    let temp = tempfile::tempdir().unwrap();
    let web = temp.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let archive = archive(temp.path());
    assert_eq!(weir(&[&web, &archive]).status.code(), Some(0));
    let output = weir(&[&web, &archive]);
    assert_eq!(output.status.code(), Some(0));
    let out = text(&output.stdout);
    assert!(out.starts_with("imported 0 pages with 0 links (0 bytes) from 1 file"), "{out}");
    assert!(out.ends_with("1 fetch already stored\n"), "{out}");
}

#[test]
fn a_missing_file_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let output = weir(&[&temp.path().join("web"), &archive(temp.path()), &temp.path().join("absent.warc")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("absent.warc"));
    let output = weir(&[&temp.path().join("web"), temp.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is a directory"), "{}", text(&output.stderr));
}

#[test]
fn a_missing_collection_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let output = weir(&[temp.path(), &archive(temp.path())]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("weir init"), "{}", text(&output.stderr));
}

#[test]
fn a_damaged_file_is_reported_and_the_others_are_imported() {
    let temp = tempfile::tempdir().unwrap();
    let web = temp.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let damaged = temp.path().join("damaged.warc");
    fs::write(&damaged, "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99\r\n\r\nshort").unwrap();
    let output = weir(&[&web, &damaged, &archive(temp.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("damaged.warc"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("imported 1 page with 1 link"), "{}", text(&output.stdout));
}
