//! What can end a crawl before it is done?

use std::io;
use std::path::PathBuf;

use crate::broker::BrokerError;
use crate::closed_folder::FolderError;

/// A crawl that cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The settings do not make a fetcher, or the system cannot give what it needs.
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    /// A batch or a harvest cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Workers cannot be reached, or not asked.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// Somebody else harvests this batch.
    #[error("{} is being harvested by another process", folder.display())]
    InHarvest {
        /// The batch.
        folder: PathBuf,
    },
    /// A harvest of pages that nobody asked for.
    #[error(
        "{} is the harvest of no open batch: there is no {}. If the batch was moved away, copy it back; the pages alone \
         can be taken in by `weir import`",
        harvest.display(),
        batch.display()
    )]
    NoBatch {
        /// The harvest.
        harvest: PathBuf,
        /// The batch that should be there.
        batch: PathBuf,
    },
    /// A rank is to count that nobody has computed.
    #[error(
        "quality.weights: nobody has computed {term} yet; run `weir analyze` first, or leave its weight at 0"
    )]
    NotAnalysed {
        /// Which one.
        term: frontier::Term,
    },
    /// What was given for a URL is none.
    #[error("`{input}` is no URL: {rejected}; write one such as {example}{known}")]
    NoUrl {
        /// As it was given.
        input: String,
        /// What is wrong with it.
        rejected: model::Rejected,
        /// What to write instead.
        example: String,
        /// What the collection knows of the same host, behind a semicolon.
        known: String,
    },
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A thread or its runtime could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
