//! Tests of `weir url`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn weir_url(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("url").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that exits early does not read all of its input.
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
fn text_output_has_all_fields_or_the_reason() {
    let urls = [
        "HTTP://User@Www.Example.co.uk:80/a/../b.php?utm_source=x#top",
        "https://example.com/",
        "http://192.168.0.1:8080/map.png",
        "mailto:user@example.com",
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
    mailto:user@example.com
      rejected  unsupported scheme `mailto` (http, https, ftp, gopher)
    example.com/a
      rejected  URL has no scheme (missing `https://`?)
    (empty)
      rejected  URL has no scheme (missing `https://`?)
    ");
    assert!(output.status.success());
}

#[test]
fn json_has_one_object_per_line_of_stdin() {
    let output =
        weir_url(&["--json"], b"https://example.com/?b&a\r\nhttp://[::1]/x.pdf\n\njavascript:void(0)");
    insta::assert_snapshot!(stdout(&output), @r#"
    {"input":"https://example.com/?b&a","canonical":"https://example.com/?b&a","surt":"com,example)/?b&a","site":"https://example.com","registered_domain":"example.com","url_class":"dynamic"}
    {"input":"http://[::1]/x.pdf","canonical":"http://[::1]/x.pdf","surt":"[::1])/x.pdf","site":"http://[::1]","registered_domain":null,"url_class":"logged:document"}
    {"input":"","rejected":"URL has no scheme (missing `https://`?)"}
    {"input":"javascript:void(0)","rejected":"unsupported scheme `javascript` (http, https, ftp, gopher)"}
    "#);
    assert!(output.status.success());
}

#[test]
fn relative_references_are_resolved_against_the_base() {
    let base = ["--json", "--base", "https://example.com/docs/guide/?x"];
    let references = ["../index.html", "#top", "?y", "//other.org", "data:,x"];
    let output = weir_url(&[&base[..], &references[..]].concat(), b"");
    let canonical: Vec<_> = objects(&output).iter().map(|output| output["canonical"].clone()).collect();
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
fn the_query_is_sorted_with_sort_query() {
    let url = "http://example.com/?b=1&a=2";
    assert_eq!(objects(&weir_url(&["--json", url], b""))[0]["canonical"], url);
    let sorted = weir_url(&["--json", "--sort-query", url], b"");
    assert_eq!(objects(&sorted)[0]["canonical"], "http://example.com/?a=2&b=1");
}

#[test]
fn an_invalid_base_is_a_usage_error() {
    let output = weir_url(&["--base", "/docs/", "a"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    insta::assert_snapshot!(stderr(&output), @"weir: --base /docs/: URL has no scheme (missing `https://`?)");
}

#[test]
fn each_hostile_line_gets_one_result() {
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
    let results = objects(&output);
    assert_eq!(results.len(), lines.len());
    assert_eq!(results[0]["canonical"], "http://example.com/%EF%BF%BD%EF%BF%BD");
    assert_eq!(results[2]["rejected"], "URL is 100019 bytes long, maximum 2048 (scope.max_url_length)");
    assert_eq!(results[3]["rejected"], "invalid port (1 to 65535)");
    assert_eq!(results[4]["canonical"], "http://xn--pple-43d.com/");
    assert_eq!(results[7]["canonical"], "http://example.com/a%25");
    for nth in [1, 5, 6] {
        assert!(results[nth]["rejected"].is_string(), "{:?}", results[nth]);
    }
    let text = stdout(&weir_url(&[], &lines.join(&b'\n')));
    assert!(!text.contains(['\x1b', '\x07', '\0', '\t']) && text.len() < 3000, "{text}");
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
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
    // The program exits at its first write, and the rest of the input is not read.
    let _ = pipe.write_all(&lines);
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}
