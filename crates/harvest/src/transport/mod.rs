//! Transport between coordinator and workers: a broker for messages and a blob store for long data.

pub mod blob_store;
pub mod broker;
pub mod clock_skew;
pub mod dir_blob_store;
pub mod dir_broker;
pub mod messages;
pub mod segment;

use std::sync::Arc;
use std::time::Duration;

use crate::transport::blob_store::BlobStore;
use crate::transport::broker::Broker;

/// Broker and blob store of a crawl, and what the coordinator sends through them.
#[derive(Clone)]
pub struct Transport {
    /// Broker for messages.
    pub broker: Arc<dyn Broker>,
    /// Blob store for long data.
    pub blobs: Arc<dyn BlobStore>,
    /// Returns the current settings in the form that workers parse.
    pub settings: Arc<dyn Fn() -> String + Send + Sync>,
    /// Time without a report after which the coordinator does not wait for a worker at the end of the crawl.
    pub worker_timeout: Duration,
}
