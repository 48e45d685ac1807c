//! Collections for tests: a WARC file, imported, analysed and indexed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Collection in a temporary directory.
pub(crate) struct Sample {
    folder: TempDir,
}

impl Sample {
    /// Creates a collection of pages: URL and body.
    pub(crate) fn of(pages: &[(&str, &str)]) -> Sample {
        let responses: Vec<(&str, &str, &str)> = pages.iter().map(|(url, body)| (*url, "", *body)).collect();
        Sample::of_responses(&responses)
    }

    /// Creates a collection of pages: URL, additional header lines, and body.
    pub(crate) fn of_responses(pages: &[(&str, &str, &str)]) -> Sample {
        let sample = Sample { folder: tempfile::tempdir().unwrap() };
        let archive = sample.folder.path().join("archive.warc");
        fs::write(
            &archive,
            pages.iter().map(|(url, head, body)| record(url, head, body)).collect::<String>(),
        )
        .unwrap();
        let dir = sample.dir();
        weir(&["init", &dir, "--seed", pages[0].0]);
        weir(&["import", &dir, archive.to_str().unwrap()]);
        weir(&["analyze", &dir]);
        weir(&["index", &dir]);
        sample
    }

    /// Creates a collection of some pages of two sites about rivers.
    pub(crate) fn rivers() -> Sample {
        let mut pages = vec![
            (
                "https://rivers.test/".to_owned(),
                page(
                    "Rivers",
                    "en",
                    "A river carries water from the hills to the sea. <a href=/weirs>weirs</a> <a href=/dams>dams and locks</a>",
                ),
            ),
            (
                "https://rivers.test/weirs".to_owned(),
                page(
                    "Weirs",
                    "en",
                    "A weir is a low dam across a river; the water of the river flows over it. <a href=/>rivers</a> <a href=https://flow.test/wehr>Wehr</a>",
                ),
            ),
            (
                "https://rivers.test/dams".to_owned(),
                page(
                    "Dams and locks",
                    "en",
                    "A dam holds the water of a river back, and a lock lets boats pass from one level to the other. <a href=/weirs>weirs</a>",
                ),
            ),
            (
                "https://flow.test/wehr".to_owned(),
                page(
                    "Das Wehr",
                    "de",
                    "Ein Wehr ist ein niedriger Damm in einem Fluss, und das Wasser fliesst darüber hinweg in das untere Becken. <a href=https://rivers.test/weirs>weirs</a>",
                ),
            ),
        ];
        for number in 1..=25 {
            let text = format!(
                "Gauge number {number} stands by the river, and tells how high the water is. Near it lie {}. \
                 <a href=/weirs>weirs</a> <a href=/>home</a>",
                villages(number)
            );
            let url = format!("https://rivers.test/gauges/{number}");
            pages.push((url, page(&format!("Gauge {number}"), "en", &text)));
        }
        let pages: Vec<(&str, &str)> =
            pages.iter().map(|(url, body)| (url.as_str(), body.as_str())).collect();
        Sample::of(&pages)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("rivers")
    }

    pub(crate) fn dir(&self) -> String {
        self.path().into_os_string().into_string().unwrap()
    }

    /// Writes a file next to the collection.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// Distinct names, so that pages are not duplicates of each other.
fn villages(number: u64) -> String {
    let mut state = number;
    let mut name = || {
        let mut name = String::new();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let part = (state >> 40) as usize;
            name += ["bor", "lin", "ket", "mas", "dra", "vel", "sun", "tor"][part % 8];
            name.push(char::from(b'a' + (part / 8 % 26) as u8));
        }
        name
    };
    (0..40).map(|_| name()).collect::<Vec<_>>().join(", ")
}

fn page(title: &str, language: &str, text: &str) -> String {
    format!("<!doctype html><html lang={language}><title>{title}</title><h1>{title}</h1><p>{text}</p></html>")
}

fn record(url: &str, head: &str, body: &str) -> String {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{head}\r\n{body}");
    format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-17T00:00:00Z\r\n\
         Content-Type: application/http\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
}

/// Runs a command and checks that it succeeds.
pub(crate) fn weir(arguments: &[&str]) {
    let output = Command::new(program()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_weir"))
}
