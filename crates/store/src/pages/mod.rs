//! Page store: append-only WARC files with a CDXJ index, below `pages/`.
//!
//! A page is stored as one record. The state record of the page has its location ([`RecordLocation`]), so that one read
//! fetches it. A body that is stored already is not stored again: a revisit record refers to it. A new file begins at a
//! maximum size; a compaction rewrites files with many superseded versions. Files that no commit references any more are
//! deleted by [`crate::collection_dir`].

mod check;
mod compaction;
mod dedup;
pub(crate) mod index;
mod location;
mod not_modified;
mod reader;
mod response_heads;
mod retained;
mod retention;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use check::{PageCorruption, PageStoreCheck};
pub use compaction::{Compaction, CompactionResult, Relocations};
pub use location::RecordLocation;
pub use reader::{PageStoreReader, PageVersion, StoredPage, VerifyLevel};
pub use retained::RetainedVersion;
pub use retention::RetentionPolicy;

use crate::disk::{self, File};
use crate::error::{Context, Error, Result};
use crate::file::append_file::AppendFile;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};
use crate::pages::index::{CdxjFileReader, CdxjIndex, CdxjMergeJob, IndexEntry};
use dedup::DedupWindow;
use location::{
    MAX_NUMBER, file_name, is_first_writing, number_of, numbered_file, parse_file_name, warc_files,
};
use reader::parse_record;
use warc::{
    Capture, EncodedRecord, MIME_REVISIT, PayloadKey, RecordEncoder, RevisitProfile, WarcRecord, WarcType,
    gunzip,
};

/// Settings of the page store.
#[derive(Debug, Clone)]
pub struct PageStoreSettings {
    /// Maximum size of a WARC file.
    pub max_file_bytes: u64,
    /// Compression level of libdeflate, from 1 to 12.
    pub compression_level: u8,
    /// Number of payloads in which duplicates are found; about 50 bytes each.
    pub duplicate_window: usize,
    /// Fields of the warcinfo record of each file: `software`, `isPartOf`, `robots`, `operator`.
    pub warcinfo: Vec<(String, String)>,
}

impl Default for PageStoreSettings {
    fn default() -> PageStoreSettings {
        PageStoreSettings {
            max_file_bytes: 1_000_000_000,
            compression_level: 1,
            duplicate_window: 1 << 20,
            warcinfo: Vec::new(),
        }
    }
}

/// Location of a stored page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendResult {
    /// Location of the record.
    pub location: RecordLocation,
    /// Earlier record with the same body, if there is one.
    pub duplicate_of: Option<RecordLocation>,
}

/// Page store, open for writing. After an error it must be opened again at the last commit.
pub struct PageStore {
    dir: PathBuf,
    settings: PageStoreSettings,
    current: Option<OpenWarcFile>,
    /// Complete files, which are not appended to.
    complete: BTreeMap<u32, FileEntry>,
    next_number: u32,
    index: CdxjIndex,
    /// Index entries of the records since the last commit.
    entries: Vec<IndexEntry>,
    dedup: DedupWindow,
    encoder: RecordEncoder,
    background: Background,
    /// Whether files were moved in part. A commit would lack some of them.
    has_failed: bool,
}

/// File that is appended to.
struct OpenWarcFile {
    id: u32,
    file: AppendFile,
}

/// Background work; only one at a time.
enum Background {
    Nothing,
    Merge,
    /// Records in files before this one may be dropped, so new records must not refer to them.
    Compaction {
        before: u32,
    },
}

/// Merge of index files that is too large for a commit, to be run on any thread.
pub struct CdxjMerge(CdxjMergeJob);

/// Result of a [`CdxjMerge`].
pub struct CdxjMergeResult {
    old: Vec<[FileEntry; 2]>,
    new: [FileEntry; 2],
}

/// Minimum size of a body that is replaced by a revisit record; a smaller one costs less than such a record.
const MIN_DUPLICATE_BYTES: u64 = 512;

/// Maximum size of index files that a commit merges itself.
const MAX_MERGE_IN_COMMIT_BYTES: u64 = 64 << 20;

