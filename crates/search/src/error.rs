//! What can go wrong with the index of the text: each error says what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// An operation on the index that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none.
    #[error("{} has no index of its text yet; run `weir index`", folder.display())]
    NotIndexed {
        /// The collection.
        folder: PathBuf,
    },
    /// It was made by a program that knows more, or less, or it is damaged.
    #[error("the index of the text cannot be read ({what}); run `weir index` to build it anew")]
    Unreadable {
        /// What is wrong with it.
        what: String,
    },
    /// Another process writes to it.
    #[error("the index of {} is being written by another process; wait for it, or stop it", folder.display())]
    Locked {
        /// The collection.
        folder: PathBuf,
    },
    /// Who asked for it broke it off.
    #[error("indexing was stopped; `weir index` goes on")]
    Stopped,
    /// Somebody asks for words in a row, and the index does not know where words stand.
    #[error(
        "this index has no positions, so that phrases and NEAR cannot be found; set search.positions and run `weir index`"
    )]
    NoPositions,
    /// Somebody asks for what only an analysis knows.
    #[error("`{condition}:` is not known before an analysis; run `weir analyze`")]
    NotAnalysed {
        /// The condition.
        condition: &'static str,
    },
    /// Somebody asks for hits far down the list.
    #[error("only the first {most} pages of an answer can be shown; ask for something narrower")]
    TooFar {
        /// So many can be.
        most: usize,
    },
    /// Nobody has asked the link graph.
    #[error("nobody has looked up which pages `{condition}` means")]
    LinksUnanswered {
        /// The condition.
        condition: String,
    },
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
    /// The collection cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The index cannot be read or written.
    #[error("the index of the text: {0}")]
    Tantivy(tantivy::TantivyError),
}

/// What is damaged, or made by another version, has to be built anew; everything else passes.
impl From<TantivyError> for Error {
    fn from(error: TantivyError) -> Error {
        let is_for_good = matches!(
            error,
            TantivyError::DataCorruption(_)
                | TantivyError::IncompatibleIndex(_)
                | TantivyError::OpenReadError(
                    OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_)
                )
        );
        if is_for_good { Error::Unreadable { what: error.to_string() } } else { Error::Tantivy(error) }
    }
}

/// Whether a stored page cannot be read though the system has no objection.
pub(crate) fn is_damage(error: &store::Error) -> bool {
    match error {
        store::Error::Damaged { .. } => true,
        store::Error::Io { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

/// The result of an operation on the index.
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
