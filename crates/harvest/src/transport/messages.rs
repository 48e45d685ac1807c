//! Messages between coordinator and workers.
//!
//! An offer contains a batch. The log of a batch records which worker started it, the events that must survive a crash,
//! the segments in the blob store, and its end. Control messages go to all workers, reports from one worker to the
//! coordinator. All messages are small: long batches and all segments are in the blob store.

use std::io::{self, Read};

use fetch::LocalFault;
use model::SiteId;
use serde::{Deserialize, Serialize};

use crate::files::journal::JournalEntry;
use crate::item::batch::Batch;
use crate::settings::stop_mode::StopMode;
use crate::transport::blob_store::BlobStore;
use crate::transport::broker::{BrokerError, MAX_MESSAGE_BYTES};

/// Version of the messages; changes whenever coordinator and workers of different versions would misunderstand each other.
pub const PROTOCOL: u32 = 4;

/// Offer of a batch; compressed JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OfferMessage {
    Inline(Batch),
    /// The batch is in the blob store.
    InBlobStore,
}

/// Maximum size of a decompressed batch.
const MAX_BATCH_BYTES: u64 = 1 << 30;

/// Prefix of all blobs of a batch.
pub fn blob_prefix(batch: u64) -> String {
    format!("{batch:06}")
}

/// Blob with the id of the coordinator's run. Workers read it to check that they use the same blob store.
pub const RUN_MARKER_BLOB: &str = "run";

fn batch_blob_name(batch: u64) -> String {
    format!("{}/batch", blob_prefix(batch))
}

/// Name of the blob of a segment; `key` is different for each lease of the batch.
pub fn segment_blob_name(batch: u64, key: u64, number: u32) -> String {
    format!("{}/{key:016x}-{number:06}", blob_prefix(batch))
}

/// Encodes the offer of a batch; stores the batch as a blob if it is too long for a message.
pub fn write_offer(batch: &Batch, blobs: &dyn BlobStore) -> Result<Vec<u8>, BrokerError> {
    let inline = pack(&OfferMessage::Inline(batch.clone())).map_err(invalid)?;
    if inline.len() <= MAX_MESSAGE_BYTES {
        return Ok(inline);
    }
    blobs.put(&batch_blob_name(batch.id), inline)?;
    pack(&OfferMessage::InBlobStore).map_err(invalid)
}

/// Decodes the offer of a batch.
pub fn read_offer(id: u64, message: &[u8], blobs: &dyn BlobStore) -> Result<Batch, BrokerError> {
    let offer = match unpack(message).map_err(invalid)? {
        OfferMessage::InBlobStore => {
            let batch = blobs.get(&batch_blob_name(id), MAX_BATCH_BYTES)?;
            unpack(&batch.ok_or_else(|| invalid("the batch is not in the blob store"))?).map_err(invalid)?
        }
        inline @ OfferMessage::Inline(_) => inline,
    };
    match offer {
        OfferMessage::Inline(batch) if batch.id == id => Ok(batch),
        _ => Err(BrokerError::Refused(format!("the offer of batch {id} contains another batch"))),
    }
}

fn invalid(error: impl std::fmt::Display) -> BrokerError {
    BrokerError::Refused(format!("cannot encode or decode a batch or its log: {error}"))
}

fn pack(offer: &OfferMessage) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(&serde_json::to_vec(offer)?, 3)
}