impl PageStore {
    /// Opens the store at a commit.
    pub fn open(dir: &Path, manifest: &Manifest, settings: PageStoreSettings) -> Result<PageStore> {
        let pages = dir.join("pages");
        for path in [&pages, &dir.join(SCRATCH)] {
            disk::create_dir_all(path).context("create", path)?;
        }
        let mut complete: BTreeMap<u32, FileEntry> = warc_files(manifest).collect();
        let mut current = None;
        if let Some((id, entry)) = complete.pop_last() {
            if is_first_writing(id) && entry.length() < settings.max_file_bytes {
                current = Some(OpenWarcFile { id, file: AppendFile::open(dir, entry)? });
            } else {
                complete.insert(id, entry);
            }
        }
        Ok(PageStore {
            next_number: first_free_number(&pages, manifest)?,
            dir: dir.to_owned(),
            current,
            complete,
            index: CdxjIndex::open(dir, manifest)?,
            entries: Vec::new(),
            dedup: DedupWindow::new(settings.duplicate_window),
            encoder: record_encoder(dir, settings.compression_level),
            background: Background::Nothing,
            has_failed: false,
            settings,
        })
    }

    /// Stores a page. `previous` is an earlier version of it, or any record that may have the same body: if it has, a
    /// revisit record is stored instead.
    pub fn append(&mut self, page: &Capture<'_>, previous: Option<RecordLocation>) -> Result<AppendResult> {
        let encoded = self.encoder.encode(page)?;
        self.append_encoded(encoded, previous)
    }

    /// Stores an encoded page, see [`PageStore::append`]. The expensive encoding can be done on any thread with
    /// [`RecordEncoder::encode`].
    pub fn append_encoded(
        &mut self,
        mut encoded: EncodedRecord,
        previous: Option<RecordLocation>,
    ) -> Result<AppendResult> {
        let key = encoded.payload_key();
        let duplicate = match self.candidates(encoded.payload_bytes(), &key, previous) {
            [None, None] => None,
            candidates => self.find_duplicate(candidates, encoded.response())?,
        };
        if let Some(found) = &duplicate {
            let revisit =
                self.encoder.revisit(&found.new_record, &found.record, RevisitProfile::IdenticalPayload)?;
            encoded.replace_response(&revisit);
            encoded.cdxj.mime = MIME_REVISIT.to_owned();
        }
        let (file, offset) = self.append_members(encoded.members(), encoded.fetched_at_ms())?;
        let location = RecordLocation { file, offset, length: encoded.response().len() as u32 };
        let original_location = duplicate.map(|found| found.location);
        // A small body is stored again, and yet known as a duplicate.
        let is_small = (1..MIN_DUPLICATE_BYTES).contains(&encoded.payload_bytes());
        let duplicate_of = original_location.or_else(|| self.dedup.get(&key).filter(|_| is_small));
        // Later duplicates refer to the record with the body, never to a revisit record.
        self.dedup.insert(key, duplicate_of.unwrap_or(location));
        self.entries.push(IndexEntry { cdxj: encoded.cdxj, location, original_location });
        Ok(AppendResult { location, duplicate_of })
    }

