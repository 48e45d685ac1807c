//! Logs of leased batches that the listener polls, with their cursors and the batches that were leased.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use harvest::verification::leased_batch::LeasedBatch;

/// Open logs, by batch id.
#[derive(Clone, Default)]
pub(crate) struct OpenLogs(Arc<Mutex<BTreeMap<u64, OpenLog>>>);

/// Open log of a batch.
pub(crate) struct OpenLog {
    /// Sequence number of the last entry received.
    pub(crate) last_seq: u64,
    /// Batch that was leased; `None` while the listener reads an entry.
    pub(crate) leased: Option<LeasedBatch>,
}

impl OpenLogs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, OpenLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the log of a batch, of which everything up to `last_seq` was received.
    pub(crate) fn insert(&self, leased: LeasedBatch, last_seq: u64) {
        self.lock().insert(leased.id, OpenLog { last_seq, leased: Some(leased) });
    }

    /// Puts a batch back after the listener has read an entry.
    pub(crate) fn put_back(&self, leased: LeasedBatch) {
        if let Some(log) = self.lock().get_mut(&leased.id) {
            log.leased = Some(leased);
        }
    }
}
