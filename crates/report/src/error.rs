//! Why is there no report?

use std::path::{Path, PathBuf};

/// What can go wrong with a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),

    /// There is nothing to report of.
    #[error("there are no statistics of {} yet: run `weir analyze {}` first", folder.display(), folder.display())]
    NotAnalysed {
        /// The collection.
        folder: PathBuf,
    },

    /// Only the newest commit can be analysed.
    #[error(
        "there are no statistics of the snapshot `{name}`: it was not analysed before the crawl of {} went on",
        folder.display()
    )]
    SnapshotNotAnalysed {
        /// The collection.
        folder: PathBuf,
        /// The snapshot.
        name: String,
    },

    /// A figure's file says what nobody understands.
    #[error("the figure `{name}` cannot be drawn: {reason}")]
    Figure {
        /// Its name.
        name: String,
        /// What about it.
        reason: String,
    },

    /// The PDF cannot be made.
    #[error("the report cannot be printed: {reason}")]
    Print {
        /// What typst says.
        reason: String,
    },

    /// A file of the report cannot be written.
    #[error("cannot {operation} {}", path.display())]
    Io {
        /// What was to be done.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What every operation here returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Says which operation on which file failed.
pub(crate) trait Context<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { operation, path: path.to_owned(), source })
    }
}
