//! Errors of a report.

use std::path::{Path, PathBuf};

/// Error of a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The collection could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),

    /// The collection has no statistics.
    #[error("{} has not been analysed; run `weir analyze {}`", dir.display(), dir.display())]
    NotAnalysed {
        /// The collection.
        dir: PathBuf,
    },

    /// The snapshot has no statistics.
    #[error(
        "snapshot `{name}` of {} has no analysis; only the last commit can be analysed",
        dir.display()
    )]
    SnapshotNotAnalysed {
        /// The collection.
        dir: PathBuf,
        /// The snapshot.
        name: String,
    },

    /// The definition of a figure is invalid.
    #[error("invalid figure `{name}`: {reason}")]
    Figure {
        /// Name of the figure.
        name: String,
        /// Cause.
        reason: String,
    },

    /// The PDF could not be written.
    #[error("cannot write PDF: {reason}")]
    Pdf {
        /// Message of typst.
        reason: String,
    },

    /// A file of the report could not be written.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

/// Result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation and the file to an I/O error.
pub(crate) trait Context<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { operation, path: path.to_owned(), source })
    }
}
