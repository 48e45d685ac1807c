//! The words of `weir url`, as its users and their scripts see them.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn weir_url(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("url").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that ends early need not read everything.
        scope.spawn(move || pipe.write_all(stdin).ok());
        child.wait_with_output().unwrap()
    })
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn objects(output: &Output) -> Vec<serde_json::Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn text_shows_every_part_or_the_reason() {
    let urls = [
        "HTTP://User@Www.Example.co.uk:80/a/../b.php?utm_source=x#top",
        "https://example.com/",
        "http://192.168.0.1:8080/map.png",
        "mailto:somebody@example.com",
        "example.com/a",
        "",
    ];
    let output = weir_url(&urls, b"");
    insta::assert_snapshot!(stdout(&output), @r"
    http://www.example.co.uk/b.php
      input     HTTP://User@Www.Example.co.uk:80/a/../b.php?utm_source=x#top
      surt      uk,co,example,www)/b.php
      site      http://www.example.co.uk
      domain    example.co.uk
      class     dynamic
    https://example.com/
      surt      com,example)/
      site      https://example.com
      domain    example.com
      class     static
    http://192.168.0.1:8080/map.png
      surt      192.168.0.1:8080)/map.png
      site      http://192.168.0.1:8080
      domain    none
      class     logged:image
    mailto:somebody@example.com
      rejected  the scheme `mailto` is not fetched, only http, https, ftp and gopher are
    example.com/a
      rejected  it has no scheme (is `https://` missing?)
    (empty)
      rejected  it has no scheme (is `https://` missing?)
    ");
    assert!(output.status.success());
}

#[test]
fn json_has_one_object_per_line_of_stdin() {
    let output =
        weir_url(&["--json"], b"https://example.com/?b&a\r\nhttp://[::1]/x.pdf\n\njavascript:void(0)");
    insta::assert_snapshot!(stdout(&output), @r#"
    {"input":"https://example.com/?b&a","canonical":"https://example.com/?b&a","surt":"com,example)/?b&a","site":"https://example.com","domain":"example.com","class":"dynamic"}
    {"input":"http://[::1]/x.pdf","canonical":"http://[::1]/x.pdf","surt":"[::1])/x.pdf","site":"http://[::1]","domain":null,"class":"logged:document"}
    {"input":"","rejected":"it has no scheme (is `https://` missing?)"}
    {"input":"javascript:void(0)","rejected":"the scheme `javascript` is not fetched, only http, https, ftp and gopher are"}
    "#);
    assert!(output.status.success());
}

#[test]
fn relative_references_are_resolved_on_the_base() {
    let base = ["--json", "--base", "https://example.com/docs/guide/?x"];
    let references = ["../index.html", "#top", "?y", "//other.org", "data:,x"];
    let output = weir_url(&[&base[..], &references[..]].concat(), b"");
    let canonical: Vec<_> = objects(&output).iter().map(|answer| answer["canonical"].clone()).collect();
    let expected = serde_json::json!([
        "https://example.com/docs/index.html",
        "https://example.com/docs/guide/?x",
        "https://example.com/docs/guide/?y",
        "https://other.org/",
        null
    ]);
    assert_eq!(serde_json::Value::from(canonical), expected);
}

#[test]
fn the_query_is_sorted_on_demand() {
    let url = "http://example.com/?b=1&a=2";
    assert_eq!(objects(&weir_url(&["--json", url], b""))[0]["canonical"], url);
    let sorted = weir_url(&["--json", "--sort-query", url], b"");
    assert_eq!(objects(&sorted)[0]["canonical"], "http://example.com/?a=2&b=1");
}

#[test]
fn a_bad_base_is_wrong_use() {
    let output = weir_url(&["--base", "/docs/", "a"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    insta::assert_snapshot!(stderr(&output), @"weir: --base /docs/ cannot be used: it has no scheme (is `https://` missing?)");
}

#[test]
fn hostile_lines_are_answered_one_by_one() {
    let long = format!("http://example.com/{}", "x".repeat(100_000));
    let lines: [&[u8]; 8] = [
        b"http://example.com/\xff\xfe",
        b"http://a\0b/",
        long.as_bytes(),
        b"http://example.com:99999/",
        "http://аpple.com/".as_bytes(),
        b"\x1b[2J\x07",
        b"http://%zz/",
        b"http://example.com/%zz/\t..\\..\\a%",
    ];
    let output = weir_url(&["--json"], &lines.join(&b'\n'));
    let answers = objects(&output);
    assert_eq!(answers.len(), lines.len());
    assert_eq!(answers[0]["canonical"], "http://example.com/%EF%BF%BD%EF%BF%BD");
    assert_eq!(answers[2]["rejected"], "the URL has 100019 bytes, the limit is 2048");
    assert_eq!(answers[3]["rejected"], "its port is not a number from 1 to 65535");
    assert_eq!(answers[4]["canonical"], "http://xn--pple-43d.com/");
    assert_eq!(answers[7]["canonical"], "http://example.com/a%25");
    for nth in [1, 5, 6] {
        assert!(answers[nth]["rejected"].is_string(), "{:?}", answers[nth]);
    }
    let text = stdout(&weir_url(&[], &lines.join(&b'\n')));
    assert!(!text.contains(['\x1b', '\x07', '\0', '\t']) && text.len() < 3000, "{text}");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let mut child = command
        .arg("url")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut pipe = child.stdin.take().unwrap();
    let lines = b"http://example.com/\n".repeat(100_000);
    // The program ends at its first write; what it has not read by then is not our concern.
    let _ = pipe.write_all(&lines);
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}
