//! Hostile pages on a terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Text that would set the title of a terminal, clear its screen by C0 and C1 sequences, and reverse a file name.
const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}fdp.exe\u{2066}\u{7f}\u{8}z";

fn record(url: &str, content_type: &str, body: &str) -> String {
    let head = format!(
        "Content-Type: {content_type}; charset=utf-8\r\nX-Hostile: {HOSTILE}\r\nLast-Modified: {HOSTILE}\r\n"
    );
    let block = format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}");
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-17T00:00:00Z\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

/// Runs `weir`; `DIR` in the arguments is replaced by the directory.
fn weir(dir: &Path, arguments: &[&str]) -> Output {
    let dir = dir.to_str().unwrap();
    let arguments = arguments.iter().map(|argument| argument.replace("DIR", dir));
    Command::new(env!("CARGO_BIN_EXE_weir")).args(arguments).output().unwrap()
}

/// Creates a collection in `DIR/c` of two pages that link to each other with hostile texts, and a plain text, of which the
/// parser keeps every character.
fn make(dir: &Path) {
    let page = |target: &str| {
        format!(
            "<!doctype html><title>river {HOSTILE}</title><meta name=description content='{HOSTILE}'><p lang='{HOSTILE}'>\
             The river {HOSTILE} flows over the weir to the sea. <a href='{target}'>{HOSTILE}</a>\
             <a href='/{HOSTILE}'>{HOSTILE}</a>"
        )
    };
    let records = [
        record("http://a.test/1", "text/html", &page("/2")),
        record("http://a.test/2", "text/html", &page("/1")),
        record("http://a.test/3", "text/plain", &format!("The river {HOSTILE} is plain.")),
    ];
    fs::write(dir.join("pages.warc"), records.concat()).unwrap();
    fs::write(dir.join("page.html"), page("/2")).unwrap();
    for arguments in [
        &["init", "DIR/c", "--seed", "http://a.test/1"][..],
        &["import", "DIR/c", "DIR/pages.warc"],
        &["analyze", "DIR/c"],
        &["index", "DIR/c"],
    ] {
        let output = weir(dir, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Output of a command on a pseudo-terminal, without its own styles.
fn on_terminal(dir: &Path, arguments: &str) -> String {
    let command = arguments.replace("DIR", dir.to_str().unwrap());
    let command = format!("{} {command}", env!("CARGO_BIN_EXE_weir"));
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // The terminal ends lines with CR LF; a progress line begins with CR and erases the line.
    let own = ["\r\n", "\r\u{1b}[K", "\u{1b}[32m", "\u{1b}[31m", "\u{1b}[2m", "\u{1b}[1;33m", "\u{1b}[0m"];
    own.iter()
        .fold(text, |text, sequence| text.replace(sequence, if *sequence == "\r\n" { "\n" } else { "" }))
}

#[test]
fn pages_cannot_control_the_terminal_of_any_command() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    make(dir);
    for arguments in [
        "cat DIR/c --format text",
        "cat DIR/c --format jsonl",
        "cat DIR/c --format jsonl --columns url,links,simplified_html",
        "cat DIR/c --format simplified-html",
        "cat DIR/c --format urls",
        "search DIR/c river",
        "search DIR/c river --json",
        "search DIR/c river --explain --facets",
        "similar DIR/c http://a.test/1",
        "anchors DIR/c http://a.test/2",
        "why DIR/c http://a.test/2",
        "why DIR/c http://a.test/2 --json",
        "sites DIR/c",
        "status DIR/c",
        "check DIR/c",
        "parse DIR/page.html --url http://a.test/1",
        "parse DIR/page.html --url http://a.test/1 --json",
        "cat DIR/c --where \"$(printf 'title = \\033[2J')\"",
        "cat \"DIR/$(printf '\\033]0;x\\007\\342\\200\\256')\"",
    ] {
        let text = on_terminal(dir, arguments);
        assert!(!text.is_empty(), "{arguments}");
        let is_unsafe = |character: &char| {
            character.is_control() && !matches!(character, '\n' | '\t' | '\u{c}')
                || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let found: Vec<char> = text.chars().filter(is_unsafe).collect();
        assert!(found.is_empty(), "{arguments}: {found:?} in {text:?}");
    }
    let shown = on_terminal(dir, "cat DIR/c --format text");
    assert!(shown.contains("\\u{1b}[2J\\u{9b}2J\\u{202e}fdp.exe"), "{shown}");
    let shown = on_terminal(dir, "cat DIR/c --format jsonl --columns title --limit 1");
    let row: serde_json::Value = serde_json::from_str(shown.trim()).unwrap();
    assert!(row["title"].as_str().unwrap().contains('\u{202e}'), "JSON keeps its meaning: {row}");
}

#[test]
fn a_stream_to_a_pipe_is_not_escaped() {
    let temp = tempfile::tempdir().unwrap();
    make(temp.path());
    let output = weir(temp.path(), &["cat", "DIR/c", "--format", "text"]).stdout;
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("\u{1b}[2J\u{9b}2J\u{202e}fdp.exe"), "{text:?}");
}
