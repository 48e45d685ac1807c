//! Errors of a query.

use std::fmt;
use std::path::PathBuf;

/// Error of a query.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The collection could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),

    /// A file of a table could not be read.
    #[error("cannot {operation} {}: {reason}", path.display())]
    File {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        reason: String,
    },

    /// The engine could not start.
    #[error("cannot start the query engine: {reason}")]
    Engine {
        /// Cause.
        reason: String,
    },

    /// The text contains no query.
    #[error("no query; example: \"select count(*) from fetches\"")]
    NoQuery,

    /// The table is written by an analysis, and there was none.
    #[error("no table `{table}`; run `weir analyze {}`", collection.display())]
    NotAnalysed {
        /// The table.
        table: String,
        /// The collection.
        collection: PathBuf,
    },

    /// The table does not exist.
    #[error("unknown table `{table}`; tables: {known}")]
    UnknownTable {
        /// The table.
        table: String,
        /// Existing tables.
        known: String,
    },

    /// The statement is not a query.
    #[error("not a query: `{statement}`; allowed: select, with, values, explain, describe, show")]
    NotAQuery {
        /// Start of the statement.
        statement: String,
    },

    /// The query is invalid.
    #[error("invalid query{}: {reason}", OptionalPosition(*position))]
    InvalidQuery {
        /// Position, if known.
        position: Option<Position>,
        /// Cause.
        reason: String,
    },

    /// The query exceeds the memory limit.
    #[error("the query needs more than {limit_mb} MB of memory (memory.analysis): {reason}")]
    Memory {
        /// Memory limit.
        limit_mb: u64,
        /// Cause.
        reason: String,
    },

    /// The query failed.
    #[error("the query failed: {reason}")]
    Failed {
        /// Cause.
        reason: String,
    },
}

/// A position in the text of a query, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Character of the line.
    pub column: u64,
}

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Reports whether the query is at fault, and not its execution.
    pub fn is_user_error(&self) -> bool {
        use Error::{InvalidQuery, NoQuery, NotAQuery, NotAnalysed, UnknownTable};
        matches!(
            self,
            NoQuery | NotAnalysed { .. } | UnknownTable { .. } | NotAQuery { .. } | InvalidQuery { .. }
        )
    }
}

/// ` at line 1, column 8`, or nothing.
struct OptionalPosition(Option<Position>);

impl fmt::Display for OptionalPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Position { line, column }) => write!(out, " at line {line}, column {column}"),
            None => Ok(()),
        }
    }
}
