//! Broker: carries small messages between a coordinator and its workers. Long data goes to a
//! [blob store](crate::transport::blob_store).
//!
//! A batch is published once and leased to one worker at a time. Its log is append-only, and an entry is appended only if
//! its writer knows the current last entry. So a worker that has lost its lease can write nothing once the next one has.
//! The coordinator ingests logs from the cursor of its last commit on.
//!
//! A broker does not interpret messages, and no message is longer than [`MAX_MESSAGE_BYTES`].

use std::thread;
use std::time::Duration;

/// Maximum length of a message. NATS servers accept a megabyte by default.
pub const MAX_MESSAGE_BYTES: usize = 512 << 10;

/// Error of a broker or blob store.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// Temporary failure: the operation can be retried and must be idempotent.
    #[error("cannot {operation}: {source}")]
    Unavailable {
        /// Operation that failed.
        operation: &'static str,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Permanent failure: a wrong token, another collection, a limit.
    #[error("{0}")]
    Refused(String),
    /// A blob is longer than the reader accepts.
    #[error("blob `{name}` is longer than {max_bytes} bytes")]
    BlobTooLarge {
        /// Name of the blob.
        name: String,
        /// Maximum length.
        max_bytes: u64,
    },
}

/// Time between two attempts of an operation.
pub const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Turns a temporary failure into `None`, for operations that are repeated later anyway.
pub fn none_if_unavailable<T>(result: Result<T, BrokerError>) -> Result<Option<T>, BrokerError> {
    match result {
        Err(BrokerError::Unavailable { .. }) => Ok(None),
        result => result.map(Some),
    }
}

/// Retries an operation until it succeeds or fails permanently; `None` if it is cancelled.
pub fn retry_until<T>(
    is_cancelled: impl Fn() -> bool,
    mut operation: impl FnMut() -> Result<T, BrokerError>,
) -> Result<Option<T>, BrokerError> {
    loop {
        let result = none_if_unavailable(operation())?;
        if result.is_some() || is_cancelled() {
            return Ok(result);
        }
        thread::sleep(RETRY_INTERVAL);
    }
}

/// Message broker between one coordinator and its workers.
pub trait Broker: Send + Sync {
    /// Identifies the broker: batches of a collection cannot move to another one.
    fn id(&self) -> String;

    /// Publishes a batch; has no effect if it is published already.
    fn publish_batch(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError>;

    /// Leases the next free batch; waits up to `wait` for one.
    fn acquire_lease(&self, worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError>;

    /// Appends an entry to the log of a batch if `after_seq` is its last entry, 0 for an empty log. Returns the larger sequence
    /// number of the new entry, or `None` if the log has another last entry.
    fn append_log(&self, batch: u64, after_seq: u64, message: &[u8]) -> Result<Option<u64>, BrokerError>;

    /// Reads the log of a batch.
    fn read_log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError>;

    /// Returns new entries of all logs, each once, in the order of each log; the first call returns all existing entries.
    /// Waits up to `wait` for one.
    fn poll_logs(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError>;

    /// Deletes a batch and its log.
    fn delete_batch(&self, batch: u64) -> Result<(), BrokerError>;

    /// Publishes a control message to all workers, also to those that start later.
    fn publish_control(&self, message: &[u8]) -> Result<(), BrokerError>;

    /// Last control message; `None` if there is none, or if the coordinator is known to have ended.
    fn latest_control(&self) -> Result<Option<Vec<u8>>, BrokerError>;

    /// Sends the report of a worker; it can be lost.
    fn send_report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError>;

    /// Reports since the last call, the last one of each worker.
    fn drain_reports(&self) -> Result<Vec<Vec<u8>>, BrokerError>;
}

/// Entry in the log of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Batch.
    pub batch: u64,
    /// Sequence number, larger than that of the previous entry.
    pub seq: u64,
    /// Content.
    pub message: Vec<u8>,
}

/// Lease of a batch.
pub trait Lease: Send + Sync {
    /// Id of the batch.
    fn batch(&self) -> u64;

    /// Published message.
    fn message(&self) -> &[u8];

    /// Duration of the lease, from the start of the last successful [`Lease::renew`] on; `None` if it lasts as long as the
    /// worker lives.
    fn duration(&self) -> Option<Duration>;

    /// Renews the lease. Returns false if another worker has it.
    fn renew(&self) -> Result<bool, BrokerError>;

    /// Completes the batch: it is not leased again.
    fn complete(self: Box<Self>) -> Result<(), BrokerError>;
}
