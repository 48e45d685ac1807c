//! Cache of open snapshots. Each commit is open once, shared by all readers, and stays open for a while after the last one:
//! a client that reconnects finds its commit even if the crawl has deleted it from disk meanwhile.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "flight")]
use store::list_snapshots;
use store::{Result, Snapshot, find_snapshot};

/// Time for which an unused snapshot stays open.
const IDLE_TTL: Duration = Duration::from_secs(600);

/// Maximum number of unused snapshots; each keeps deleted files on disk.
const MAX_IDLE: usize = 4;

/// Open snapshots of a collection.
pub struct SnapshotCache {
    dir: PathBuf,
    snapshots: Mutex<Vec<CachedSnapshot>>,
}

struct CachedSnapshot {
    snapshot: Arc<Snapshot>,
    last_used: Instant,
}

impl SnapshotCache {
    /// Creates an empty cache for the collection in `dir`.
    pub fn new(dir: &Path) -> SnapshotCache {
        SnapshotCache { dir: dir.to_owned(), snapshots: Mutex::new(Vec::new()) }
    }

    /// Names of the snapshots that are kept.
    #[cfg(feature = "flight")]
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        Ok(list_snapshots(&self.dir)?.into_iter().filter_map(|snapshot| snapshot.name).collect())
    }

    /// Opens a snapshot by name or generation; the last commit for `None`.
    pub fn open(&self, name_or_generation: Option<&str>) -> Result<Arc<Snapshot>> {
        // The lock is held while opening, so that concurrent readers do not open the same commit twice.
        let mut open = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        evict_idle(&mut open);
        let generation = match find_snapshot(&self.dir, name_or_generation) {
            Ok(manifest) => manifest.generation,
            // A commit that was deleted from disk may still be open here.
            Err(error) => name_or_generation
                .and_then(|name_or_generation| name_or_generation.parse().ok())
                .ok_or(error)?,
        };
        if let Some(entry) = open.iter_mut().find(|entry| entry.snapshot.manifest.generation == generation) {
            entry.last_used = Instant::now();
            return Ok(Arc::clone(&entry.snapshot));
        }
        let snapshot = Arc::new(Snapshot::open(&self.dir, name_or_generation)?);
        open.push(CachedSnapshot { snapshot: Arc::clone(&snapshot), last_used: Instant::now() });
        Ok(snapshot)
    }
}

/// Closes snapshots that are unused for [`IDLE_TTL`], and the oldest beyond [`MAX_IDLE`].
fn evict_idle(open: &mut Vec<CachedSnapshot>) {
    for entry in open.iter_mut().filter(|entry| Arc::strong_count(&entry.snapshot) > 1) {
        entry.last_used = Instant::now();
    }
    open.retain(|entry| entry.last_used.elapsed() < IDLE_TTL);
    open.sort_by_key(|entry| std::cmp::Reverse(entry.last_used));
    let mut idle = 0;
    open.retain(|entry| {
        idle += usize::from(Arc::strong_count(&entry.snapshot) == 1);
        idle <= MAX_IDLE
    });
}
