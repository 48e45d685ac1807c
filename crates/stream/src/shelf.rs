//! Which commits are open? Each once, however many read it, and for a while after the last has gone: a client whose connection
//! broke finds its commit again, even if a crawl has let go of it on disk meanwhile.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{Result, Snapshot, find_snapshot};

/// A commit that nobody reads stays open so long.
const IDLE: Duration = Duration::from_secs(600);

/// No more commits that nobody reads stay open; each keeps its files from being deleted.
const MOST_IDLE: usize = 4;

/// The open commits of a collection.
pub struct Shelf {
    folder: PathBuf,
    open: Mutex<Vec<Entry>>,
}

struct Entry {
    snapshot: Arc<Snapshot>,
    last_used: Instant,
}

impl Shelf {
    /// Of this collection.
    pub fn new(folder: &Path) -> Shelf {
        Shelf { folder: folder.to_owned(), open: Mutex::new(Vec::new()) }
    }

    /// The commit meant by a name or a generation, or the newest one.
    pub fn take(&self, wanted: Option<&str>) -> Result<Arc<Snapshot>> {
        // Somebody opens while others wait: twice would be twice the work.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        clear(&mut open);
        let generation = match find_snapshot(&self.folder, wanted) {
            Ok(manifest) => manifest.generation,
            // One that is gone from disk may still be open.
            Err(error) => wanted.and_then(|wanted| wanted.parse().ok()).ok_or(error)?,
        };
        if let Some(entry) = open.iter_mut().find(|entry| entry.snapshot.manifest.generation == generation) {
            entry.last_used = Instant::now();
            return Ok(Arc::clone(&entry.snapshot));
        }
        let snapshot = Arc::new(Snapshot::open(&self.folder, wanted)?);
        open.push(Entry { snapshot: Arc::clone(&snapshot), last_used: Instant::now() });
        Ok(snapshot)
    }
}

/// Closes what nobody has read for a while.
fn clear(open: &mut Vec<Entry>) {
    for entry in open.iter_mut().filter(|entry| Arc::strong_count(&entry.snapshot) > 1) {
        entry.last_used = Instant::now();
    }
    open.retain(|entry| entry.last_used.elapsed() < IDLE);
    open.sort_by_key(|entry| std::cmp::Reverse(entry.last_used));
    let mut idle = 0;
    open.retain(|entry| {
        idle += usize::from(Arc::strong_count(&entry.snapshot) == 1);
        idle <= MOST_IDLE
    });
}
