//! Tests of the commands on a collection: output, JSON and exit codes.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod analyze;
mod anchors;
mod cat;
mod check;
mod compact;
mod custom_figures;
mod documented;
mod export;
mod index;
mod init;
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
mod venv {
    //! Python tools for the tests of this crate.
    #![allow(unused_imports, reason = "not every test uses both")]

    pub(crate) use testkit::run;

    pub(crate) fn venv() -> Option<std::path::PathBuf> {
        testkit::venv(env!("CARGO_MANIFEST_DIR"))
    }
}
mod why;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `weir`; `DIR` in the arguments is replaced by the directory.
fn weir(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let dir = dir.to_str().unwrap();
    command.args(arguments.iter().map(|argument| argument.replace("DIR", dir)));
    command.output().unwrap()
}

/// Runs `weir` and returns exit code, stdout and stderr, with the directory replaced by `DIR`.
fn run_text(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = weir(dir, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(dir.to_str().unwrap(), "DIR");
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a command with `--json`, which must succeed, and returns the objects of its output.
fn objects(dir: &Path, arguments: &[&str]) -> Vec<serde_json::Value> {
    let (code, out, err) = run_text(dir, &[arguments, &["--json"]].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
