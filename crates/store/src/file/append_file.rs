//! Append-only file with committed extents.
//!
//! The file is appended to between commits. A commit syncs it and records its length and checksums, one for each extent
//! of 16 MiB and one for the rest. Bytes beyond that were never committed, and are truncated when the file is opened for
//! writing. The content of the file does not matter here.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::disk::File;
use crate::error::{Context, Error, Result, corrupt};
use crate::manifest::{Extent, FileEntry};

/// Size of all extents but the last. Fixed, so that a manifest grows with the file and not with the number of commits.
const EXTENT_BYTES: u64 = 16 << 20;

/// Size of the write buffer.
const PENDING_BYTES: usize = 1 << 20;

/// Append-only file, open for writing; between commits its end is in memory.
pub(crate) struct AppendFile {
    path: PathBuf,
    file: File,
    name: String,
    /// Complete extents.
    extents: Vec<Extent>,
    /// Hasher of the incomplete extent.
    hasher: Box<Xxh3>,
    /// Appended and not yet written.
    pending: Vec<u8>,
    /// Length including the pending bytes.
    length: u64,
    /// Length at the last commit.
    committed: u64,
    /// Whether a write or sync has failed. A part may be written then, and a later sync would succeed without it.
    has_failed: bool,
}

impl AppendFile {
    /// Creates a file; `name` is relative to the directory of the collection.
    pub(crate) fn create(dir: &Path, name: &str) -> Result<AppendFile> {
        AppendFile::open(dir, FileEntry::growing(name))
    }

    /// Opens a file at its last commit. A file that is shorter than committed is an error and stays as it is.
    pub(crate) fn open(dir: &Path, entry: FileEntry) -> Result<AppendFile> {
        let path = dir.join(&entry.name);
        let length = entry.length();
        let file = if length == 0 { File::create_append(&path) } else { File::open_append(&path) };
        let file = file.context("open", &path)?;
        // Setting the length would extend a shorter file with zeros.
        check_length(&file, &path, length)?;
        file.set_length(length).context("truncate", &path)?;
        let FileEntry { name, mut extents } = entry;
        let rest = extents.pop_if(|extent| extent.length < EXTENT_BYTES);
        let hasher =
            rest.map_or(Ok(Box::default()), |rest| resume(&file, &path, length - rest.length, rest))?;
        Ok(AppendFile {
            path,
            file,
            name,
            extents,
            hasher,
            pending: Vec::new(),
            length,
            committed: length,
            has_failed: false,
        })
    }

    /// Offset of the next byte.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Name relative to the directory of the collection.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Appends bytes; the next commit makes them durable.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = EXTENT_BYTES - self.length % EXTENT_BYTES;
            let (in_extent, later) = rest.split_at(rest.len().min(room as usize));
            self.hasher.update(in_extent);
            self.length += in_extent.len() as u64;
            if self.length.is_multiple_of(EXTENT_BYTES) {
                self.extents.push(Extent { length: EXTENT_BYTES, checksum: self.hasher.digest() });
                self.hasher.reset();
            }
            rest = later;
        }
        if bytes.len() >= PENDING_BYTES {
            self.write_pending()?;
            return self.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PENDING_BYTES { self.write_pending() } else { Ok(()) }
    }

    /// Writes the buffer, so that readers of the file see it; does not sync.
    pub(crate) fn write_pending(&mut self) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        self.write(&pending)?;
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_usable()?;
        self.has_failed = true;
        self.file.write_all(bytes).context("write", &self.path)?;
        self.has_failed = false;
        Ok(())
    }

    fn check_usable(&self) -> Result<()> {
        if self.has_failed { Err(Error::NeedsReopen { path: self.path.clone() }) } else { Ok(()) }
    }

    /// Syncs everything appended so far; returns the entry for the manifest.
    pub(crate) fn commit(&mut self) -> Result<FileEntry> {
        if self.length > self.committed {
            self.write_pending()?;
            self.has_failed = true;
            self.file.sync().context("sync", &self.path)?;
            self.has_failed = false;
            self.committed = self.length;
        }
        self.check_usable()?;
        let mut extents = self.extents.clone();
        let rest = self.length % EXTENT_BYTES;
        if rest > 0 {
            extents.push(Extent { length: rest, checksum: self.hasher.digest() });
        }
        Ok(FileEntry { name: self.name.clone(), extents })
    }
}

/// Opens a file for reading at a commit. It may have grown since, but must not be shorter.
pub(crate) fn open_committed(dir: &Path, entry: &FileEntry) -> Result<(PathBuf, File)> {
    let path = dir.join(&entry.name);
    let file = File::open(&path).context("open", &path)?;
    check_length(&file, &path, entry.length())?;
    Ok((path, file))
}

/// Checks that a file has at least the committed length.
fn check_length(file: &File, path: &Path, committed: u64) -> Result<()> {
    let found = file.length().context("read", path)?;
    if found < committed {
        return Err(corrupt(path, "at its end", format!("{found} bytes, expected {committed}")));
    }
    Ok(())
}

/// Restores the hasher of the incomplete extent, and verifies the extent.
fn resume(file: &File, path: &Path, start: u64, extent: Extent) -> Result<Box<Xxh3>> {
    let mut bytes = vec![0; extent.length as usize];
    file.read_exact_at(&mut bytes, start).context("read", path)?;
    let mut hasher: Box<Xxh3> = Box::default();
    hasher.update(&bytes);
    let (found, expected) = (hasher.digest(), extent.checksum);
    if found != expected {
        return Err(corrupt(
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
    fn checksums_do_not_depend_on_the_number_of_commits() {
        let dir = tempfile::tempdir().unwrap();
        let mut entry = FileEntry::growing("grown");
        let mut written = Vec::new();
        for step in 0..40u32 {
            let mut file = AppendFile::open(dir.path(), entry.clone()).unwrap();
            let chunk = vec![step as u8; 1_000_003];
            file.append(&chunk).unwrap();
            written.extend_from_slice(&chunk);
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
    fn a_corrupt_end_is_detected_on_opening() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = AppendFile::create(dir.path(), "grown").unwrap();
        file.append(b"something").unwrap();
        let entry = file.commit().unwrap();
        std::fs::write(dir.path().join("grown"), b"somethinG").unwrap();
        assert!(AppendFile::open(dir.path(), entry).is_err());
    }

    #[test]
    fn a_shorter_file_is_refused_and_not_extended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("grown");
        // With and without an incomplete extent, whose checksum is verified on opening.
        for length in [EXTENT_BYTES, EXTENT_BYTES + 7] {
            let mut file = AppendFile::create(dir.path(), "grown").unwrap();
            file.append(&vec![0; length as usize]).unwrap();
            let entry = file.commit().unwrap();
            for cut in [length - 1, EXTENT_BYTES - 1, 0] {
                std::fs::File::options().write(true).open(&path).unwrap().set_len(cut).unwrap();
                let error = AppendFile::open(dir.path(), entry.clone()).err().unwrap().to_string();
                let expected = format!("is corrupt at its end: {cut} bytes, expected {length};");
                assert!(error.contains(&expected), "{error}");
                assert_eq!(std::fs::metadata(&path).unwrap().len(), cut, "the evidence is not changed");
            }
        }
    }
}
