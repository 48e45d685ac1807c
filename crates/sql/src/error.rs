//! Why is there no answer?

use std::fmt;
use std::path::PathBuf;

/// What can go wrong with a question.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),

    /// A file of a table cannot be read.
    #[error("cannot {operation} {}: {reason}", path.display())]
    File {
        /// What was to be done with it.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system or the reader says.
        reason: String,
    },

    /// The engine does not start.
    #[error("cannot make ready for queries: {reason}")]
    Engine {
        /// What it says.
        reason: String,
    },

    /// There was nothing but white space.
    #[error("there is no query; write one such as \"select count(*) from fetches\"")]
    NoQuery,

    /// The query names a table that only an analysis writes.
    #[error("there is no table `{table}` yet: run `weir analyze {}` first", folder.display())]
    NotAnalysed {
        /// The table.
        table: String,
        /// The collection.
        folder: PathBuf,
    },

    /// The query names a table that nobody writes.
    #[error("there is no table `{table}`; there are {known}")]
    NoTable {
        /// The table.
        table: String,
        /// Those there are.
        known: String,
    },

    /// A statement that would change something.
    #[error("only queries are answered (select, with, values, explain, describe, show), not `{statement}`")]
    NotAQuery {
        /// How the statement begins.
        statement: String,
    },

    /// The query is not one that can be answered.
    #[error("the query is wrong{}: {reason}", PlaceOr(*place))]
    Wrong {
        /// Where, if that is known.
        place: Option<Place>,
        /// What about it.
        reason: String,
    },

    /// The answer needs more memory than it may take.
    #[error("the query needs more than {limit_mb} MB of memory (setting memory.analysis): {reason}")]
    Memory {
        /// What it may take.
        limit_mb: u64,
        /// What wanted more.
        reason: String,
    },

    /// The answer broke off.
    #[error("the query failed: {reason}")]
    Failed {
        /// Why.
        reason: String,
    },
}

/// A place in the text of a query, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The character of the line.
    pub column: u64,
}

/// What every operation here returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the question was wrong, rather than the answer hard to find.
    pub fn is_wrong_question(&self) -> bool {
        use Error::{NoQuery, NoTable, NotAQuery, NotAnalysed, Wrong};
        matches!(self, NoQuery | NotAnalysed { .. } | NoTable { .. } | NotAQuery { .. } | Wrong { .. })
    }
}

/// ` at line 1, column 8`, or nothing.
struct PlaceOr(Option<Place>);

impl fmt::Display for PlaceOr {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Place { line, column }) => write!(out, " at line {line}, column {column}"),
            None => Ok(()),
        }
    }
}
