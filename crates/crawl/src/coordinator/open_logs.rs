//! Logs of leased batches that the listener polls, with their cursors.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open logs and the sequence number of the last entry received.
#[derive(Clone, Default)]
pub(crate) struct OpenLogs(Arc<Mutex<BTreeMap<u64, u64>>>);

/// State shared by the listener and the thread that owns the collection.
pub(crate) struct ListenerShared {
    pub(crate) open: OpenLogs,
    /// Number of workers that reported recently.
    pub(crate) workers: Arc<AtomicUsize>,
}

impl OpenLogs {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
