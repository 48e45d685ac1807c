//! Where do the files of the index lie? All of them are listed here, below `DIR/text/`.
//!
//! ```text
//! LOCK                      held by the one process that indexes
//! index/                    the inverted index, tantivy's own files; its newest commit names all files below
//! pages-PART-COMMIT         what was indexed of each page of one part of the collection
//! words-COMMIT              words as pages write them, with how often they do, to correct queries by
//! old/                      an index on its way out
//! ```
//!
//! Nothing here is part of the collection's commits: it follows from them, and may be deleted.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Context, Error, Result};

/// The folder of a collection's index.
#[derive(Debug, Clone)]
pub(crate) struct TextFolder {
    collection: PathBuf,
    text: PathBuf,
}

/// While it is there, no other process indexes the collection.
pub(crate) struct IndexLock(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

const CHECKSUM_BYTES: usize = 8;

impl TextFolder {
    /// That of a collection.
    pub(crate) fn of(collection: &Path) -> TextFolder {
        TextFolder { collection: collection.to_owned(), text: collection.join("text") }
    }

    /// The collection's folder.
    pub(crate) fn collection(&self) -> &Path {
        &self.collection
    }

    /// The inverted index.
    pub(crate) fn index(&self) -> PathBuf {
        self.text.join("index")
    }

    /// The file with what was indexed of one part of the pages.
    pub(crate) fn pages(&self, part: usize, commit: u64) -> PathBuf {
        self.text.join(format!("pages-{part:05}-{commit:010}"))
    }

    /// The file with words as pages write them.
    pub(crate) fn words(&self, commit: u64) -> PathBuf {
        self.text.join(format!("words-{commit:010}"))
    }

    /// Makes the folder, and keeps others from indexing meanwhile.
    pub(crate) fn lock(&self) -> Result<IndexLock> {
        fs::create_dir_all(&self.text).context("create", &self.text)?;
        let path = self.text.join("LOCK");
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).context("open", &path)?;
        match file.try_lock() {
            Ok(()) => Ok(IndexLock(file)),
            Err(TryLockError::WouldBlock) => Err(Error::Locked { folder: self.collection.clone() }),
            Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
        }
    }

    /// Puts an index aside that cannot be gone on with, at once, and removes it.
    pub(crate) fn discard_index(&self) -> Result<()> {
        let (index, old) = (self.index(), self.text.join("old"));
        if index.exists() {
            remove_folder(&old)?;
            fs::rename(&index, &old).context("rename", &index)?;
        }
        remove_folder(&old)
    }

    /// Removes all files that are not among these.
    pub(crate) fn sweep(&self, in_use: &[PathBuf]) -> Result<()> {
        for entry in fs::read_dir(&self.text).context("list", &self.text)? {
            let path = entry.context("list", &self.text)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_ours = name.starts_with("pages-") || name.starts_with("words-");
            if is_ours && !in_use.contains(&path) {
                fs::remove_file(&path).context("remove", &path)?;
            }
        }
        remove_folder(&self.text.join("old"))
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for folder in [&self.text, &self.index()] {
            for entry in fs::read_dir(folder).context("list", folder)? {
                let entry = entry.context("list", folder)?;
                // Another process may remove files that nobody needs any more.
                bytes +=
                    entry.metadata().ok().filter(fs::Metadata::is_file).map_or(0, |metadata| metadata.len());
            }
        }
        Ok(bytes)
    }
}

/// Writes a file as a whole, with a checksum, and makes it last. Whoever names it does so later.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.write_all(&xxh3_64(bytes).to_le_bytes())?;
        file.sync_all()?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().context("write", path)
}

/// What [`write_whole`] was given.
pub(crate) fn read_whole(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = match fs::read(path) {
        // Somebody named it: it was there.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Unreadable { what: format!("{} is missing", path.display()) });
        }
        bytes => bytes.context("read", path)?,
    };
    let content = bytes.len().checked_sub(CHECKSUM_BYTES);
    let is_whole = content.is_some_and(|end| xxh3_64(&bytes[..end]).to_le_bytes() == bytes[end..]);
    if !is_whole {
        return Err(Error::Unreadable { what: format!("{} is damaged", path.display()) });
    }
    bytes.truncate(content.unwrap_or(0));
    Ok(bytes)
}

fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}
