//! Errors that end a harvest.

use std::io;
use std::path::PathBuf;

use crate::files::sealed_dir::SealedDirError;
use crate::transport::broker::BrokerError;

/// An error that ends a harvest. A failed fetch is an outcome, not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings are invalid for the fetcher, or the system lacks a resource that it needs.
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    /// A page cannot be encoded as a WARC record.
    #[error(transparent)]
    Warc(#[from] warc::Error),
    /// A batch or a harvest cannot be read or written.
    #[error(transparent)]
    SealedDir(#[from] SealedDirError),
    /// The broker or the blob store cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// Another process harvests this batch.
    #[error("{} is being harvested by another process", dir.display())]
    BatchLocked {
        /// Directory of the batch.
        dir: PathBuf,
    },
    /// An operation on a file failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// Operation.
        operation: &'static str,
        /// Path.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A thread or its runtime could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
