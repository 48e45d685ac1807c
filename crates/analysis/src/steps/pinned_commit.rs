//! The commit that is analysed: the newest one, pinned until all steps are done, because a crawl that runs at the same
//! time deletes old commits.

use std::path::Path;

use store::{Snapshot, delete_snapshot, find_snapshot, list_snapshots, pin_generation};

use crate::error::Result;

/// Name of the snapshot that pins the commit.
const PIN_NAME: &str = "being-analysed";
/// A crawl may delete a commit between the lookup and the pin. Several times in a row is unlikely.
const MAX_PIN_ATTEMPTS: usize = 5;

/// A commit that is not deleted while this exists.
#[derive(Debug)]
pub(super) struct PinnedCommit<'c> {
    collection: &'c Path,
    pub(super) generation: u64,
    /// Name of the snapshot that pins it; not always [`PIN_NAME`].
    name: String,
}

impl PinnedCommit<'_> {
    /// Pins the newest commit.
    pub(super) fn pin_newest(collection: &Path) -> Result<PinnedCommit<'_>> {
        // A previous analysis that crashed has left its pin.
        release(collection)?;
        let mut attempts = 0;
        loop {
            let generation = find_snapshot(collection, None)?.generation;
            let entries = list_snapshots(collection)?;
            // A user's snapshot pins the commit as well.
            let snapshot = entries.into_iter().find(|entry| entry.generation == generation);
            if let Some(name) = snapshot.and_then(|entry| entry.name) {
                return Ok(PinnedCommit { collection, generation, name });
            }
            match pin_generation(collection, generation, PIN_NAME) {
                Ok(()) => return Ok(PinnedCommit { collection, generation, name: PIN_NAME.to_owned() }),
                Err(store::Error::SnapshotNotFound { .. }) if attempts < MAX_PIN_ATTEMPTS => attempts += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens the commit for reading.
    pub(super) fn open(&self) -> Result<Snapshot> {
        Ok(Snapshot::open(self.collection, Some(&self.name))?)
    }

    /// Removes the pin, unless the commit is pinned by a snapshot of the user.
    pub(super) fn release(self) -> Result<()> {
        if self.name == PIN_NAME { release(self.collection) } else { Ok(()) }
    }
}

fn release(collection: &Path) -> Result<()> {
    match delete_snapshot(collection, PIN_NAME) {
        Ok(()) | Err(store::Error::SnapshotNotFound { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
