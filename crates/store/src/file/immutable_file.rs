//! Writer of immutable files: written once, synced, and identified by a checksum.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::disk::File;
use crate::error::{Context, Result};
use crate::manifest::FileEntry;

/// Immutable file under construction. Unbuffered: callers should write large blocks.
pub(crate) struct ImmutableFileWriter {
    name: String,
    path: PathBuf,
    file: File,
    hasher: Box<Xxh3>,
    length: u64,
}

impl ImmutableFileWriter {
    /// Creates a file; `name` is relative to the directory of the collection.
    pub(crate) fn create(dir: &Path, name: &str) -> Result<ImmutableFileWriter> {
        let path = dir.join(name);
        let file = File::create(&path).context("create", &path)?;
        Ok(ImmutableFileWriter { name: name.to_owned(), path, file, hasher: Box::default(), length: 0 })
    }

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.path.clone();
        self.write_all(bytes).context("write", &path)
    }

    /// Syncs the file; returns the entry for the manifest.
    pub(crate) fn finish(self) -> Result<FileEntry> {
        self.file.sync().context("sync", &self.path)?;
        Ok(FileEntry::complete(&self.name, self.length, self.hasher.digest()))
    }
}

impl Write for ImmutableFileWriter {
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
