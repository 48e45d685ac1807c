//! Cache of the newest snapshot of the collection. A crawl may commit at any time, so a newer commit is looked for regularly.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use store::{Snapshot, find_snapshot};

use crate::state::refreshing::Refreshing;

/// Minimum time between two checks for a newer commit.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The newest commit of a collection, open for reading.
pub(crate) struct SnapshotCache {
    dir: PathBuf,
    open: Refreshing<Snapshot>,
}

impl SnapshotCache {
    pub(crate) fn new(dir: PathBuf) -> SnapshotCache {
        SnapshotCache { dir, open: Refreshing::new(POLL_INTERVAL) }
    }

    /// Returns the newest snapshot. It stays readable while it is held, also after newer commits.
    pub(crate) fn snapshot(&self) -> store::Result<Arc<Snapshot>> {
        self.open.get(|old| {
            if let Some(old) = old
                && find_snapshot(&self.dir, None)?.generation == old.manifest.generation
            {
                return Ok(Arc::clone(old));
            }
            Ok(Arc::new(Snapshot::open(&self.dir, None)?))
        })
    }
}
