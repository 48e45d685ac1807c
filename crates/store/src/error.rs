//! Errors of operations on a collection; each names the operation and the file.

use std::io;
use std::path::{Path, PathBuf};

/// Failure of an operation on a collection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O operation failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// Operation: `read`, `write`, `sync`.
        operation: &'static str,
        /// File.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The content of a file is not what was written to it.
    #[error(
        "{} is corrupt{}{location}: {cause}; run `weir check` to list the affected data",
        path.display(),
        if location.is_empty() { "" } else { " " }
    )]
    Corrupt {
        /// File.
        path: PathBuf,
        /// Location within the file: `at byte 16384`, `in line 3`; empty if it is unknown or the whole file.
        location: String,
        /// Evidence, such as both checksums.
        cause: String,
    },
    /// The directory has no collection.
    #[error("{0} is not a Weir collection (no MANIFEST); create one with `weir init {0}`", path.display())]
    NotACollection {
        /// Directory.
        path: PathBuf,
    },
    /// The directory has a collection.
    #[error("{} already contains a collection", path.display())]
    AlreadyACollection {
        /// Directory.
        path: PathBuf,
    },
    /// The directory has files that do not belong to a new collection.
    #[error("cannot create a collection in {}: it is not empty; use an empty or new directory", path.display())]
    NotEmpty {
        /// Directory.
        path: PathBuf,
    },
    /// A file of the collection is a device, a socket or a pipe.
    #[error("cannot open the collection: {} is not a regular file; remove it", path.display())]
    SpecialFile {
        /// File.
        path: PathBuf,
    },
    /// A symbolic link of the collection leads out of it, or to a directory.
    #[error(
        "cannot open the collection: {} is a symbolic link to {}, which is not a file of the collection; \
         replace the link by the files that it leads to",
        path.display(),
        target.display()
    )]
    OutsideLink {
        /// Link.
        path: PathBuf,
        /// Target, as stored in the link.
        target: PathBuf,
    },
    /// Another process writes to the collection.
    #[error("{} is locked by another process; wait for it, or stop it", path.display())]
    Locked {
        /// Directory.
        path: PathBuf,
    },
    /// The name of a snapshot is invalid or in use.
    #[error("{message}")]
    InvalidSnapshotName {
        /// Cause, with a hint.
        message: String,
    },
    /// The format version of the collection is not supported.
    #[error(
        "{} has format version {found}, this program supports {known}; use {} weir",
        path.display(),
        if found > known { "a newer" } else { "the older" }
    )]
    UnknownVersion {
        /// Manifest.
        path: PathBuf,
        /// Format version of the collection.
        found: u32,
        /// Newest version that this program supports.
        known: u32,
    },
    /// A table has the columns of another version of the program.
    #[error(
        "{} has columns of another version of weir: use that version, or import the stored pages into a new collection with `weir import NEW {}`",
        path.display(),
        pages_of(path).display()
    )]
    SchemaMismatch {
        /// Table file.
        path: PathBuf,
    },
    /// The snapshot does not exist.
    #[error("no snapshot `{name}`; list them with `weir snapshots {}`", dir.display())]
    SnapshotNotFound {
        /// Directory of the collection.
        dir: PathBuf,
        /// Requested name or generation.
        name: String,
    },
    /// No page of the collection belongs to the site or domain.
    #[error("no {kind} `{name}` in the collection")]
    UnknownSite {
        /// `site` or `domain`.
        kind: &'static str,
        /// Requested name.
        name: String,
    },
    /// A stream cannot be resumed at this cursor.
    #[error("cannot resume the stream after {cursor}: {cause}")]
    InvalidCursor {
        /// Requested cursor.
        cursor: String,
        /// Cause, with a hint.
        cause: String,
    },
    /// The requester has cancelled the read.
    #[error("cancelled")]
    Cancelled,
    /// An earlier operation was interrupted by an error; the state in memory no longer matches the files.
    #[error("cannot write to {}: an earlier operation has failed; open the collection again", path.display())]
    NeedsReopen {
        /// File or directory.
        path: PathBuf,
    },
    /// A limit of the format is exceeded.
    #[error("cannot write to the collection: {limit}")]
    LimitExceeded {
        /// Limit that is exceeded.
        limit: &'static str,
    },
    /// A WARC file cannot be read or written.
    #[error(transparent)]
    Warc(warc::Error),
}

/// Result of an operation on a collection.
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

// I/O errors and corruption are the same condition for callers, whichever crate detects them.
impl From<warc::Error> for Error {
    fn from(error: warc::Error) -> Error {
        match error {
            warc::Error::Io { operation, path, source } => Error::Io { operation, path, source },
            warc::Error::Corrupt { path, offset, cause } => {
                corrupt(&path, format!("at byte {offset}"), cause)
            }
            other => Error::Warc(other),
        }
    }
}

/// Pattern of the WARC files of the collection that a table belongs to.
fn pages_of(table: &Path) -> PathBuf {
    table.ancestors().nth(2).unwrap_or(Path::new("")).join("pages/*.warc.gz")
}

/// Error for a corrupt file, with the location (may be empty) and the evidence.
pub(crate) fn corrupt(path: &Path, location: impl Into<String>, cause: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_owned(), location: location.into(), cause: cause.into() }
}
