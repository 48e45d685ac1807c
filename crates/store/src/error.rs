//! What can go wrong with a collection: each error names the operation and the file.

use std::io;
use std::path::{Path, PathBuf};

/// An operation on a collection that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// A file does not hold what was written to it.
    #[error("{} is damaged {at}: {what}; run `weir check` to see what it affects", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Where: `at byte 16384`, `in line 3`.
        at: String,
        /// The evidence, such as both checksums.
        what: String,
    },
    /// There is no collection here.
    #[error("{} is no collection: it has no MANIFEST; `weir init` makes one", path.display())]
    NotACollection {
        /// The folder.
        path: PathBuf,
    },
    /// There is one already.
    #[error("{} holds a collection already", path.display())]
    AlreadyACollection {
        /// The folder.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("{} is being written to by another process; wait for it, or stop it", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A snapshot cannot be kept under this name.
    #[error("{sentence}")]
    SnapshotName {
        /// Why not.
        sentence: String,
    },
    /// It was written by a program that knows more, or less.
    #[error(
        "{} has format version {found}, and this program knows {known}; use {} weir",
        path.display(),
        if found > known { "a newer" } else { "the older" }
    )]
    UnknownVersion {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// A table was written by a program that had other columns.
    #[error(
        "{} has columns of another version of weir: use that one, or make a new collection of the stored pages with `weir import NEW {}`",
        path.display(),
        pages_of(path).display()
    )]
    OtherColumns {
        /// The table.
        path: PathBuf,
    },
    /// No such snapshot is kept.
    #[error("there is no snapshot {name}; `weir snapshots` lists those that are kept")]
    NoSnapshot {
        /// As asked for.
        name: String,
    },
    /// No page of the collection is of this site or domain.
    #[error("the collection knows no {what} {name}")]
    UnknownSite {
        /// `site` or `domain`.
        what: &'static str,
        /// As asked for.
        name: String,
    },
    /// A stream cannot go on from there.
    #[error("a stream cannot go on from {position}: {why}")]
    WrongPosition {
        /// As asked for.
        position: String,
        /// What to do instead.
        why: String,
    },
    /// More than the format can number.
    #[error("the collection is full: {what}")]
    Full {
        /// Of what there is too much.
        what: &'static str,
    },
}

/// The result of an operation on a collection.
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

/// The stored pages of the collection that a table is of.
fn pages_of(table: &Path) -> PathBuf {
    table.ancestors().nth(2).unwrap_or(Path::new("")).join("pages/*.warc.gz")
}

/// A damaged file, with the place and the evidence.
pub(crate) fn damaged(path: &Path, at: impl Into<String>, what: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), at: at.into(), what: what.into() }
}
