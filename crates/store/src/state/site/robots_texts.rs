//! Texts of robots.txt, on disk and read on demand.
//!
//! `state/robots-NUMBER.texts` are files of frames (see [`crate::file::frames`]); the payload of a frame is one text,
//! compressed by zstd. New texts are appended to the file with the highest number; when that is full, the next one
//! begins. The record of a site has the location of its text. Replaced texts stay until more than half of their file is
//! unused: then the others are copied to the newest file, and the old one is removed. The newest file is never removed, so
//! that numbers are not reused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::record::TextLocation;
use crate::error::{Error, Result, corrupt};
use crate::file::append_file::AppendFile;
use crate::file::frames::{FrameReader, append_frame};
use crate::manifest::{FileEntry, Manifest};

/// Maximum size of a text; the crawler reads less of a robots.txt.
const MAX_TEXT_BYTES: usize = 1 << 20;
const ZSTD_LEVEL: i32 = 3;
const PREFIX: &str = "state/robots-";
const SUFFIX: &str = ".texts";

/// Files of texts, open for reading.
#[derive(Debug)]
pub(crate) struct RobotsTexts {
    dir: PathBuf,
    files: BTreeMap<u32, FrameReader>,
}

impl RobotsTexts {
    pub(crate) fn open(dir: &Path, manifest: &Manifest) -> Result<RobotsTexts> {
        let mut files = BTreeMap::new();
        for (number, entry) in entries(manifest) {
            files.insert(number, FrameReader::open(dir, entry)?);
        }
        Ok(RobotsTexts { dir: dir.to_owned(), files })
    }

    /// Reads the text at a location.
    pub(crate) fn read(&self, location: TextLocation) -> Result<Vec<u8>> {
        let payload = self.payload(location)?;
        zstd::bulk::decompress(&payload, MAX_TEXT_BYTES)
            .map_err(|error| corrupt(&self.path(location.file), at(location), error.to_string()))
    }

    fn payload(&self, location: TextLocation) -> Result<Vec<u8>> {
        let wrong = |cause| corrupt(&self.path(location.file), at(location), cause);
        let file = self.files.get(&location.file).ok_or_else(|| wrong("a text refers to a missing file"))?;
        let mut payload = Vec::new();
        file.read(location.offset, &mut payload)?;
        if payload.len() != location.bytes as usize {
            return Err(wrong("unexpected size of a text"));
        }
        Ok(payload)
    }

    /// Reads and verifies everything; the first corruption is the error.
    pub(crate) fn check(&self) -> Result<()> {
        self.files.values().try_for_each(|file| file.for_each(|_, _| Ok(())))
    }

    fn path(&self, number: u32) -> PathBuf {
        self.dir.join(file_name(number))
    }
}

fn at(location: TextLocation) -> String {
    format!("at byte {}", location.offset)
}

fn file_name(number: u32) -> String {
    format!("{PREFIX}{number:010}{SUFFIX}")
}

/// Files of texts in a manifest, with their numbers.
fn entries(manifest: &Manifest) -> impl Iterator<Item = (u32, &FileEntry)> {
    manifest.files.iter().filter_map(|entry| {
        let number = entry.name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        Some((number.parse().ok()?, entry))
    })
}

/// Writer of texts; tracks how much of each file is in use.
pub(crate) struct RobotsTextsWriter {
    /// Complete files with the bytes of their texts in use.
    complete: BTreeMap<u32, (FileEntry, u64)>,
    /// Newest file, once it has a text.
    open_file: Option<AppendFile>,
    /// Number of the newest file.
    newest: u32,
    /// Size at which a file is complete.
    max_file_bytes: u64,
}

