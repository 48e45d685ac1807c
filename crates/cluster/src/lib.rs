//! Transport between machines for distributed crawls: NATS with JetStream as the broker of batches and logs, and a shared
//! directory or an S3 bucket as the blob store of segments.
//!
//! This crate only maps [`harvest::Broker`] and [`harvest::BlobStore`] to these services; it never interprets a message and never sees
//! a page. Operations that fail are retried for a limited time, so every operation must be idempotent.

mod credentials;
mod nats;
mod s3;

use std::path::Path;

use harvest::{BlobStore, Broker, BrokerError, DirBlobStore};

pub use credentials::BrokerCredentials;
pub use nats::setup::{Role, StreamSettings};
pub use s3::S3Config;

/// Connects to the NATS servers of a URL (`nats://host:port` or `tls://host:port`, several separated by commas), as the
/// coordinator of the collection of this name or as one of its workers.
pub fn connect_broker(
    url: &str,
    collection: &str,
    role: Role,
    credentials: &BrokerCredentials,
) -> Result<Box<dyn Broker>, BrokerError> {
    Ok(Box::new(nats::broker::NatsBroker::connect(url, collection, role, credentials)?))
}

/// Opens the blob store of a URL: `file:///DIR` or `s3://BUCKET/PREFIX`.
pub fn open_blob_store(url: &str, config: &S3Config) -> Result<Box<dyn BlobStore>, BrokerError> {
    match url.split_once("://") {
        Some(("file", path)) if path.starts_with('/') => Ok(Box::new(DirBlobStore::open(Path::new(path))?)),
        Some(("s3", location)) => Ok(Box::new(s3::S3BlobStore::open(location, config)?)),
        _ => Err(BrokerError::Refused(format!(
            "cannot open the store `{url}`: expected file:///DIR or s3://BUCKET/PREFIX"
        ))),
    }
}
