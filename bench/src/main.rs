//! Benchmarks: `cargo run --release -p bench --
//! [gather|graph|index|parse|robots|scores|search|similarity|simulate|state|stream|url|urls|warc|simweb|all]`
//!
//! Every figure is a ratio to a baseline that is measured in the same run on the same data, because absolute numbers
//! depend on the machine. README.md explains the figures.

mod corpus;
mod gather;
mod graph;
mod index;
mod parse;
mod process;
mod robots;
mod scores;
mod search;
mod similarity;
mod simulate;
mod simweb;
mod state;
mod stream;
mod url;
mod urls;
mod warc;

use std::io::{self, Write};
use std::process::ExitCode;

type Bench = fn() -> anyhow::Result<()>;

/// Benchmarks; each has a file of the same name.
const BENCHES: &[(&str, Bench)] = &[
    ("gather", gather::run),
    ("graph", graph::run),
    ("index", index::run),
    ("parse", parse::run),
    ("robots", robots::run),
    ("scores", scores::run),
    ("search", search::run),
    ("similarity", similarity::run),
    ("simulate", simulate::run),
    ("simweb", simweb::run),
    ("state", state::run),
    ("stream", stream::run),
    ("url", url::run),
    ("urls", urls::run),
    ("warc", warc::run),
];

fn main() -> anyhow::Result<ExitCode> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| name == "all" || BENCHES.iter().any(|(bench, _)| bench == name);
    if wanted.is_empty() || !wanted.iter().all(known) {
        let names: Vec<&str> = BENCHES.iter().map(|(name, _)| *name).collect();
        writeln!(io::stderr(), "usage: cargo run --release -p bench -- [{}|all]...", names.join("|"))?;
        return Ok(ExitCode::from(2));
    }
    for (name, bench) in BENCHES {
        if wanted.iter().any(|word| word == name || word == "all") {
            bench()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
