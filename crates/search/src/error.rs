//! Errors of indexing and searching, with a hint where one helps.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// Error of an operation on the index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection has no index.
    #[error("{0} has no text index; run `weir index {0}`", dir.display())]
    NotIndexed {
        /// Directory of the collection.
        dir: PathBuf,
    },
    /// The index was written by another version, or is damaged.
    #[error("cannot read the text index: {reason}; rebuild with `weir index`")]
    Unreadable {
        /// Cause.
        reason: String,
    },
    /// Another process writes to the index.
    #[error("the text index of {} is locked by another process", dir.display())]
    Locked {
        /// Directory of the collection.
        dir: PathBuf,
    },
    /// The progress callback stopped the run.
    #[error("indexing stopped; resume with `weir index`")]
    Stopped,
    /// A phrase or NEAR needs word positions, which the index does not have.
    #[error("phrases and NEAR need word positions; set search.positions = true and run `weir index`")]
    NoPositions,
    /// A condition needs the results of an analysis.
    #[error("`{condition}:` needs an analysis; run `weir analyze`")]
    NotAnalysed {
        /// Name of the condition.
        condition: &'static str,
    },
    /// Offset and limit exceed the maximum number of results.
    #[error("offset exceeds the maximum of {limit} results; narrow the query")]
    OffsetTooLarge {
        /// Maximum of offset plus limit.
        limit: usize,
    },
    /// The caller has not resolved a link condition.
    #[error("link condition `{condition}` was not resolved")]
    LinksNotResolved {
        /// Name of the condition.
        condition: String,
    },
    /// Error of the operating system.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// Operation: `read`, `write`, `sync`.
        operation: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Error of tantivy that may be temporary.
    #[error("text index: {0}")]
    Tantivy(tantivy::TantivyError),
}

/// Classifies an error: damage and incompatible versions need a rebuild, other errors may be temporary.
impl From<TantivyError> for Error {
    fn from(error: TantivyError) -> Error {
        let is_permanent = matches!(
            error,
            TantivyError::DataCorruption(_)
                | TantivyError::IncompatibleIndex(_)
                | TantivyError::OpenReadError(
                    OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_)
                )
        );
        if is_permanent { Error::Unreadable { reason: error.to_string() } } else { Error::Tantivy(error) }
    }
}

/// Whether a stored record is damaged, in contrast to an I/O error.
pub(crate) fn is_damage(error: &store::Error) -> bool {
    match error {
        store::Error::Corrupt { .. } => true,
        store::Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// Result of an operation on the index.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds operation and path to an I/O error.
pub(crate) trait Context<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, operation: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { operation, path: path.to_owned(), source })
    }
}
