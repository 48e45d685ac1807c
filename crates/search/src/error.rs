//! What can go wrong with the index of the text: each error says what to do about it.

use std::io;
use std::path::PathBuf;

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
    Tantivy(#[from] tantivy::TantivyError),
}

/// The result of an operation on the index.
pub type Result<T> = std::result::Result<T, Error>;
