//! Form of a source file: it has an introduction and a bounded length.
//!
//! The length of functions is checked by clippy (`too_many_lines`).

use crate::finding::Finding;
use crate::tree::Tree;

/// Maximum number of lines before the unit tests.
const MAX_LINES: usize = 500;

/// Header of a file that is data in the form of Rust; it may be longer.
const TABLE_HEADER: &str = "//! table:";

/// Finds source files without an introduction, and files that are too long.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    sources
        .flat_map(|(path, text)| missing_header(path, text).into_iter().chain(too_long(path, text)))
        .collect()
}

fn missing_header(path: &str, text: &str) -> Option<Finding> {
    let introduced =
        text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("//!"));
    (!introduced).then(|| {
        let remedy = "open it with a `//!` paragraph that says what it is and what it must not do";
        Finding::new(path, 1, "the file has no introduction", remedy)
    })
}

fn too_long(path: &str, text: &str) -> Option<Finding> {
    // Files under `tests/` are tests from their first line on.
    let exempt = is_table(text) || path.contains("/tests/");
    let lines = lines_before_tests(text);
    (!exempt && lines > MAX_LINES).then(|| {
        let what = format!("{lines} lines before the tests, {MAX_LINES} are the limit");
        let remedy =
            format!("split it by concept, or, if it is data only, begin it with `{TABLE_HEADER} ...`");
        Finding::new(path, MAX_LINES + 1, what, remedy)
    })
}

fn is_table(text: &str) -> bool {
    text.get(..TABLE_HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(TABLE_HEADER))
}

fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests =
        lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod tests"));
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(header: &str, lines: usize, tests: usize) -> String {
        let code = "fn f() {}\n".repeat(lines - 1);
        format!("{header}\n{code}#[cfg(test)]\nmod tests {{\n{}}}\n", "    // a test\n".repeat(tests))
    }

    fn check_text(path: &str, text: &str) -> Vec<Finding> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn tests_do_not_count_into_the_length() {
        assert_eq!(check_text("crates/a/src/b.rs", &source("//! B.", MAX_LINES, 300)), []);
    }

    #[test]
    fn one_line_beyond_the_limit_is_found() {
        let findings = check_text("crates/a/src/b.rs", &source("//! B.", MAX_LINES + 1, 0));
        assert_eq!((findings.len(), findings[0].line), (1, MAX_LINES + 1));
    }

    #[test]
    fn tables_and_integration_tests_may_be_long() {
        assert_eq!(
            check_text("crates/a/src/b.rs", &source("//! Table: all entities.", MAX_LINES + 1, 0)),
            []
        );
        assert_eq!(check_text("crates/a/tests/b.rs", &source("//! B.", MAX_LINES + 1, 0)), []);
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        assert_eq!(check_text("crates/a/src/b.rs", "use std::fmt;\n").len(), 1);
        assert_eq!(check_text("crates/a/src/b.rs", "").len(), 1);
        assert_eq!(check_text("crates/a/src/b.rs", "\n//! B.\n"), []);
    }
}
