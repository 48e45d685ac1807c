//! Errors of an analysis: each names the operation and the file.

use std::io;
use std::path::{Path, PathBuf};

/// Error of an analysis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection could not be read, or a column could not be written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// An operation on a file failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// The operation: `read`, `write`, `sync`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another process analyses the collection.
    #[error("{} is being analysed by another process; try again when it has finished", path.display())]
    Locked {
        /// The collection.
        path: PathBuf,
    },
    /// The newest commit has no analysis.
    #[error("the newest commit of {} has not been analysed; run `weir analyze`", path.display())]
    NotAnalysed {
        /// The collection.
        path: PathBuf,
    },
    /// A file of the graph is corrupt.
    #[error("{} is corrupt: {reason}; delete the directory `graph` of the collection and run `weir analyze` again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The evidence.
        reason: String,
    },
}

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation and the file to an I/O error.
pub(crate) trait Context<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { operation, path: path.to_owned(), source })
    }
}

/// Returns the error for a corrupt file.
pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_owned(), reason: reason.into() }
}
