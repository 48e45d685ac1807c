//! Which commit is shown? The newest; a crawl may make another one at any time, so it is looked for now and then.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use store::{Snapshot, find_snapshot};

use crate::renewed::Renewed;

/// A newer commit is looked for no more often than this.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The newest commit of a collection, open for reading.
pub(crate) struct Newest {
    folder: PathBuf,
    open: Renewed<Snapshot>,
}

impl Newest {
    pub(crate) fn new(folder: PathBuf) -> Newest {
        Newest { folder, open: Renewed::new(LOOK_EVERY) }
    }

    /// The newest commit. Who has got one keeps it until it is done, whatever is committed meanwhile.
    pub(crate) fn snapshot(&self) -> store::Result<Arc<Snapshot>> {
        self.open.get(|old| {
            if let Some(old) = old
                && find_snapshot(&self.folder, None)?.generation == old.manifest.generation
            {
                return Ok(Arc::clone(old));
            }
            Ok(Arc::new(Snapshot::open(&self.folder, None)?))
        })
    }
}