impl RobotsTextsWriter {
    /// Opens the newest file; `in_use` are the locations of all texts in use.
    pub(crate) fn open(
        dir: &Path,
        manifest: &Manifest,
        in_use: impl IntoIterator<Item = TextLocation>,
        max_file_bytes: u64,
    ) -> Result<RobotsTextsWriter> {
        let mut complete: BTreeMap<u32, (FileEntry, u64)> =
            entries(manifest).map(|(number, entry)| (number, (entry.clone(), 0))).collect();
        for location in in_use {
            if let Some((_, bytes)) = complete.get_mut(&location.file) {
                *bytes += u64::from(location.bytes);
            }
        }
        let newest = complete.last_key_value().map_or(0, |(number, _)| *number);
        let (open_file, newest) = match complete.remove(&newest) {
            Some((entry, _)) if entry.length() < max_file_bytes => {
                (Some(AppendFile::open(dir, entry)?), newest)
            }
            Some(full) => {
                complete.insert(newest, full);
                (None, newest + 1)
            }
            None => (None, newest),
        };
        Ok(RobotsTextsWriter { complete, open_file, newest, max_file_bytes })
    }

    /// Stores a text; it can be read immediately.
    pub(crate) fn append(&mut self, texts: &mut RobotsTexts, text: &[u8]) -> Result<TextLocation> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(Error::LimitExceeded { limit: "robots.txt larger than 1 MiB" });
        }
        let payload = zstd::bulk::compress(text, ZSTD_LEVEL).map_err(|source| {
            let path = texts.path(self.newest);
            Error::Io { operation: "compress for", path, source }
        })?;
        let location = self.append_payload(texts, &payload)?;
        self.refresh_reader(texts)?;
        Ok(location)
    }

    /// Marks a text as unused.
    pub(crate) fn release(&mut self, location: TextLocation) {
        if let Some((_, bytes)) = self.complete.get_mut(&location.file) {
            *bytes = bytes.saturating_sub(u64::from(location.bytes));
        }
    }

    /// Number of a file of which less than half is in use.
    pub(crate) fn mostly_garbage(&self) -> Option<u32> {
        // Without a newer file, removing the last one would allow its number to be reused.
        self.open_file.as_ref()?;
        let is_garbage = |(entry, in_use_bytes): &(FileEntry, u64)| *in_use_bytes < entry.length() / 2;
        self.complete.iter().find(|(_, file)| is_garbage(file)).map(|(number, _)| *number)
    }

    /// Copies a text to the newest file.
    pub(crate) fn copy(&mut self, texts: &RobotsTexts, location: TextLocation) -> Result<TextLocation> {
        self.append_payload(texts, &texts.payload(location)?)
    }

    /// Removes a file without texts in use.
    pub(crate) fn remove_file(&mut self, texts: &mut RobotsTexts, number: u32) -> Result<()> {
        self.complete.remove(&number);
        texts.files.remove(&number);
        self.refresh_reader(texts)
    }

    /// Commits all texts; returns all files. `in_use_bytes` is called when a file is complete.
    pub(crate) fn commit(&mut self, in_use_bytes: impl FnOnce(u32) -> Result<u64>) -> Result<Vec<FileEntry>> {
        let mut files: Vec<FileEntry> = self.complete.values().map(|(entry, _)| entry.clone()).collect();
        if let Some(open_file) = &mut self.open_file {
            let entry = open_file.commit()?;
            files.push(entry.clone());
            if entry.length() >= self.max_file_bytes {
                self.complete.insert(self.newest, (entry, in_use_bytes(self.newest)?));
                self.open_file = None;
                self.newest += 1;
            }
        }
        Ok(files)
    }

    fn append_payload(&mut self, texts: &RobotsTexts, payload: &[u8]) -> Result<TextLocation> {
        let open_file = match &mut self.open_file {
            Some(open_file) => open_file,
            none => none.insert(AppendFile::create(&texts.dir, &file_name(self.newest))?),
        };
        let offset = append_frame(open_file, payload)?;
        Ok(TextLocation { file: self.newest, offset, bytes: payload.len() as u32 })
    }

    /// Makes appended texts visible to the reader.
    fn refresh_reader(&mut self, texts: &mut RobotsTexts) -> Result<()> {
        if let Some(open_file) = &mut self.open_file {
            open_file.write_pending()?;
            let entry = FileEntry::complete(open_file.name(), open_file.length(), 0);
            texts.files.insert(self.newest, FrameReader::open(&texts.dir, &entry)?);
        }
        Ok(())
    }
}
