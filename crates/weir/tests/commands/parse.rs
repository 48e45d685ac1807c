//! Tests of `weir parse`.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

const PAGE: &str = "<!doctype html><html lang=en><head><title>The weir</title>\
    <meta name=description content='About a dam'><meta name=robots content='noindex,nofollow'>\
    <link rel=canonical href=/weir></head><body><nav><a href=/>Home</a> <a href=/news>News</a></nav>\
    <h1>The weir</h1><p>A weir is a barrier across the width of a river that alters the flow of its water and usually \
    changes the height of its level, see <a href='b.html?x=1&amp;utm_source=y' rel=nofollow>the next\npage</a>.</p>\
    <a href='javascript:void(0)'>menu</a><img src=//img.test/w.png alt='a weir'></body></html>";

fn weir(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("parse")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes a file of this test.
fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_page_is_printed_as_text() {
    let output = weir(&["-", "--url", "http://a.test/docs/a.html", "--main-text"], PAGE.as_bytes());
    assert_snapshot!(stdout(&output), @r"
    kind        html
    title       The weir
    description About a dam
    language    en (confidence 99 %)
    declared    en
    charset     utf-8 (from validation)
    canonical   http://a.test/weir
    robots      noindex, nofollow

    links (6)
    canonical  http://a.test/weir
    a          http://a.test/  Home
    a          http://a.test/news  News
    a          http://a.test/docs/b.html?x=1  the next page
    a          javascript:void(0) unsupported scheme `javascript` (http, https, ftp, gopher)  menu
    img        http://img.test/w.png  a weir

    main text
    The weir
    A weir is a barrier across the width of a river that alters the flow of its water and usually changes the height of its level, see the next page.

    text
    Home News
    The weir
    A weir is a barrier across the width of a river that alters the flow of its water and usually changes the height of its level, see the next page.
    menu
    ");
}

#[test]
fn a_page_is_printed_as_json() {
    let output = weir(&["--url", "http://a.test/docs/a.html", "--json"], PAGE.as_bytes());
    let page: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(page["url"], "http://a.test/docs/a.html");
    assert_eq!(page["title"], "The weir");
    assert_eq!(page["description"], "About a dam");
    assert_eq!(page["language"], "en");
    assert!(page["language_confidence"].as_f64().unwrap() > 0.5);
    assert_eq!(page["charset"], "utf-8");
    assert_eq!(page["canonical"], "http://a.test/weir");
    assert_eq!(page["robots"], "noindex, nofollow");
    assert!(page["text"].as_str().unwrap().contains("A weir is a barrier"));
    let link = &page["links"][3];
    assert_eq!(link["url"], "http://a.test/docs/b.html?x=1");
    assert_eq!(link["href"], "b.html?x=1&utm_source=y");
    assert_eq!((&link["kind"], &link["rel"]), (&"a".into(), &"nofollow".into()));
    assert_eq!(link["anchor"], "the next page");
    assert_eq!(link["is_internal"], true);
    let script = &page["links"][4];
    assert!(script["url"].is_null() && script["rejected"].as_str().unwrap().contains("javascript"));
    assert_eq!(page["links"][5]["is_internal"], false);
}

#[test]
fn file_names_are_read_from_a_list() {
    let one = file("one.html", b"<title>one</title>");
    let two = file("two.html", b"<title>two</title>");
    let list = format!("{}\n/no/such/page.html\n{}\n", one.display(), two.display());
    let output = weir(&["--files-from", "-", "--json"], list.as_bytes());
    let titles: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["title"].clone())
        .collect();
    assert_eq!(titles, ["one", "two"], "a missing file does not stop the others");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot open /no/such/page.html"), "{}", stderr(&output));
}

#[test]
fn usage_errors_have_exit_code_2() {
    for (arguments, message) in [
        (&["/no/such/page.html"][..], "weir: cannot open /no/such/page.html"),
        (&["-", "--url", "no url"], "weir: --url no url: "),
        (&["--files-from", "/no/list"], "weir: cannot open /no/list"),
        (&["--files-from", "-", "x.html"], "cannot be used with"),
    ] {
        let output = weir(arguments, b"");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(message), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn arbitrary_bytes_are_parsed() {
    for bytes in [&b""[..], b"\0\xff\xfe<", &[b'<'; 10_000], "\u{feff}<a href='".as_bytes()] {
        let output = weir(&["-", "--json", "--main-text", "--simplified-html"], bytes);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).unwrap();
    }
}
