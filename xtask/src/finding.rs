//! Result of a check: location, problem and remedy, in one line.

use std::fmt;

/// One problem in the repository.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path relative to the root of the repository.
    pub(crate) path: String,
    /// Line number, from 1.
    pub(crate) line: usize,
    pub(crate) what: String,
    pub(crate) remedy: String,
}

impl Finding {
    pub(crate) fn new(
        path: &str,
        line: usize,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { path: path.to_owned(), line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}", self.path, self.line, self.what, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_that_an_editor_can_follow() {
        let finding = Finding::new("docs/a.md", 3, "trailing white space", "remove it");
        assert_eq!(finding.to_string(), "docs/a.md:3: trailing white space; remove it");
    }
}
