//! `weir import` as a user runs it.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

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

fn archive(folder: &Path) -> std::path::PathBuf {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/next>next</a>";
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nWARC-Date: 2024-05-17T00:00:00Z\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    let path = folder.join("archive.warc");
    fs::write(&path, record).unwrap();
    path
}

#[test]
fn an_import_ends_with_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let output = weir(&[&web, &archive(folder.path()), Path::new("--json")]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, value) in [
        ("files", 1),
        ("records", 1),
        ("pages", 1),
        ("links", 1),
        ("known", 0),
        ("skipped", 0),
        ("bytes", 22),
    ] {
        assert_eq!(answer[name], value, "{name}");
    }
    assert!(answer["seconds"].is_f64());
}

#[test]
fn a_file_can_be_imported_again() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let archive = archive(folder.path());
    assert_eq!(weir(&[&web, &archive]).status.code(), Some(0));
    let output = weir(&[&web, &archive]);
    assert_eq!(output.status.code(), Some(0));
    let answer = text(&output.stdout);
    assert!(answer.starts_with("imported 0 pages with 0 links (0 bytes) from 1 file"), "{answer}");
    assert!(answer.ends_with("left out 1 visit that the collection has already\n"), "{answer}");
}

#[test]
fn a_missing_file_is_wrong_use_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        weir(&[&folder.path().join("web"), &archive(folder.path()), &folder.path().join("absent.warc")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("absent.warc"));
    let output = weir(&[&folder.path().join("web"), folder.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("is a folder"), "{}", text(&output.stderr));
}

#[test]
fn without_a_collection_the_way_to_one_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let output = weir(&[folder.path(), &archive(folder.path())]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("weir init"), "{}", text(&output.stderr));
}

#[test]
fn a_broken_file_fails_and_the_others_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    drop(Collection::create(&web, StoreSettings::default()).unwrap());
    let broken = folder.path().join("broken.warc");
    fs::write(&broken, "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99\r\n\r\nshort").unwrap();
    let output = weir(&[&web, &broken, &archive(folder.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("broken.warc"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("imported 1 page with 1 link"), "{}", text(&output.stdout));
}