    /// Commits all appended pages; returns all files of the page store at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        if self.has_failed {
            return Err(Error::NeedsReopen { path: self.dir.join("pages") });
        }
        self.index.begin_generation(generation);
        let current = self.current.as_mut().map(|current| current.file.commit()).transpose()?;
        self.index.add(&self.entries)?;
        self.entries.clear();
        if matches!(self.background, Background::Nothing) {
            while let Some(job) = self.index.due_merge(MAX_MERGE_IN_COMMIT_BYTES) {
                let merged = job.run()?;
                self.index.replace(job.parts(), merged)?;
            }
        }
        let pages = self.dir.join("pages");
        // After all files are written: their names must be durable before the manifest lists them.
        disk::sync_dir(&pages).context("sync", &pages)?;
        self.index.begin_generation(generation + 1);
        let current = current.filter(|entry| entry.length() > 0);
        Ok(self.complete.values().cloned().chain(current).chain(self.index.entries().cloned()).collect())
    }

    /// Starts a merge of index files if one is due that is too large for a commit.
    pub fn start_merge(&mut self) -> Option<CdxjMerge> {
        if !matches!(self.background, Background::Nothing) {
            return None;
        }
        let job = self.index.due_merge(u64::MAX)?;
        self.background = Background::Merge;
        Some(CdxjMerge(job))
    }

    /// Installs the result of a merge; the next commit makes it durable.
    pub fn finish_merge(&mut self, merged: CdxjMergeResult) -> Result<()> {
        self.background = Background::Nothing;
        self.index.replace(&merged.old, merged.new)
    }

    /// Records that may have the payload.
    fn candidates(
        &self,
        payload_bytes: u64,
        digest: &PayloadKey,
        previous: Option<RecordLocation>,
    ) -> [Option<RecordLocation>; 2] {
        if payload_bytes < MIN_DUPLICATE_BYTES {
            return [None, None];
        }
        let usable = |location: &RecordLocation| match self.background {
            Background::Compaction { before } => location.file >= before,
            _ => true,
        };
        let recent = self.dedup.get(digest).filter(usable);
        [previous.filter(usable).filter(|previous| Some(*previous) != recent), recent]
    }

    /// Finds the first candidate with the same payload as the member, compared byte by byte.
    fn find_duplicate(
        &mut self,
        candidates: [Option<RecordLocation>; 2],
        member: &[u8],
    ) -> Result<Option<DuplicateRecord>> {
        let path = self.dir.join("pages");
        let new_record = parse_record(gunzip(member, &path, 0)?, &path, 0)?;
        for candidate in candidates.into_iter().flatten() {
            let found = match self.read_original(candidate) {
                // The page is stored again; `weir check` reports the corruption.
                Err(Error::Corrupt { .. }) => None,
                outcome => outcome?,
            };
            if let Some((location, record)) =
                found.filter(|(_, record)| record.payload() == new_record.payload())
            {
                return Ok(Some(DuplicateRecord { location, record, new_record }));
            }
        }
        Ok(None)
    }

    /// Reads the record at a location, or the one that it refers to.
    fn read_original(&mut self, location: RecordLocation) -> Result<Option<(RecordLocation, WarcRecord)>> {
        let Some(record) = self.read_back(location)? else { return Ok(None) };
        if record.header.warc_type() != WarcType::Revisit {
            return Ok(Some((location, record)));
        }
        let files = self.index.parts().iter().map(|part| CdxjFileReader::open(&self.dir, part));
        let files = files.collect::<Result<Vec<_>>>()?;
        let Some(location) = reader::original_of(&files, &record)? else { return Ok(None) };
        Ok(self.read_back(location)?.map(|record| (location, record)))
    }

    fn read_back(&mut self, location: RecordLocation) -> Result<Option<WarcRecord>> {
        match &mut self.current {
            // The record may still be in the write buffer.
            Some(current) if current.id == location.file => current.file.write_pending()?,
            _ if !self.complete.contains_key(&location.file) => return Ok(None),
            _ => {}
        }
        let path = self.dir.join("pages").join(file_name(location.file));
        let file = File::open(&path).context("open", &path)?;
        reader::read_record(&file, &path, &location).map(Some)
    }

    fn append_members(&mut self, members: &[u8], date_ms: i64) -> Result<(u32, u64)> {
        let full = self.current.as_ref().is_some_and(|current| {
            current.file.length() + members.len() as u64 > self.settings.max_file_bytes
        });
        if full {
            self.roll_over()?;
        }
        let current = match &mut self.current {
            Some(current) => current,
            vacant => {
                if self.next_number > MAX_NUMBER {
                    return Err(Error::LimitExceeded { limit: "maximum number of WARC files reached" });
                }
                let id = numbered_file(self.next_number);
                let mut file = AppendFile::create(&self.dir, &format!("pages/{}", file_name(id)))?;
                file.append(&self.encoder.warcinfo(&file_name(id), date_ms, &self.settings.warcinfo)?)?;
                self.next_number += 1;
                vacant.insert(OpenWarcFile { id, file })
            }
        };
        let offset = current.file.length();
        current.file.append(members)?;
        Ok((current.id, offset))
    }

    /// Completes the current file; the next page begins a new one.
    fn roll_over(&mut self) -> Result<()> {
        if let Some(current) = &mut self.current {
            let entry = current.file.commit()?;
            self.complete.insert(current.id, entry);
        }
        self.current = None;
        Ok(())
    }
}

impl CdxjMerge {
    /// Runs the merge; the page store can be used at the same time.
    pub fn run(self) -> Result<CdxjMergeResult> {
        let new = self.0.run()?;
        Ok(CdxjMergeResult { old: self.0.parts().to_vec(), new })
    }
}

/// New record with the same payload as a stored one.
struct DuplicateRecord {
    location: RecordLocation,
    record: WarcRecord,
    new_record: WarcRecord,
}

/// Encoder of the records of a page store.
fn record_encoder(dir: &Path, compression_level: u8) -> RecordEncoder {
    RecordEncoder::with_id_seed(compression_level, [disk::random(dir), disk::random(dir)])
}

/// First number above all files: those of this manifest, and those on disk, which older snapshots may reference.
fn first_free_number(pages: &Path, manifest: &Manifest) -> Result<u32> {
    let mut free = warc_files(manifest).map(|(id, _)| number_of(id) + 1).max().unwrap_or(0);
    for entry in disk::list(pages).context("list", pages)? {
        if let Some(id) = parse_file_name(&entry.text()) {
            free = free.max(number_of(id) + 1);
        }
    }
    Ok(free)
}
