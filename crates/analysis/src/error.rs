//! What can go wrong with an analysis: each error names the operation and the file.

use std::io;
use std::path::{Path, PathBuf};

/// An analysis that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection could not be read, or a column not be written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The operating system refused.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was attempted: `read`, `write`, `sync`.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else is at it.
    #[error("{} is being analysed by another process; wait for it, or stop it", path.display())]
    Busy {
        /// The collection.
        path: PathBuf,
    },
    /// The tables of an analysis are wanted, and there are none of this commit.
    #[error("the newest commit of {} was not analysed; run `weir analyze` first", path.display())]
    NotAnalysed {
        /// The collection.
        path: PathBuf,
    },
    /// A file of the graph does not hold what was written to it.
    #[error("{} is damaged: {what}; remove the folder `graph` of the collection and analyse again", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The evidence.
        what: String,
    },
}

/// The result of an analysis.
pub type Result<T> = std::result::Result<T, Error>;

/// Says which operation on which file failed.
pub(crate) trait Context<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { operation, path: path.to_owned(), source })
    }
}

/// A damaged file, with the evidence.
pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), what: what.into() }
}
