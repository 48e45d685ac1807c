//! Which commit is analysed? The newest, which is kept until all steps are done, however long a crawl goes on beside.

use std::path::Path;

use store::{Snapshot, find_snapshot, list_snapshots, pin_snapshot, unpin_snapshot};

use crate::error::Result;

/// The name under which a commit is kept while it is analysed.
const PIN: &str = "being-analysed";
/// A crawl may let go of a commit between the look for it and the pin; not so often.
const HOLD_TRIES: usize = 5;

/// A commit that stays.
#[derive(Debug)]
pub(super) struct Held<'c> {
    collection: &'c Path,
    pub(super) generation: u64,
    /// The name that keeps it.
    name: String,
}

impl Held<'_> {
    /// Keeps the newest commit.
    pub(super) fn newest(collection: &Path) -> Result<Held<'_>> {
        // The last analysis may have died.
        release(collection)?;
        let mut tries = 0;
        loop {
            let generation = find_snapshot(collection, None)?.generation;
            let entries = list_snapshots(collection)?;
            let kept = entries.into_iter().find(|entry| entry.generation == generation);
            if let Some(name) = kept.and_then(|entry| entry.name) {
                return Ok(Held { collection, generation, name });
            }
            match pin_snapshot(collection, generation, PIN) {
                Ok(()) => return Ok(Held { collection, generation, name: PIN.to_owned() }),
                Err(store::Error::NoSnapshot { .. }) if tries < HOLD_TRIES => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens it.
    pub(super) fn open(&self) -> Result<Snapshot> {
        Ok(Snapshot::open(self.collection, Some(&self.name))?)
    }

    /// Lets it go, unless somebody else keeps it.
    pub(super) fn release(self) -> Result<()> {
        if self.name == PIN { release(self.collection) } else { Ok(()) }
    }
}

fn release(collection: &Path) -> Result<()> {
    match unpin_snapshot(collection, PIN) {
        Ok(()) | Err(store::Error::NoSnapshot { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
