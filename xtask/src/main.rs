//! Chores of this repository that need more than a line of shell: `cargo run -q -p xtask -- tidy`.
//!
//! Tidiness is a test: the same checks run under `cargo test`, so that nobody has to remember them. This program
//! reads the tree and never changes it.

mod documents;
mod edges;
mod finding;
mod leftovers;
mod manifest;
mod modules;
mod purity;
mod shape;
mod tree;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use finding::Finding;
use tree::Tree;

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["tidy"] {
        writeln!(io::stderr(), "usage: cargo run -q -p xtask -- tidy")?;
        return Ok(ExitCode::from(2));
    }
    let findings = tidy(&Tree::read(repository())?);
    let mut out = io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All that is untidy, in the order of paths and lines.
///
/// The length of functions is not among the checks: clippy's `too_many_lines` sees to that.
fn tidy(tree: &Tree) -> Vec<Finding> {
    let checks = [
        manifest::check,
        edges::check,
        purity::check,
        shape::check,
        modules::check,
        documents::check,
        leftovers::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

/// The root of the repository, which is the folder above this crate.
fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let tree = Tree::read(repository()).unwrap();
        assert!(tree.text("Cargo.toml").is_some(), "the tree was not read from the repository's root");
        let findings: Vec<String> = tidy(&tree).iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
    }
}
