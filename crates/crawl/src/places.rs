//! Where does everything lie that one program leaves for the next, and how far has the collection taken it in?
//!
//! Everything about one batch has its number: `batches/000007` waits for a harvester, `harvests/000007` for the gatherer,
//! `found/000007` for the seeder. The collection notes, as a part of its commits, what it has taken in; so a folder that
//! outlived its program by an accident is never taken in twice.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use store::Collection;

use crate::closed_folder;
use crate::error::Error;

/// What a harvester must not forget, in the folder of its collection.
pub(crate) fn journal(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// The same of a harvester that works alone.
pub(crate) fn harvest_journal(folder: &Path) -> PathBuf {
    folder.join("harvests").join("journal")
}

/// The same of one that was given this batch alone, wherever that lies: whoever harvests it next finds it beside it.
pub(crate) fn batch_journal(batch: &Path) -> PathBuf {
    let mut name = batch.file_name().unwrap_or_default().to_owned();
    name.push(".journal");
    batch.with_file_name(name)
}

/// The journal of the collection that a batch lies in, if it lies in one.
pub(crate) fn harvest_journal_of(batch: &Path) -> Option<PathBuf> {
    let batches =
        batch.parent().filter(|parent| parent.file_name() == Some(Place::Batches.name().as_ref()))?;
    Some(harvest_journal(batches.parent()?))
}

/// What waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Batches wait for a harvester.
    Batches,
    /// Batches that workers have.
    Lent,
    /// Harvests wait for the gatherer.
    Harvests,
    /// Links wait for the seeder.
    Found,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Batches => "batches",
            Place::Lent => "lent",
            Place::Harvests => "harvests",
            Place::Found => "found",
        }
    }

    /// The folder of this number.
    pub(crate) fn of(self, collection: &Path, number: u64) -> PathBuf {
        collection.join(self.name()).join(format!("{number:06}"))
    }

    /// The folders that are complete, in the order of their numbers.
    pub(crate) fn list(self, collection: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
        let folder = collection.join(self.name());
        let failed = |source| Error::Io { what: "read", path: folder.clone(), source };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let number = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
            found.extend(number.and_then(|number| Some((number.parse().ok()?, path.clone()))));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Takes a folder away, if it is there.
    pub(crate) fn remove(self, collection: &Path, number: u64) -> Result<(), Error> {
        let path = self.of(collection, number);
        closed_folder::remove(&path).map_err(|source| Error::Io { what: "remove", path, source })
    }
}

/// The note with the number of the last batch.
pub(crate) const LAST_BATCH: &str = "batches";

/// The number of the last batch that was made, by the notes of a commit.
pub fn last_batch(notes: &BTreeMap<String, u64>) -> u64 {
    notes.get(LAST_BATCH).copied().unwrap_or(0)
}
/// Begins the notes of batches that the collection has taken in, in part.
const BATCH: &str = "batch ";

/// How far the collection has taken a batch in. Its number in notes is one more than the lines of links that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Not at all.
    Nothing,
    /// All pages, and these lines of links.
    Pages { lines: u64 },
    /// Everything.
    All,
}

impl Taken {
    pub(crate) fn of(collection: &Collection, number: u64) -> Taken {
        match collection.notes.get(&format!("{BATCH}{number}")) {
            None | Some(0) => Taken::Nothing,
            Some(&u64::MAX) => Taken::All,
            Some(count) => Taken::Pages { lines: count - 1 },
        }
    }

    /// Holds from the next commit on.
    pub(crate) fn note(self, collection: &mut Collection, number: u64) {
        let value = match self {
            Taken::Nothing => 0,
            Taken::Pages { lines } => lines + 1,
            Taken::All => u64::MAX,
        };
        collection.notes.insert(format!("{BATCH}{number}"), value);
    }
}

/// Notes about batches of which nothing lies around any more are forgotten with the next commit.
pub(crate) fn forget(collection: &mut Collection) {
    let folder = collection.folder().to_owned();
    collection.notes.retain(|name, _| {
        let number = name.strip_prefix(BATCH).and_then(|number| number.parse().ok());
        let is_there = |number| {
            let places = [Place::Batches, Place::Harvests, Place::Found];
            places.iter().any(|place| place.of(&folder, number).exists())
        };
        number.is_none_or(is_there)
    });
}
