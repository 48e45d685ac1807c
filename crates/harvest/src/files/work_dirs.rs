//! Paths of the directories that one program of a crawl leaves for the next.
//!
//! Each is named by the id of its batch: `batches/000007` is for a harvester, `harvests/000007` for the gatherer,
//! `outlinks/000007` for the seeder. The collection commits which of them it has ingested, so that a directory that is
//! left after a crash is never ingested twice.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::files::sealed_dir;
use crate::files::sealed_dir::SealedDirError;

/// Directory of the journals of a crawl, in the directory of its collection.
pub fn journal(collection: &Path) -> PathBuf {
    collection.join("journal")
}

/// Directory of the journals of a standalone harvester of a collection.
pub fn harvest_journal(collection: &Path) -> PathBuf {
    collection.join("harvests").join("journal")
}

/// Directory of the journals of a harvester that got a single batch: beside the batch, where the next harvester finds it.
pub fn batch_journal(batch: &Path) -> PathBuf {
    let mut name = batch.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    batch.with_file_name(name)
}

/// Directory of the journals of the collection that contains a batch, if one does.
pub fn collection_journal_of(batch: &Path) -> Option<PathBuf> {
    let batches =
        batch.parent().filter(|parent| parent.file_name() == Some(WorkDir::Batches.name().as_ref()))?;
    Some(harvest_journal(batches.parent()?))
}

/// Time at which a directory was written, in Unix milliseconds; not after `now_ms`.
pub fn written_ms(dir: &Path, now_ms: u64) -> u64 {
    let written = fs::metadata(dir).and_then(|directory| directory.modified()).ok();
    let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .map_or(0, |written_ms| written_ms.min(now_ms))
}

/// Directory of a stage of the crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkDir {
    /// Batches for a harvester.
    Batches,
    /// Batches that are leased to workers.
    Leased,
    /// Harvests for the gatherer.
    Harvests,
    /// Links for the seeder.
    Outlinks,
}

impl WorkDir {
    fn name(self) -> &'static str {
        match self {
            WorkDir::Batches => "batches",
            WorkDir::Leased => "leased",
            WorkDir::Harvests => "harvests",
            WorkDir::Outlinks => "outlinks",
        }
    }

    /// Directory of a batch.
    pub fn path(self, collection: &Path, batch: u64) -> PathBuf {
        collection.join(self.name()).join(format!("{batch:06}"))
    }

    /// Complete directories with their batch ids, in order.
    pub fn list(self, collection: &Path) -> Result<Vec<(u64, PathBuf)>, SealedDirError> {
        let dir = collection.join(self.name());
        let failed = |source| SealedDirError::Io { operation: "read", dir: dir.clone(), source };
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut batches = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            // Unfinished directories have a suffix.
            let id = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            batches.extend(id.and_then(|id| Some((id.parse().ok()?, path.clone()))));
        }
        batches.sort_unstable();
        Ok(batches)
    }

    /// Removes the directory of a batch, if it exists.
    pub fn remove(self, collection: &Path, batch: u64) -> Result<(), SealedDirError> {
        let dir = self.path(collection, batch);
        sealed_dir::remove(&dir).map_err(|source| SealedDirError::Io { operation: "remove", dir, source })
    }
}
