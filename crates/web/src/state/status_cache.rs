//! Cache of the collection status, refreshed in the background.
//!
//! Counting the pages of a large commit takes seconds. Pages that poll the status therefore get the last count, which may be
//! some seconds old.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inspect::CollectionStatus;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::state::api_error::ApiError;
use crate::state::clock::now_ms;
use crate::state::snapshot_cache::SnapshotCache;

/// Minimum time between two refreshes by polling pages.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

type StatusResult = Result<Arc<CollectionStatus>, ApiError>;

/// The last status, and the state of its refresh.
pub(crate) struct StatusCache {
    latest: watch::Sender<Option<StatusResult>>,
    /// Start of the last refresh by a polling page.
    last_refresh: Mutex<Option<Instant>>,
    /// Held while a refresh runs, so that only one does.
    refresh_lock: Mutex<()>,
}

impl StatusCache {
    pub(crate) fn new() -> StatusCache {
        StatusCache {
            latest: watch::Sender::new(None),
            last_refresh: Mutex::new(None),
            refresh_lock: Mutex::new(()),
        }
    }

    /// Returns the last status and starts a refresh in the background if one is due. Waits, for at most `wait`, only if
    /// there is no status yet.
    pub(crate) async fn latest(
        self: &Arc<Self>,
        snapshots: &Arc<SnapshotCache>,
        wait: Duration,
    ) -> Result<Option<Arc<CollectionStatus>>, ApiError> {
        if self.is_due() {
            let (cache, snapshots) = (Arc::clone(self), Arc::clone(snapshots));
            // The result arrives by the channel.
            drop(spawn_blocking(move || cache.refresh(&snapshots)));
        }
        let mut latest = self.latest.subscribe();
        let found = match timeout(wait, latest.wait_for(Option::is_some)).await {
            Ok(Ok(status)) => Option::clone(&status),
            _ => None,
        };
        found.transpose()
    }

    /// Returns the status of the newest commit; counts its pages unless that was done before.
    pub(crate) fn refresh(&self, snapshots: &SnapshotCache) -> StatusResult {
        // A thread that waited here finds the status of the newest commit in the cache.
        let _guard = self.refresh_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.count(snapshots);
        self.latest.send_replace(Some(status.clone()));
        status
    }

    fn count(&self, snapshots: &SnapshotCache) -> StatusResult {
        let snapshot = snapshots.snapshot()?;
        let generation = snapshot.manifest.generation;
        match &*self.latest.borrow() {
            Some(Ok(status)) if status.generation == generation => return Ok(Arc::clone(status)),
            _ => {}
        }
        Ok(Arc::new(CollectionStatus::load(&snapshot, now_ms())?))
    }

    fn is_due(&self) -> bool {
        let mut last_refresh = self.last_refresh.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last_refresh.is_none_or(|last_refresh| last_refresh.elapsed() >= REFRESH_INTERVAL);
        if is_due {
            *last_refresh = Some(Instant::now());
        }
        is_due
    }
}
