//! The commands about a collection, as their users and their scripts see them.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod analyze;
mod anchors;
mod cat;
mod check;
mod compact;
#[path = "../../../search/tests/index/dump.rs"]
mod dump;
mod export;
mod index;
mod init;
mod own_figures;
mod report;
mod sample;
mod search;
mod settings;
mod similar;
mod sites;
mod snapshots;
mod sql;
#[cfg(feature = "sql")]
mod sql_and_duckdb;
mod statistics;
mod status;
mod stream;
mod stream_faults;
#[path = "../../../search/tests/index/sample.rs"]
#[allow(dead_code, reason = "the library's own tests need more of it")]
mod texts;
#[path = "../../../store/tests/python/venv.rs"]
mod venv;
mod why;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `weir`; `DIR` among the arguments stands for the folder.
fn weir(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let folder = folder.to_str().unwrap();
    command.args(arguments.iter().map(|argument| argument.replace("DIR", folder)));
    command.output().unwrap()
}

/// The same, with the text of both outputs and the exit code, and the folder's name taken out.
fn told(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = weir(folder, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(folder.to_str().unwrap(), "DIR");
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The objects of the answer of a command that succeeds.
fn objects(folder: &Path, arguments: &[&str]) -> Vec<serde_json::Value> {
    let (code, out, err) = told(folder, &[arguments, &["--json"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
