//! Chores of this repository that need more than a line of shell: `cargo run -q -p xtask -- tidy`.
//!
//! The same checks run as a test of this crate. The program reads the tree and never changes it.

mod commits;
mod cycles;
mod dependencies;
mod documents;
mod edges;
mod finding;
mod language;
mod layout;
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
    let mut findings = tidy(&Tree::read(repository())?);
    findings.extend(commits::check(repository()));
    findings.extend(dependencies::check(repository()));
    let mut out = io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All findings in the tree, sorted by path and line.
///
/// Function length is checked by clippy (`too_many_lines`).
fn tidy(tree: &Tree) -> Vec<Finding> {
    let checks = [
        manifest::check,
        edges::check,
        purity::check,
        shape::check,
        modules::check,
        layout::check,
        cycles::check,
        language::check,
        documents::check,
        leftovers::check,
    ];
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check(tree)).collect();
    findings.sort();
    findings
}

/// The root of the repository: the directory above this crate.
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
