//! Errors of reading and writing WARC files; each names the file and the position.

use std::io;
use std::path::{Path, PathBuf};

/// Failure to read or write a WARC file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O operation failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// Operation: `open`, `read`.
        operation: &'static str,
        /// File.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{} is not a WARC, ARC or WACZ file: it does not begin with `WARC/` or `filedesc://`", path.display())]
    NotWarc {
        /// File.
        path: PathBuf,
    },
    /// A record cannot be parsed.
    #[error(
        "cannot parse {}, record {record} (byte {offset} of the decompressed file): {cause}; {}",
        path.display(),
        if *is_last { "the records after it are not read" } else { "it is skipped" }
    )]
    Malformed {
        /// File.
        path: PathBuf,
        /// Index of the record, from 1.
        record: u64,
        /// Start of the record in the decompressed stream.
        offset: u64,
        /// Cause.
        cause: String,
        /// Whether the records after it are unreachable.
        is_last: bool,
    },
    /// A gzip member does not decompress to what its trailer says.
    #[error("{} is corrupt at byte {offset}: {cause}", path.display())]
    Corrupt {
        /// File.
        path: PathBuf,
        /// Start of the member in the file.
        offset: u64,
        /// Evidence.
        cause: String,
    },
    /// A record exceeds the maximum size.
    #[error("cannot store a record of {bytes} bytes: the maximum is {maximum}")]
    RecordTooLarge {
        /// Size of the block of the record.
        bytes: usize,
        /// Maximum size.
        maximum: usize,
    },
}

/// Result of reading or writing a WARC file.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn io_error(operation: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io { operation, path: path.to_owned(), source }
}

pub(crate) fn corrupt(path: &Path, offset: u64, cause: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_owned(), offset, cause: cause.into() }
}
