//! The texts of robots.txt, on disk until somebody asks for one.
//!
//! `state/robots-NUMBER.texts` are files of frames (see [`crate::frames`]); the payload of a frame is one text,
//! compressed by zstd. New texts are appended to the file with the highest number; when that is long enough, the next one
//! begins. A site's record knows the place of its text. Texts that were replaced stay until their file is mostly made of
//! such: then those still in use are copied to the newest file, and the old one is no longer named. The newest file is
//! never given up, so that no number is used again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::record::Place;
use crate::error::{Error, Result, damaged};
use crate::frames::{FrameReader, append_frame};
use crate::growing::GrowingFile;
use crate::manifest::{FileEntry, Manifest};

/// No text is longer; a crawler reads less of a robots.txt.
const TEXT_LIMIT_BYTES: usize = 1 << 20;
const ZSTD_LEVEL: i32 = 3;
const PREFIX: &str = "state/robots-";
const SUFFIX: &str = ".texts";

/// The files of texts, for reading.
#[derive(Debug)]
pub(super) struct Texts {
    folder: PathBuf,
    files: BTreeMap<u32, FrameReader>,
}

impl Texts {
    pub(super) fn open(folder: &Path, manifest: &Manifest) -> Result<Texts> {
        let mut files = BTreeMap::new();
        for (number, entry) in entries(manifest) {
            files.insert(number, FrameReader::open(folder, entry)?);
        }
        Ok(Texts { folder: folder.to_owned(), files })
    }

    /// The text at a place.
    pub(super) fn read(&self, place: Place) -> Result<Vec<u8>> {
        let payload = self.payload(place)?;
        zstd::bulk::decompress(&payload, TEXT_LIMIT_BYTES)
            .map_err(|error| damaged(&self.path(place.file), at(place), error.to_string()))
    }

    fn payload(&self, place: Place) -> Result<Vec<u8>> {
        let wrong = |what| damaged(&self.path(place.file), at(place), what);
        let file = self.files.get(&place.file).ok_or_else(|| wrong("a text is there, but no such file"))?;
        let mut payload = Vec::new();
        file.read(place.offset, &mut payload)?;
        if payload.len() != place.bytes as usize {
            return Err(wrong("another text is there"));
        }
        Ok(payload)
    }

    /// Reads everything; the first damage is the error.
    pub(super) fn check(&self) -> Result<()> {
        self.files.values().try_for_each(|file| file.for_each(|_, _| Ok(())))
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(file_name(number))
    }
}

fn at(place: Place) -> String {
    format!("at byte {}", place.offset)
}

fn file_name(number: u32) -> String {
    format!("{PREFIX}{number:010}{SUFFIX}")
}

/// The files of texts in a manifest, with their numbers.
fn entries(manifest: &Manifest) -> impl Iterator<Item = (u32, &FileEntry)> {
    manifest.files.iter().filter_map(|entry| {
        let number = entry.name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        Some((number.parse().ok()?, entry))
    })
}

/// The side that writes: which file grows, and how much of each is in use.
pub(super) struct TextsWriter {
    /// The finished files, and how many bytes of texts in use they hold.
    finished: BTreeMap<u32, (FileEntry, u64)>,
    /// The newest file, once it has a text.
    growing: Option<GrowingFile>,
    /// Its number.
    newest: u32,
    /// A file of this length is not appended to.
    file_bytes: u64,
}

