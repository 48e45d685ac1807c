//! Syntax errors of queries.

use std::fmt;

/// Syntax error of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// Character position, counted from 1.
    pub column: usize,
    /// Expected input.
    pub expected: String,
    /// Input at that position.
    pub found: String,
}

/// Maximum length of the quoted input.
const MAX_FOUND_CHARACTERS: usize = 40;

impl QueryError {
    /// Creates an error at a byte offset; quotes the input up to the next white space.
    pub(super) fn at(query: &str, at: usize, expected: impl Into<String>) -> QueryError {
        let rest = &query[at..];
        let word: String =
            rest.chars().take_while(|letter| !letter.is_whitespace()).take(MAX_FOUND_CHARACTERS).collect();
        let found = if word.is_empty() { "end of query".to_owned() } else { format!("`{word}`") };
        QueryError { column: query[..at].chars().count() + 1, expected: expected.into(), found }
    }

    /// Formats the query with a caret below the error, for a monospaced font.
    pub fn point_at(&self, query: &str) -> String {
        // Line breaks and tabs would misplace the caret.
        let line: String =
            query.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        format!("{line}\n{}^", " ".repeat(self.column - 1))
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueryError { column, expected, found } = self;
        write!(out, "invalid query at character {column}: expected {expected}, found {found}")
    }
}

impl std::error::Error for QueryError {}