fn unpack(message: &[u8]) -> io::Result<OfferMessage> {
    let mut text = Vec::new();
    zstd::stream::read::Decoder::with_buffer(message)?.take(MAX_BATCH_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Entry in the log of a batch.
///
/// Times are those of the worker's clock; `ahead_ms` is its estimated lead over the coordinator's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogRecord {
    /// A worker starts with the remaining part of the batch.
    Started {
        /// Worker.
        worker: String,
    },
    /// Events that must survive a crash of the worker before it sends the segment that contains them.
    Events {
        /// Worker.
        worker: String,
        /// Lead of the worker's clock.
        ahead_ms: Option<i64>,
        /// Events.
        events: Vec<JournalEntry>,
    },
    /// A segment is in the blob store.
    Segment {
        /// Worker.
        worker: String,
        /// Lead of the worker's clock.
        ahead_ms: Option<i64>,
        /// Key of the lease, a part of the blob name.
        key: u64,
        /// Number of the segment, a part of the blob name.
        number: u32,
        /// Indexes in the batch of the pages that are done with it.
        pages: Vec<u32>,
        /// Sites that are done with it.
        sites: Vec<SiteId>,
    },
    /// End of the log: the worker is done, or the coordinator does not wait any longer.
    Closed {
        /// Worker; `None` for the coordinator.
        worker: Option<String>,
    },
}

impl LogRecord {
    /// Encodes the entry.
    pub fn write(&self) -> Result<Vec<u8>, BrokerError> {
        serde_json::to_vec(self).map_err(invalid)
    }

    /// Decodes an entry.
    pub fn read(message: &[u8]) -> Result<LogRecord, BrokerError> {
        serde_json::from_slice(message).map_err(invalid)
    }
}

/// Control message of the coordinator to all workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlMessage {
    /// [`PROTOCOL`] of the coordinator.
    pub protocol: u32,
    /// Id of the coordinator's run.
    pub run: u64,
    /// Time of the coordinator's clock, in Unix milliseconds.
    pub now_ms: u64,
    /// Requested stop mode.
    pub stop_mode: StopMode,
    /// Whether the crawl is paused.
    pub paused: bool,
    /// Maximum requests per second of one worker; 0 for unlimited.
    pub max_requests_per_second: f64,
    /// Settings of the crawl, in the form of `weir.toml`.
    pub settings: String,
}

/// Name of a worker as pages and terminals show it: the characters of names that workers choose themselves.
pub fn plain_worker_name(name: &str) -> String {
    const MAX_NAME_CHARS: usize = 100;
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    name.chars().filter(is_plain).take(MAX_NAME_CHARS).collect()
}

/// Report of a worker to the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the other fields are those of Counters")]
pub struct WorkerReport {
    /// Name of the worker.
    pub worker: String,
    /// Id of the worker's run.
    pub run: u64,
    /// Time of the worker's clock, in Unix milliseconds.
    pub now_ms: u64,
    /// Batches that the worker holds.
    pub batches: Vec<u64>,
    pub pages_fetched: u64,
    pub bytes_received: u64,
    pub requests: u64,
    pub requests_in_flight: u64,
    pub failed_fetches: u64,
    pub active_sites: u64,
    pub memory_bytes: Option<u64>,
    /// Current fault of the worker's machine.
    #[serde(default)]
    pub local_fault: Option<LocalFault>,
    /// Whether the worker ends.
    pub is_last: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::batch::{BatchSite, test_site};
    use crate::transport::dir_blob_store::DirBlobStore;

    #[test]
    fn long_batches_go_to_the_blob_store() {
        let temp = tempfile::tempdir().unwrap();
        let blobs = DirBlobStore::open(temp.path()).unwrap();
        let mut batch = Batch { id: 7, sites: vec![test_site()], ..Batch::default() };
        let message = write_offer(&batch, &blobs).unwrap();
        assert_eq!(read_offer(7, &message, &blobs).unwrap(), batch);
        assert!(read_offer(8, &message, &blobs).is_err());
        let random = |seed: u64| format!("{:x}", xxhash_rust::xxh3::xxh3_64(&seed.to_le_bytes()));
        let name = |index: u64| (0..8_u64).map(|part| random(index * 8 + part)).collect::<String>();
        batch.sites = (0..20_000).map(|index| BatchSite { name: name(index), ..test_site() }).collect();
        let message = write_offer(&batch, &blobs).unwrap();
        assert!(message.len() < 100);
        assert_eq!(read_offer(7, &message, &blobs).unwrap(), batch);
    }
}