impl TextsWriter {
    /// Goes on with the newest file; `in_use` are the places of all texts in use.
    pub(super) fn open(
        folder: &Path,
        manifest: &Manifest,
        in_use: impl IntoIterator<Item = Place>,
        file_bytes: u64,
    ) -> Result<TextsWriter> {
        let mut finished: BTreeMap<u32, (FileEntry, u64)> =
            entries(manifest).map(|(number, entry)| (number, (entry.clone(), 0))).collect();
        for place in in_use {
            if let Some((_, bytes)) = finished.get_mut(&place.file) {
                *bytes += u64::from(place.bytes);
            }
        }
        let newest = finished.last_key_value().map_or(0, |(number, _)| *number);
        let (growing, newest) = match finished.remove(&newest) {
            Some((entry, _)) if entry.length() < file_bytes => {
                (Some(GrowingFile::open(folder, entry)?), newest)
            }
            Some(full) => {
                finished.insert(newest, full);
                (None, newest + 1)
            }
            None => (None, newest),
        };
        Ok(TextsWriter { finished, growing, newest, file_bytes })
    }

    /// Stores a text, which can be read at once.
    pub(super) fn append(&mut self, texts: &mut Texts, text: &[u8]) -> Result<Place> {
        if text.len() > TEXT_LIMIT_BYTES {
            return Err(Error::Full { what: "a text of robots.txt is longer than 1 MiB" });
        }
        let payload = zstd::bulk::compress(text, ZSTD_LEVEL).map_err(|source| {
            let path = texts.path(self.newest);
            Error::Io { operation: "compress for", path, source }
        })?;
        let place = self.append_payload(texts, &payload)?;
        self.show(texts)?;
        Ok(place)
    }

    /// Notes that the text at a place is in use no more.
    pub(super) fn release(&mut self, place: Place) {
        if let Some((_, bytes)) = self.finished.get_mut(&place.file) {
            *bytes = bytes.saturating_sub(u64::from(place.bytes));
        }
    }

    /// The number of a file that is mostly made of texts no longer in use.
    pub(super) fn wasteful(&self) -> Option<u32> {
        // Without a newer file, giving up the last one would let its number be used again.
        self.growing.as_ref()?;
        let wasteful = |(entry, in_use_bytes): &(FileEntry, u64)| *in_use_bytes < entry.length() / 2;
        self.finished.iter().find(|(_, file)| wasteful(file)).map(|(number, _)| *number)
    }

    /// Copies a text to the newest file.
    pub(super) fn copy(&mut self, texts: &Texts, place: Place) -> Result<Place> {
        self.append_payload(texts, &texts.payload(place)?)
    }

    /// Gives up a file, none of whose texts is in use.
    pub(super) fn give_up(&mut self, texts: &mut Texts, number: u32) -> Result<()> {
        self.finished.remove(&number);
        texts.files.remove(&number);
        self.show(texts)
    }

    /// Makes all texts last; tells all files. How many bytes of a file are in use is asked when it is finished.
    pub(super) fn commit(&mut self, in_use_bytes: impl FnOnce(u32) -> Result<u64>) -> Result<Vec<FileEntry>> {
        let mut files: Vec<FileEntry> = self.finished.values().map(|(entry, _)| entry.clone()).collect();
        if let Some(growing) = &mut self.growing {
            let entry = growing.commit()?;
            files.push(entry.clone());
            if entry.length() >= self.file_bytes {
                self.finished.insert(self.newest, (entry, in_use_bytes(self.newest)?));
                self.growing = None;
                self.newest += 1;
            }
        }
        Ok(files)
    }

    fn append_payload(&mut self, texts: &Texts, payload: &[u8]) -> Result<Place> {
        let growing = match &mut self.growing {
            Some(growing) => growing,
            none => none.insert(GrowingFile::create(&texts.folder, &file_name(self.newest))?),
        };
        let offset = append_frame(growing, payload)?;
        Ok(Place { file: self.newest, offset, bytes: payload.len() as u32 })
    }

    /// Lets the reader see what was appended.
    fn show(&mut self, texts: &mut Texts) -> Result<()> {
        if let Some(growing) = &mut self.growing {
            growing.write_pending()?;
            let entry = FileEntry::complete(growing.name(), growing.length(), 0);
            texts.files.insert(self.newest, FrameReader::open(&texts.folder, &entry)?);
        }
        Ok(())
    }
}
