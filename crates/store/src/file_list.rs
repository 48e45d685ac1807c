//! Lists of the files of derived data with their lengths and checksums: `graph/GENERATION/FILES` for an analysis, `text/FILES` for the text
//! index.
//!
//! Derived data is not part of a commit, so no manifest names its files. A list does, in the format of a manifest. It is replaced atomically.
//! A file is removed from the list before it is replaced or deleted, and added when it is complete: after a crash the list names no file with
//! other content. `weir check` compares the files with it.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::disk::{self, File};
use crate::error::{Context, Result, corrupt};
use crate::layout;
use crate::manifest::{FileEntry, checksum_line};

const READ_BYTES: usize = 1 << 20;
/// Maximum size of a list: 80,000 files.
const MAX_LIST_BYTES: u64 = 16 << 20;

/// List of files with lengths and checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList {
    /// Whether all files exist and are listed. A writer that replaces files clears it meanwhile.
    pub is_complete: bool,
    files: Vec<FileEntry>,
}

impl FileList {
    /// List without files.
    pub fn new() -> FileList {
        FileList { is_complete: true, files: Vec::new() }
    }

    /// Path of the list in a directory.
    pub fn path_in(dir: &Path) -> PathBuf {
        dir.join(layout::FILE_LIST)
    }

    /// Reads a list; `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<FileList>> {
        let bytes = match disk::read(path, MAX_LIST_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.context("read", path)?,
        };
        let wrong = |cause: String| corrupt(path, "", cause);
        let text = String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))?;
        let (body, checksum) = text.trim_end_matches('\n').rsplit_once('\n').unwrap_or_default();
        let body = format!("{body}\n");
        if format!("{checksum}\n") != checksum_line(body.as_bytes()) || !text.ends_with('\n') {
            return Err(wrong("the list does not match its checksum".to_owned()));
        }
        let list: FileList = serde_json::from_str(&body).map_err(|error| wrong(error.to_string()))?;
        match list.files.iter().find(|file| !layout::is_derived_path(&file.name)) {
            None => Ok(Some(list)),
            Some(file) => {
                Err(wrong(format!("`{}` is not a file name of derived data", file.name.escape_debug())))
            }
        }
    }

    /// Writes the list and makes it durable.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| corrupt(path, "", error.to_string()))?;
        text.push(b'\n');
        let checksum = checksum_line(&text);
        text.extend_from_slice(checksum.as_bytes());
        let unfinished = path.with_extension("unfinished");
        let mut file = File::create(&unfinished).context("create", &unfinished)?;
        file.write_all(&text).context("write", &unfinished)?;
        file.sync().context("sync", &unfinished)?;
        disk::rename(&unfinished, path).context("rename", path)?;
        let dir = path.parent().unwrap_or(Path::new("."));
        disk::sync_dir(dir).context("sync", dir)
    }

    /// Files in the order of their names.
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// Entry of a file.
    pub fn get(&self, name: &str) -> Option<&FileEntry> {
        let at = self.files.binary_search_by(|file| file.name.as_str().cmp(name)).ok()?;
        Some(&self.files[at])
    }

    /// Adds an entry; replaces that of the same name.
    pub fn insert(&mut self, entry: FileEntry) {
        match self.files.binary_search_by(|file| file.name.cmp(&entry.name)) {
            Ok(at) => self.files[at] = entry,
            Err(at) => self.files.insert(at, entry),
        }
    }

    /// Reads a complete file and adds it under its name relative to the directory of the collection.
    pub fn add_file(&mut self, path: &Path, name: &str) -> Result<()> {
        let mut file = File::open(path).context("open", path)?;
        let (mut hasher, mut length) = (Xxh3::new(), 0);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    length += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("read", path),
            }
        }
        self.insert(FileEntry::complete(name, length, hasher.digest()));
        Ok(())
    }

    /// Keeps the entries whose names satisfy a condition.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.files.retain(|file| is_kept(&file.name));
    }
}

impl Default for FileList {
    fn default() -> FileList {
        FileList::new()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_list_is_read_back_and_any_damage_of_it_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        let path = FileList::path_in(dir.path());
        assert_eq!(FileList::read(&path).unwrap(), None);
        fs::write(dir.path().join("hub"), b"0123456789").unwrap();
        let mut list = FileList::new();
        for name in ["text/index/.managed.json", "graph/0000000001/info.json", "ranks/pages-hub-1.f32"] {
            list.add_file(&dir.path().join("hub"), name).unwrap();
        }
        list.retain(|name| !name.starts_with("graph/"));
        list.write(&path).unwrap();
        assert_eq!(FileList::read(&path).unwrap().as_ref(), Some(&list));
        let names: Vec<&str> = list.files().iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["ranks/pages-hub-1.f32", "text/index/.managed.json"]);
        assert_eq!(list.get("ranks/pages-hub-1.f32").map(FileEntry::length), Some(10));
        let bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            for damaged in [flipped, bytes[..at].to_vec()] {
                fs::write(&path, damaged).unwrap();
                assert!(FileList::read(&path).is_err(), "byte {at}");
            }
        }
    }

    #[test]
    fn names_that_lead_out_of_the_derived_data_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = FileList::path_in(dir.path());
        for name in ["/etc/passwd", "text/../pages/x", "pages/x", "text", "text/", "ranks/..", "graph/./x"] {
            let mut list = FileList::new();
            list.insert(FileEntry::complete(name, 1, 1));
            list.write(&path).unwrap();
            let error = FileList::read(&path).unwrap_err().to_string();
            assert!(error.contains("is not a file name of derived data"), "{error}");
        }
    }
}
