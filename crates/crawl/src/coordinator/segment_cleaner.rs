//! Thread that deletes committed segments and finished batches from the broker and the blob store, so that the thread that owns
//! the collection does not wait for servers. A batch is removed from the committed state last, so that the next start completes
//! an interrupted deletion.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use harvest::files::work_dirs::WorkDir;
use harvest::transport::broker::{RETRY_INTERVAL, none_if_unavailable};
use harvest::transport::{Transport, messages};

use crate::error::Error;

/// Obsolete data.
#[derive(Debug)]
pub(crate) enum Obsolete {
    /// Name of a segment in the blob store.
    Segment(String),
    /// Directory, log and blobs of a batch.
    Batch(u64),
}

/// Handle of the cleaner thread.
pub(crate) struct SegmentCleaner {
    obsolete: Sender<Obsolete>,
    deleted: Receiver<u64>,
    thread: JoinHandle<Result<(), Error>>,
}

impl SegmentCleaner {
    pub(crate) fn start(transport: &Transport, dir: &Path) -> Result<SegmentCleaner, Error> {
        let ((obsolete, receiver), (sender, deleted)) = (channel(), channel());
        let cleaner = CleanerThread {
            transport: transport.clone(),
            dir: dir.to_owned(),
            obsolete: receiver,
            deleted: sender,
        };
        let thread = thread::Builder::new().name("segment-cleaner".to_owned());
        let thread = thread.spawn(move || cleaner.run()).map_err(Error::Thread)?;
        Ok(SegmentCleaner { obsolete, deleted, thread })
    }

    /// Deletes obsolete data, in the background.
    pub(crate) fn delete(&self, obsolete: Obsolete) {
        // A thread that has failed returns its error from `join`.
        let _ = self.obsolete.send(obsolete);
    }

