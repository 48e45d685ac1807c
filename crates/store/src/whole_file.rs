//! How does a file that never changes come to be? It is written once, synced, and known by its checksum from then on.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Context, Result};
use crate::manifest::FileEntry;

/// An immutable file under construction. It does not collect small writes: give it large ones.
pub(crate) struct WholeFile {
    name: String,
    path: PathBuf,
    file: File,
    hasher: Box<Xxh3>,
    length: u64,
}

impl WholeFile {
    /// Starts a file of this name, relative to the collection's folder.
    pub(crate) fn create(folder: &Path, name: &str) -> Result<WholeFile> {
        let path = folder.join(name);
        let file = File::create(&path).context("create", &path)?;
        Ok(WholeFile { name: name.to_owned(), path, file, hasher: Box::default(), length: 0 })
    }

    /// Appends.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.path.clone();
        self.write_all(bytes).context("write", &path)
    }

    /// Syncs the file, and says how the manifest is to name it.
    pub(crate) fn finish(self) -> Result<FileEntry> {
        self.file.sync_data().context("sync", &self.path)?;
        Ok(FileEntry::complete(&self.name, self.length, self.hasher.digest()))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
