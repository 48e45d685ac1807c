//! Directory of the index: all files below `DIR/text/`.
//!
//! ```text
//! LOCK                      locked by the process that indexes
//! index/                    inverted index, files of tantivy; its newest commit references the files below
//! pages-RANGE-COMMIT        indexed state of each page of a range
//! words-COMMIT              vocabulary with frequencies, for spelling suggestions
//! FILES                     checksums of all these files
//! old/                      discarded index that is being deleted
//! ```
//!
//! Nothing here is part of the commits of the collection: the index is derived from them and may be deleted.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use store::FileList;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Context, Error, Result};

/// Index directory of a collection.
#[derive(Debug, Clone)]
pub(crate) struct IndexDir {
    collection: PathBuf,
    text_dir: PathBuf,
}

/// Lock against other indexing processes, released on drop.
pub(crate) struct IndexLock(#[expect(dead_code, reason = "holds the lock while the file is open")] File);

const CHECKSUM_BYTES: usize = 8;
const LOCK: &str = "LOCK";
/// Files of tantivy that every commit replaces; all others are written once.
const REPLACED: [&str; 2] = ["/meta.json", "/.managed.json"];

impl IndexDir {
    pub(crate) fn new(collection: &Path) -> IndexDir {
        IndexDir { collection: collection.to_owned(), text_dir: collection.join("text") }
    }

    /// Directory of the collection.
    pub(crate) fn collection(&self) -> &Path {
        &self.collection
    }

    /// Directory of the inverted index.
    pub(crate) fn index_path(&self) -> PathBuf {
        self.text_dir.join("index")
    }

    /// File with the indexed states of a range of pages.
    pub(crate) fn pages_path(&self, range: usize, commit: u64) -> PathBuf {
        self.text_dir.join(format!("pages-{range:05}-{commit:010}"))
    }

    /// File of the vocabulary.
    pub(crate) fn words_path(&self, commit: u64) -> PathBuf {
        self.text_dir.join(format!("words-{commit:010}"))
    }

    /// Creates the directory and locks it.
    pub(crate) fn lock(&self) -> Result<IndexLock> {
        fs::create_dir_all(&self.text_dir).context("create", &self.text_dir)?;
        // Without this, a power failure could lose the directory with the whole index.
        File::open(&self.collection).and_then(|dir| dir.sync_all()).context("sync", &self.collection)?;
        let path = self.text_dir.join(LOCK);
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).context("open", &path)?;
        match file.try_lock() {
            Ok(()) => Ok(IndexLock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::Locked { dir: self.collection.clone() }),
            Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
        }
    }

    /// Discards the index: renames it, so that it disappears atomically, and deletes it.
    pub(crate) fn discard_index(&self) -> Result<()> {
        let (index, old) = (self.index_path(), self.text_dir.join("old"));
        // The next index starts again with the names of this one.
        self.write_incomplete(FileList::new())?;
        if index.exists() {
            remove_dir(&old)?;
            fs::rename(&index, &old).context("rename", &index)?;
        }
        remove_dir(&old)
    }

    /// Deletes all files that are not in use.
    pub(crate) fn remove_unreferenced(&self, in_use: &[PathBuf]) -> Result<()> {
        for entry in fs::read_dir(&self.text_dir).context("list", &self.text_dir)? {
            let path = entry.context("list", &self.text_dir)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_derived = name.starts_with("pages-") || name.starts_with("words-");
            if is_derived && !in_use.contains(&path) {
                fs::remove_file(&path).context("remove", &path)?;
            }
        }
        remove_dir(&self.text_dir.join("old"))
    }

    /// Marks the list of files as incomplete, before any file is replaced or deleted. Files of tantivy's commits that change in place are removed
    /// from it.
    pub(crate) fn begin_update(&self) -> Result<()> {
        let mut list = self.read_list().unwrap_or_default();
        list.retain(|name| !REPLACED.iter().any(|replaced| name.ends_with(replaced)));
        self.write_incomplete(list)
    }

    fn write_incomplete(&self, mut list: FileList) -> Result<()> {
        list.is_complete = false;
        Ok(list.write(&FileList::path_in(&self.text_dir))?)
    }

    /// Writes the list of all files, unless it is complete. Only files that are not listed yet are read: all but the replaced ones are never changed.
    pub(crate) fn finish_update(&self) -> Result<()> {
        let old = self.read_list().unwrap_or_default();
        if old.is_complete && !old.files().is_empty() {
            return Ok(());
        }
        let mut list = FileList::new();
        for (dir, prefix) in [(&self.text_dir, "text"), (&self.index_path(), "text/index")] {
            for entry in fs::read_dir(dir).context("list", dir)? {
                let path = entry.context("list", dir)?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_listed = path.is_file() && name != LOCK && name != "FILES" && !name.ends_with(".lock");
                if !is_listed {
                    continue;
                }
                let name = format!("{prefix}/{name}");
                let length = path.metadata().context("read", &path)?.len();
                match old.get(&name).filter(|entry| entry.length() == length) {
                    Some(entry) => list.insert(entry.clone()),
                    None => list.add_file(&path, &name)?,
                }
            }
        }
        Ok(list.write(&FileList::path_in(&self.text_dir))?)
    }

    /// The list of files; `None` if it is missing or damaged.
    fn read_list(&self) -> Option<FileList> {
        FileList::read(&FileList::path_in(&self.text_dir)).ok().flatten()
    }

    /// Size of all files.
    pub(crate) fn total_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for dir in [&self.text_dir, &self.index_path()] {
            for entry in fs::read_dir(dir).context("list", dir)? {
                let entry = entry.context("list", dir)?;
                // Another process may delete unused files at the same time.
                bytes +=
                    entry.metadata().ok().filter(fs::Metadata::is_file).map_or(0, |metadata| metadata.len());
            }
        }
        Ok(bytes)
    }
}

/// Writes a file with a checksum at its end, and syncs it. The caller references it only afterwards.
pub(crate) fn write_checksummed(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.write_all(&xxh3_64(bytes).to_le_bytes())?;
        file.sync_all()?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().context("write", path)
}

/// Reads and verifies a file of [`write_checksummed`] with at most `max_bytes` of content.
pub(crate) fn read_checksummed(path: &Path, max_bytes: usize) -> Result<Vec<u8>> {
    let mut bytes = match store::read_limited(path, (max_bytes + CHECKSUM_BYTES) as u64) {
        // A commit references the file, so a missing one is damage.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Unreadable { reason: format!("{} is missing", path.display()) });
        }
        bytes => bytes.context("read", path)?,
    };
    let content = bytes.len().checked_sub(CHECKSUM_BYTES);
    let is_valid = content.is_some_and(|end| xxh3_64(&bytes[..end]).to_le_bytes() == bytes[end..]);
    if !is_valid {
        return Err(Error::Unreadable { reason: format!("{} is damaged", path.display()) });
    }
    bytes.truncate(content.unwrap_or(0));
    Ok(bytes)
}

fn remove_dir(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}
