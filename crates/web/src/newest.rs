//! Which commit is shown? The newest; a crawl may make another one at any time, so it is looked for now and then.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{Snapshot, find_snapshot};

/// A newer commit is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The newest commit of a collection, open for reading.
pub(crate) struct Newest {
    folder: PathBuf,
    known: Mutex<Option<(Instant, Arc<Snapshot>)>>,
}

impl Newest {
    pub(crate) fn new(folder: PathBuf) -> Newest {
        Newest { folder, known: Mutex::new(None) }
    }

    /// The newest commit. Who has got one keeps it until it is done, whatever is committed meanwhile.
    pub(crate) fn snapshot(&self) -> store::Result<Arc<Snapshot>> {
        // While one looks, others wait for what it finds; a panic there leaves what was known.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((looked, snapshot)) = known.as_mut() {
            if looked.elapsed() < LOOK_EVERY {
                return Ok(Arc::clone(snapshot));
            }
            if find_snapshot(&self.folder, None)?.generation == snapshot.manifest.generation {
                *looked = Instant::now();
                return Ok(Arc::clone(snapshot));
            }
        }
        let snapshot = Arc::new(Snapshot::open(&self.folder, None)?);
        *known = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }
}
