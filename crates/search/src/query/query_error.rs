//! Where is a query wrong, and what was expected there?

use std::fmt;

/// A query that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// The character where it stops making sense, counted from 1.
    pub column: usize,
    /// What would make sense there.
    pub expected: String,
    /// What stands there instead.
    pub found: String,
}

/// How much of what was found is shown.
const SHOWN_CHARACTERS: usize = 40;

impl QueryError {
    /// At a byte of the query; what was found is what stands there up to the next space.
    pub(super) fn at(query: &str, at: usize, expected: impl Into<String>) -> QueryError {
        let rest = &query[at..];
        let word: String =
            rest.chars().take_while(|letter| !letter.is_whitespace()).take(SHOWN_CHARACTERS).collect();
        let found = if word.is_empty() { "the end".to_owned() } else { format!("`{word}`") };
        QueryError { column: query[..at].chars().count() + 1, expected: expected.into(), found }
    }

    /// The query, and below it a mark under the place. Shown as it is in letters of one width.
    pub fn pointed(&self, query: &str) -> String {
        // Line ends and tabs would move what follows.
        let line: String =
            query.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        format!("{line}\n{}^", " ".repeat(self.column - 1))
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueryError { column, expected, found } = self;
        write!(out, "at character {column} of the query: expected {expected}, found {found}")
    }
}

impl std::error::Error for QueryError {}
