//! Tests of `weir robots`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const ROBOTS: &str = "\
# Shops have long files.
User-agent: *
Disallow: /private/
Allow: /private/open$

User-agent: other
Disallow: /
";

/// Writes the robots.txt of a test.
fn robots_file(test: &str) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("robots-{test}.txt"));
    std::fs::write(&file, ROBOTS).unwrap();
    file.into_os_string().into_string().unwrap()
}

fn weir(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that ends early need not read everything.
        scope.spawn(move || pipe.write_all(stdin).ok());
        child.wait_with_output().unwrap()
    })
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn text_output_has_the_decision_and_the_rule() {
    let file = robots_file("text");
    let urls = ["https://example.com/private/x?y#z", "/private/open", "http://example.com"];
    let output = weir(&[&["robots", &file, "--agent", "weir"], &urls[..]].concat(), b"");
    insta::assert_snapshot!(stdout(&output), @r"
    disallowed https://example.com/private/x?y#z  line 3: Disallow: /private/
    allowed    /private/open  line 4: Allow: /private/open$
    allowed    http://example.com  no matching rule
    ");
    assert!(output.status.success());
}

#[test]
fn json_has_one_object_per_line_of_stdin() {
    let file = robots_file("json");
    let output = weir(&["robots", &file, "--agent", "OTHER", "--json"], b"/a\r\n\nhttp://h/\xFF");
    insta::assert_snapshot!(stdout(&output), @r#"
    {"url":"/a","allowed":false,"rule":"Disallow: /","line":7}
    {"url":"","allowed":false,"rule":"Disallow: /","line":7}
    {"url":"http://h/�","allowed":false,"rule":"Disallow: /","line":7}
    "#);
}

#[test]
fn the_robots_txt_can_be_read_from_standard_input() {
    let output = weir(&["robots", "-", "--agent", "weir", "--json", "/x"], ROBOTS.as_bytes());
    insta::assert_snapshot!(stdout(&output), @r#"{"url":"/x","allowed":true,"rule":null,"line":null}"#);
}

#[test]
fn usage_errors_have_exit_code_2() {
    let missing = weir(&["robots", "no-such-file", "--agent", "weir", "/x"], b"");
    assert_eq!(missing.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&missing), @"weir: cannot open no-such-file: No such file or directory (os error 2)");
    let twice = weir(&["robots", "-", "--agent", "weir"], b"");
    assert_eq!(twice.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&twice), @"weir: standard input cannot be both the robots.txt and the URLs; pass the URLs as arguments");
}

#[test]
fn many_urls_are_checked_in_one_run() {
    let file = robots_file("many");
    let urls: String = (0..100_000).map(|at| format!("https://example.com/private/{at}\n")).collect();
    let lines = stdout(&weir(&["robots", &file, "--agent", "weir"], urls.as_bytes()));
    assert_eq!(lines.lines().count(), 100_000);
    assert!(lines.lines().all(|line| line.starts_with("disallowed https://example.com/private/")));
}

#[test]
fn an_agent_that_is_not_a_product_token_is_reported() {
    let output = weir(&["robots", "-", "--agent", "bot2", "/"], ROBOTS.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a product token"));
}

#[test]
fn a_directory_instead_of_a_file_is_a_usage_error() {
    let output = weir(&["robots", env!("CARGO_TARGET_TMPDIR"), "--agent", "weir", "/"], b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is a directory"));
}

#[test]
fn control_characters_are_escaped() {
    let output =
        weir(&["robots", "-", "--agent", "weir", "/\u{1b}[2J"], b"User-agent: *\nDisallow: /\x1b[2J\n");
    assert!(!output.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_url_is_resolved_before_it_is_checked() {
    let urls = ["http://h/a/../private/", "/./private/x", "mailto:a@b", r"http:\\h\private\"];
    let output = weir(&[&["robots", "-", "--agent", "weir"], &urls[..]].concat(), ROBOTS.as_bytes());
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r"
    disallowed http://h/a/../private/  line 3: Disallow: /private/
    disallowed /./private/x  line 3: Disallow: /private/
    rejected    mailto:a@b
    disallowed http:\\h\private\  line 3: Disallow: /private/
    ");
}