    /// Batches whose data was deleted since the last call.
    pub(crate) fn deleted_batches(&self) -> impl Iterator<Item = u64> {
        self.deleted.try_iter()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is deleted that can be deleted now.
    pub(crate) fn join(self) -> Result<(), Error> {
        drop(self.obsolete);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// State of the cleaner thread.
struct CleanerThread {
    transport: Transport,
    dir: PathBuf,
    obsolete: Receiver<Obsolete>,
    deleted: Sender<u64>,
}

impl CleanerThread {
    /// Deletes obsolete data; a batch that cannot be deleted is retried, and once more at the end.
    fn run(self) -> Result<(), Error> {
        let mut pending = Vec::new();
        loop {
            let next = match pending.is_empty() {
                true => self.obsolete.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => self.obsolete.recv_timeout(RETRY_INTERVAL),
            };
            let is_end = matches!(next, Err(RecvTimeoutError::Disconnected));
            for obsolete in next.ok().into_iter().chain(self.obsolete.try_iter()) {
                match obsolete {
                    // A segment that cannot be deleted now is deleted with its batch.
                    Obsolete::Segment(name) => drop(self.transport.blobs.remove(&name)),
                    Obsolete::Batch(batch) => pending.push(batch),
                }
            }
            let mut later = Vec::new();
            for batch in pending {
                match delete_batch(&self.dir, &self.transport, batch)? {
                    // If the receiver is gone, the next start deletes the batch again.
                    true => drop(self.deleted.send(batch)),
                    false => later.push(batch),
                }
            }
            pending = later;
            if is_end {
                return Ok(());
            }
        }
    }
}

/// Deletes a batch; false if a service is unavailable. The directory is deleted first: without its log it would be leased
/// again.
pub(crate) fn delete_batch(dir: &Path, transport: &Transport, batch: u64) -> Result<bool, Error> {
    WorkDir::Leased.remove(dir, batch)?;
    Ok(none_if_unavailable(transport.broker.delete_batch(batch))?.is_some()
        && none_if_unavailable(transport.blobs.remove_prefix(&messages::blob_prefix(batch)))?.is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use harvest::item::batch::Batch;
    use harvest::{BlobStore, BrokerError, DirBlobStore, DirBroker};
    use tempfile::TempDir;

    use super::*;

    fn transport(dir: &TempDir, blobs: Arc<dyn BlobStore>) -> Transport {
        Transport {
            broker: Arc::new(DirBroker::open_coordinator(&dir.path().join("broker")).unwrap()),
            blobs,
            settings: Arc::new(String::new),
            worker_timeout: Duration::ZERO,
        }
    }

    /// Publishes a batch with a log entry and a segment; returns the name of the segment.
    fn publish(dir: &TempDir, transport: &Transport, batch: u64) -> String {
        let segment = messages::segment_blob_name(batch, 1, 1);
        transport.broker.publish_batch(batch, b"offer").unwrap();
        transport.broker.append_log(batch, 0, b"entry").unwrap();
        transport.blobs.put(&segment, b"pages".to_vec()).unwrap();
        Batch { id: batch, ..Batch::default() }.write(&WorkDir::Leased.path(dir.path(), batch)).unwrap();
        segment
    }

    /// Whether a batch has a directory, a log, and the segment.
    fn remains(dir: &TempDir, transport: &Transport, batch: u64, segment: &str) -> [bool; 3] {
        [
            WorkDir::Leased.path(dir.path(), batch).exists(),
            !transport.broker.read_log(batch).unwrap().is_empty(),
            transport.blobs.get(segment, 100).unwrap().is_some(),
        ]
    }

    #[test]
    fn an_obsolete_segment_and_an_obsolete_batch_are_deleted_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Arc::new(DirBlobStore::open(&dir.path().join("blobs")).unwrap());
        let transport = transport(&dir, blobs);
        let segments = [1, 2, 3].map(|batch| publish(&dir, &transport, batch));
        let cleaner = SegmentCleaner::start(&transport, dir.path()).unwrap();
        cleaner.delete(Obsolete::Segment(segments[0].clone()));
        cleaner.delete(Obsolete::Batch(2));
        assert_eq!(cleaner.deleted.recv(), Ok(2), "the batch is reported when all of it is deleted");
        cleaner.join().unwrap();
        let remains = [1, 2, 3].map(|batch| remains(&dir, &transport, batch, &segments[batch as usize - 1]));
        assert_eq!(remains, [[true, true, false], [false; 3], [true; 3]]);
    }

    /// Blob store that cannot be reached.
    struct Unreachable;

    impl Unreachable {
        fn error() -> BrokerError {
            BrokerError::Unavailable {
                operation: "reach the blob store",
                source: "connection refused".into(),
            }
        }
    }

    impl BlobStore for Unreachable {
        fn put(&self, _name: &str, _bytes: Vec<u8>) -> Result<(), BrokerError> {
            Err(Unreachable::error())
        }

        fn get(&self, _name: &str, _max_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError> {
            Err(Unreachable::error())
        }

        fn remove(&self, _name: &str) -> Result<(), BrokerError> {
            Err(Unreachable::error())
        }

        fn remove_prefix(&self, _prefix: &str) -> Result<(), BrokerError> {
            Err(Unreachable::error())
        }
    }

    #[test]
    fn a_batch_is_not_reported_as_deleted_while_the_blob_store_is_unreachable() {
        let dir = tempfile::tempdir().unwrap();
        let transport = transport(&dir, Arc::new(Unreachable));
        let cleaner = SegmentCleaner::start(&transport, dir.path()).unwrap();
        cleaner.delete(Obsolete::Segment("000001/x".to_owned()));
        cleaner.delete(Obsolete::Batch(1));
        let SegmentCleaner { obsolete, deleted, thread } = cleaner;
        drop(obsolete);
        thread.join().unwrap().unwrap();
        assert_eq!(deleted.try_iter().count(), 0, "the next start deletes it");
    }
}
