//! Quality of the main text on pages with known segments.
//!
//! ```text
//! cargo run --release -p parse --example main_text -- DIR [OUT]
//! ```
//!
//! `DIR` contains `cases.json`, a map from URL to `{"file", "with", "without"}`, and the folder `pages` with the files. A
//! segment counts as found if it is a substring of the main text. Prints precision tp / (tp + fp), recall tp / (tp + fn), their
//! harmonic mean, and the mean time per page. With `OUT`, writes the main text of each page to that folder and lists the
//! segments that were judged wrong on standard error.
#![allow(clippy::disallowed_methods, reason = "a measurement reads files and a clock")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parse::Document;
use parse::html::Options;
use serde_json::Value;

type Failure = Box<dyn std::error::Error>;

#[derive(Default)]
struct Counts {
    found: f64,
    missed: f64,
    wrong: f64,
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let dir = args.next().ok_or("usage: main_text DIR [OUT]")?;
    let out = args.next();
    let cases: Value = serde_json::from_slice(&fs::read(dir.join("cases.json"))?)?;
    let cases = cases.as_object().ok_or("cases.json is not an object")?;
    let mut counts = Counts::default();
    let mut document = Document::default();
    let mut time = Duration::ZERO;
    for (url, case) in cases {
        let file = case["file"].as_str().ok_or("a case has no file")?;
        document.read(&fs::read(dir.join("pages").join(file))?, Some("text/html"), None, &Options::default());
        let start = Instant::now();
        let text = document.main_text();
        time += start.elapsed();
        count(url, case, &text, &mut counts, out.is_some());
        if let Some(out) = &out {
            write(out, file, &text)?;
        }
    }
    let precision = counts.found / (counts.found + counts.wrong);
    let recall = counts.found / (counts.found + counts.missed);
    let f = 2.0 * precision * recall / (precision + recall);
    let micros = time.as_secs_f64() * 1e6 / cases.len() as f64;
    println!(
        "{} pages: precision {precision:.3}, recall {recall:.3}, F {f:.3}; {micros:.0} us per page",
        cases.len()
    );
    Ok(())
}

fn count(url: &str, case: &Value, text: &str, counts: &mut Counts, verbose: bool) {
    let segments = |key: &str| case[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    for segment in segments("with") {
        if text.contains(segment) {
            counts.found += 1.0;
        } else {
            counts.missed += 1.0;
            if verbose {
                eprintln!("missing\t{url}\t{segment}");
            }
        }
    }
    for segment in segments("without").filter(|segment| text.contains(segment)) {
        counts.wrong += 1.0;
        if verbose {
            eprintln!("unwanted\t{url}\t{segment}");
        }
    }
}

fn write(out: &Path, file: &str, text: &str) -> Result<(), Failure> {
    fs::create_dir_all(out)?;
    Ok(fs::write(out.join(format!("{file}.txt")), text)?)
}
