//! Errors of a crawl.

use std::io;
use std::path::PathBuf;

use harvest::{BrokerError, SealedDirError};

/// Failure of an operation of the crawl.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The collection cannot be read or written.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The fetching side failed.
    #[error(transparent)]
    Harvest(#[from] harvest::Error),
    /// A harvest without its batch.
    #[error(
        "cannot ingest the harvest {}: its batch {} is missing; copy the batch back, or import only the pages with `weir import`",
        harvest.display(),
        batch.display()
    )]
    OrphanHarvest {
        /// Directory of the harvest.
        harvest: PathBuf,
        /// Expected directory of the batch.
        batch: PathBuf,
    },
    /// A weight refers to a rank that was not computed.
    #[error(
        "quality.weights: the rank {term} is not computed; run `weir analyze` first, or set its weight to 0"
    )]
    RankNotComputed {
        /// The rank.
        term: frontier::QualityTerm,
    },
    /// The record of the segments that are being ingested cannot be read or written.
    #[error("cannot read or write leased/ingesting.json: {source}")]
    IngestAttempts {
        /// Error of the operating system.
        source: io::Error,
    },
    /// A segment or harvest that cannot be ingested cannot be kept either.
    #[error("cannot move {item} to the directory `quarantine`: {source}; free disk space and try again")]
    Quarantine {
        /// Segment or harvest.
        item: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A thread or its runtime could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl From<SealedDirError> for Error {
    fn from(error: SealedDirError) -> Error {
        Error::Harvest(error.into())
    }
}

impl From<BrokerError> for Error {
    fn from(error: BrokerError) -> Error {
        Error::Harvest(error.into())
    }
}
