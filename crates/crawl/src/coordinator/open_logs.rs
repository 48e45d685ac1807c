//! Logs of leased batches that the listener polls, with their cursors and the batches that were lent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harvest::verification::lent_batch::LentBatch;

/// Open logs, by batch id.
#[derive(Clone, Default)]
pub(crate) struct OpenLogs(Arc<Mutex<BTreeMap<u64, OpenLog>>>);

/// Open log of a batch.
pub(crate) struct OpenLog {
    /// Sequence number of the last entry received.
    pub(crate) last_seq: u64,
    /// Batch that was lent; `None` while the listener reads an entry.
    pub(crate) lent: Option<LentBatch>,
}

impl OpenLogs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, OpenLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the log of a batch, of which everything up to `last_seq` was received.
    pub(crate) fn insert(&self, lent: LentBatch, last_seq: u64) {
        self.lock().insert(lent.id, OpenLog { last_seq, lent: Some(lent) });
    }

    /// Puts a batch back after the listener has read an entry.
    pub(crate) fn put_back(&self, lent: LentBatch) {
        if let Some(log) = self.lock().get_mut(&lent.id) {
            log.lent = Some(lent);
        }
    }
}
