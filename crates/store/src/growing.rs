//! How does a file grow without ever losing what was committed?
//!
//! A growing file is appended to between commits. A commit syncs it and notes its length and its checksums, one for
//! each extent of 16 MiB and one for the rest. Whatever lies beyond was never committed, and is cut off when the file is
//! opened for writing. The file's own format does not matter here.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::error::{Context, Result, damaged};
use crate::manifest::{Extent, FileEntry};

/// All extents but the last have this size, so that a manifest grows with the file and not with the commits.
const EXTENT_BYTES: u64 = 16 << 20;

/// So much is collected before it is written.
const PENDING_BYTES: usize = 1 << 20;

/// A file under construction; between commits its end is in memory.
pub(crate) struct GrowingFile {
    path: PathBuf,
    file: File,
    name: String,
    /// Full extents.
    extents: Vec<Extent>,
    /// Of the extent under construction.
    hasher: Box<Xxh3>,
    /// Appended and not yet written.
    pending: Vec<u8>,
    /// With what is pending.
    length: u64,
    /// Of the last commit.
    committed: u64,
}

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
        let FileEntry { name, mut extents } = entry;
        let rest = extents.pop_if(|extent| extent.length < EXTENT_BYTES);
        let hasher =
            rest.map_or(Ok(Box::default()), |rest| resume(&file, &path, length - rest.length, rest))?;
        Ok(GrowingFile { path, file, name, extents, hasher, pending: Vec::new(), length, committed: length })
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
        &self.name
    }

    /// Appends; the bytes count from the next commit on.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = EXTENT_BYTES - self.length % EXTENT_BYTES;
            let (now, later) = rest.split_at(rest.len().min(room as usize));
            self.hasher.update(now);
            self.length += now.len() as u64;
            if self.length.is_multiple_of(EXTENT_BYTES) {
                self.extents.push(Extent { length: EXTENT_BYTES, checksum: self.hasher.digest() });
                self.hasher.reset();
            }
            rest = later;
        }
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
        if self.length > self.committed {
            self.write_pending()?;
            self.file.sync_data().context("sync", &self.path)?;
            self.committed = self.length;
        }
        let mut extents = self.extents.clone();
        let rest = self.length % EXTENT_BYTES;
        if rest > 0 {
            extents.push(Extent { length: rest, checksum: self.hasher.digest() });
        }
        Ok(FileEntry { name: self.name.clone(), extents })
    }
}

/// Opens a file for reading at a commit: it may have grown since, but it may not be shorter.
pub(crate) fn open_committed(folder: &Path, entry: &FileEntry) -> Result<(PathBuf, File)> {
    let path = folder.join(&entry.name);
    let file = File::open(&path).context("open", &path)?;
    let found = file.metadata().context("read", &path)?.len();
    if found < entry.length() {
        let what = format!("it has {found} bytes, and the manifest says {}", entry.length());
        return Err(damaged(&path, "at its end", what));
    }
    Ok((path, file))
}

/// The hasher of the last extent as it was at the commit; what it has hashed is checked on the way.
fn resume(file: &File, path: &Path, start: u64, extent: Extent) -> Result<Box<Xxh3>> {
    let mut bytes = vec![0; extent.length as usize];
    file.read_exact_at(&mut bytes, start).context("read", path)?;
    let mut hasher: Box<Xxh3> = Box::default();
    hasher.update(&bytes);
    let (found, expected) = (hasher.digest(), extent.checksum);
    if found != expected {
        return Err(damaged(
            path,
            format!("at byte {start}"),
            format!("checksum {found:016x}, expected {expected:016x}"),
        ));
    }
    Ok(hasher)
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    #[test]
    fn checksums_are_those_of_the_bytes_however_they_came() {
        let folder = tempfile::tempdir().unwrap();
        let mut entry = FileEntry::growing("grown");
        let mut written = Vec::new();
        for step in 0..40u32 {
            let mut file = GrowingFile::open(folder.path(), entry.clone()).unwrap();
            let piece = vec![step as u8; 1_000_003];
            file.append(&piece).unwrap();
            written.extend_from_slice(&piece);
            entry = file.commit().unwrap();
            file.append(b"never committed").unwrap();
            file.write_pending().unwrap();
        }
        assert_eq!(entry.length(), written.len() as u64);
        assert_eq!(entry.extents.len(), 3, "the manifest does not grow with the commits");
        let mut start = 0;
        for extent in &entry.extents {
            let end = start + extent.length as usize;
            assert_eq!(extent.checksum, xxh3_64(&written[start..end]));
            start = end;
        }
    }

    #[test]
    fn a_damaged_end_is_found_when_the_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = GrowingFile::create(folder.path(), "grown").unwrap();
        file.append(b"something").unwrap();
        let entry = file.commit().unwrap();
        std::fs::write(folder.path().join("grown"), b"somethinG").unwrap();
        assert!(GrowingFile::open(folder.path(), entry).is_err());
    }
}
