//! How does a file grow without ever losing what was committed?
//!
//! A growing file is appended to between commits. A commit syncs it and notes its length and the checksum of what was
//! added: an extent. Whatever lies beyond the last extent was never committed, and is cut off when the file is opened
//! for writing. The file's own format does not matter here.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Context, Result};
use crate::manifest::{Extent, FileEntry};

/// A file under construction; between commits its end is in memory.
pub(crate) struct GrowingFile {
    path: PathBuf,
    file: File,
    entry: FileEntry,
    /// Appended and not yet written.
    pending: Vec<u8>,
    /// Of what was appended since the last commit.
    hasher: Box<Xxh3>,
    /// With what is pending.
    length: u64,
}

/// So much is collected before it is written.
const PENDING_BYTES: usize = 1 << 20;

impl GrowingFile {
    /// Starts a file of this name, relative to the collection's folder.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<GrowingFile> {
        GrowingFile::open(folder, FileEntry::growing(name))
    }

    /// Goes on with a file from where the last commit left it.
    pub(crate) fn open(folder: &Path, entry: FileEntry) -> Result<GrowingFile> {
        let path = folder.join(&entry.name);
        let length = entry.length();
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(length == 0)
            .open(&path)
            .context("open", &path)?;
        file.set_len(length).context("cut back", &path)?;
        Ok(GrowingFile { path, file, entry, pending: Vec::new(), hasher: Box::default(), length })
    }

    /// Where the next byte will go.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its name, relative to the collection's folder.
    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }

    /// Appends; the bytes count from the next commit on.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PENDING_BYTES { self.write_pending() } else { Ok(()) }
    }

    /// Lets readers of the file see everything appended so far; says nothing about a crash.
    pub(crate) fn write_pending(&mut self) -> Result<()> {
        self.file.write_all(&self.pending).context("write", &self.path)?;
        self.pending.clear();
        Ok(())
    }

    /// Makes everything appended so far last, and says how the manifest is to name the file.
    pub(crate) fn commit(&mut self) -> Result<FileEntry> {
        if self.length > self.entry.length() {
            self.write_pending()?;
            self.file.sync_data().context("sync", &self.path)?;
            let checksum = self.hasher.digest();
            self.hasher.reset();
            self.entry.extents.push(Extent { length: self.length - self.entry.length(), checksum });
        }
        Ok(self.entry.clone())
    }
}
