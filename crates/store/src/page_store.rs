//! Where are the pages? In WARC files that only grow, with a CDXJ index beside them, under `pages/`.
//!
//! A page is stored as one record; its place ([`PageLocation`]) is for the page's state to keep, so that one read
//! fetches it. A body that was stored before is not stored again: a revisit record names the one that has it. Files
//! roll over at a size; a compaction rewrites those with many superseded versions. A file that the next commit does
//! not name any more is deleted by others, when no snapshot needs it.

mod check;
mod compaction;
mod duplicates;
mod heads;
mod kept;
mod location;
mod not_modified;
mod reader;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

pub use check::{PageCheck, PageDamage};
pub use compaction::{Compacted, Compaction, Keep, Relocations};
pub use kept::KeptVersion;
pub use location::PageLocation;
pub use reader::{PageReader, PageVersion, StoredPage, Verify};

use crate::cdxj::{CdxjFile, CdxjLine, CdxjSet, MergeJob, REVISIT};
use crate::error::{Context, Error, Result};
use crate::growing::GrowingFile;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};
use crate::warc::{Capture, DigestKey, Prepared, Preparer, RevisitProfile, WarcKind, WarcRecord, gunzip};
use duplicates::Duplicates;
use location::{MAX_NUMBER, file_name, is_first_writing, number_of, numbered_file, parse_file_name};

/// How pages are stored.
#[derive(Debug, Clone)]
pub struct PageSettings {
    /// A file is not appended to beyond this size.
    pub roll_over_bytes: u64,
    /// Compression level of libdeflate, from 1 to 12.
    pub level: u8,
    /// How many payloads are remembered in order to find duplicates; about 50 bytes each.
    pub duplicate_window: usize,
    /// Fields of the record that begins each file: `software`, `isPartOf`, `robots`, `operator` and the like.
    pub info: Vec<(String, String)>,
}

impl Default for PageSettings {
    fn default() -> PageSettings {
        PageSettings { roll_over_bytes: 1_000_000_000, level: 1, duplicate_window: 1 << 20, info: Vec::new() }
    }
}

/// Where a page was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its record.
    pub location: PageLocation,
    /// The record that has the same body, if it was stored before.
    pub original: Option<PageLocation>,
}

/// Stores pages. After an error it must be opened anew from the last manifest.
pub struct PageStore {
    folder: PathBuf,
    settings: PageSettings,
    current: Option<Current>,
    /// Those that are not appended to any more.
    complete: BTreeMap<u32, FileEntry>,
    next_number: u32,
    index: CdxjSet,
    /// Of the records since the last commit.
    lines: Vec<CdxjLine>,
    duplicates: Duplicates,
    preparer: Preparer,
    background: Background,
}

/// The file that is appended to.
struct Current {
    id: u32,
    file: GrowingFile,
}

/// What goes on beside: one thing at a time.
enum Background {
    Nothing,
    Merge,
    /// Records in files before this one may be dropped, and must not be referred to any more.
    Compaction {
        before: u32,
    },
}

/// A merge of index files that is too large for a commit; run it on any thread.
pub struct IndexMerge(MergeJob);

/// What an [`IndexMerge`] made.
pub struct MergedIndex {
    old: Vec<[FileEntry; 2]>,
    new: [FileEntry; 2],
}

/// A smaller body costs less than a record that refers to another.
const MIN_DUPLICATE_BYTES: u64 = 512;

/// A commit merges index files up to this size by itself.
const MERGED_BY_COMMIT_BYTES: u64 = 64 << 20;

impl PageStore {
    /// Goes on where the manifest's commit ended.
    pub fn open(folder: &Path, manifest: &Manifest, settings: PageSettings) -> Result<PageStore> {
        let pages = folder.join("pages");
        for path in [&pages, &folder.join(SCRATCH)] {
            std::fs::create_dir_all(path).context("create", path)?;
        }
        let mut complete: BTreeMap<u32, FileEntry> = warc_files(manifest).collect();
        let mut current = None;
        if let Some((id, entry)) = complete.pop_last() {
            if is_first_writing(id) && entry.length() < settings.roll_over_bytes {
                current = Some(Current { id, file: GrowingFile::open(folder, entry)? });
            } else {
                complete.insert(id, entry);
            }
        }
        Ok(PageStore {
            next_number: first_free_number(&pages, manifest)?,
            folder: folder.to_owned(),
            current,
            complete,
            index: CdxjSet::open(folder, manifest)?,
            lines: Vec::new(),
            duplicates: Duplicates::new(settings.duplicate_window),
            preparer: Preparer::new(settings.level),
            background: Background::Nothing,
            settings,
        })
    }

    /// Stores a page. `previous` may name an earlier version of it, or any record that is thought to have the same
    /// body: if it has, the body is not stored again.
    pub fn append(&mut self, page: &Capture<'_>, previous: Option<PageLocation>) -> Result<Appended> {
        let prepared = self.preparer.prepare(page)?;
        self.append_prepared(prepared, previous)
    }

    /// The cheap half of [`PageStore::append`]; the other is [`Preparer::prepare`], on any thread.
    pub fn append_prepared(
        &mut self,
        prepared: Prepared,
        previous: Option<PageLocation>,
    ) -> Result<Appended> {
        let Prepared { mut members, mut response_bytes, digest, fetched_at_ms, mut line, .. } = prepared;
        let original = match self.candidates(prepared.payload_bytes, &digest, previous) {
            [None, None] => None,
            candidates => self.find_original(candidates, &members[..response_bytes])?,
        };
        if let Some(found) = &original {
            let revisit =
                self.preparer.revisit(&found.own, &found.record, RevisitProfile::IdenticalPayload)?;
            members.splice(..response_bytes, revisit.iter().copied());
            response_bytes = revisit.len();
            line.mime = REVISIT.to_owned();
        }
        let (file, offset) = self.append_members(&members, fetched_at_ms)?;
        let location = PageLocation { file, offset, length: response_bytes as u32 };
        let original = original.map(|found| found.location);
        self.duplicates.insert(digest, original.unwrap_or(location));
        self.lines.push(CdxjLine { location, original, ..line });
        Ok(Appended { location, original })
    }

    /// Makes everything appended so far last; returns all files of the component at this commit.
    pub fn commit(&mut self, generation: u64) -> Result<Vec<FileEntry>> {
        self.index.begin_generation(generation);
        let current = self.current.as_mut().map(|current| current.file.commit()).transpose()?;
        self.index.add(&self.lines)?;
        self.lines.clear();
        if matches!(self.background, Background::Nothing) {
            while let Some(job) = self.index.due_merge(MERGED_BY_COMMIT_BYTES) {
                let merged = job.run()?;
                self.index.replace(job.parts(), merged)?;
            }
        }
        let pages = self.folder.join("pages");
        File::open(&pages).and_then(|folder| folder.sync_all()).context("sync", &pages)?;
        self.index.begin_generation(generation + 1);
        let current = current.filter(|entry| entry.length() > 0);
        Ok(self.complete.values().cloned().chain(current).chain(self.index.entries().cloned()).collect())
    }

    /// A merge of index files that is due and too large for a commit.
    pub fn start_merge(&mut self) -> Option<IndexMerge> {
        if !matches!(self.background, Background::Nothing) {
            return None;
        }
        let job = self.index.due_merge(u64::MAX)?;
        self.background = Background::Merge;
        Some(IndexMerge(job))
    }

    /// Takes over what a merge made; it counts from the next commit on.
    pub fn finish_merge(&mut self, merged: MergedIndex) -> Result<()> {
        self.background = Background::Nothing;
        self.index.replace(&merged.old, merged.new)
    }

    /// Which records may have the payload.
    fn candidates(
        &self,
        payload_bytes: u64,
        digest: &DigestKey,
        previous: Option<PageLocation>,
    ) -> [Option<PageLocation>; 2] {
        if payload_bytes < MIN_DUPLICATE_BYTES {
            return [None, None];
        }
        let usable = |location: &PageLocation| match self.background {
            Background::Compaction { before } => location.file >= before,
            _ => true,
        };
        let remembered = self.duplicates.get(digest).filter(usable);
        [previous.filter(usable).filter(|previous| Some(*previous) != remembered), remembered]
    }

    /// The first candidate whose payload is that of the member, byte for byte.
    fn find_original(
        &mut self,
        candidates: [Option<PageLocation>; 2],
        member: &[u8],
    ) -> Result<Option<Original>> {
        let path = self.folder.join("pages");
        let own = parse_record(gunzip(member, &path, 0)?, &path, 0)?;
        for candidate in candidates.into_iter().flatten() {
            let found = match self.read_original(candidate) {
                // The page is stored anew, which is all that can be done about it here; `check` reports the damage.
                Err(Error::Damaged { .. }) => None,
                outcome => outcome?,
            };
            if let Some((location, record)) = found.filter(|(_, record)| record.payload() == own.payload()) {
                return Ok(Some(Original { location, record, own }));
            }
        }
        Ok(None)
    }

    /// The record at a place, or the one that it refers to.
    fn read_original(&mut self, location: PageLocation) -> Result<Option<(PageLocation, WarcRecord)>> {
        let Some(record) = self.read_back(location)? else { return Ok(None) };
        if record.header.kind() != WarcKind::Revisit {
            return Ok(Some((location, record)));
        }
        let files = self.index.parts().iter().map(|part| CdxjFile::open(&self.folder, part));
        let files = files.collect::<Result<Vec<_>>>()?;
        let Some(location) = reader::original_of(&files, &record)? else { return Ok(None) };
        Ok(self.read_back(location)?.map(|record| (location, record)))
    }

    fn read_back(&mut self, location: PageLocation) -> Result<Option<WarcRecord>> {
        match &mut self.current {
            Some(current) if current.id == location.file => current.file.write_pending()?,
            _ if !self.complete.contains_key(&location.file) => return Ok(None),
            _ => {}
        }
        let path = self.folder.join("pages").join(file_name(location.file));
        let file = File::open(&path).context("open", &path)?;
        reader::read_record(&file, &path, &location).map(Some)
    }

    fn append_members(&mut self, members: &[u8], date_ms: i64) -> Result<(u32, u64)> {
        let full = self.current.as_ref().is_some_and(|current| {
            current.file.length() + members.len() as u64 > self.settings.roll_over_bytes
        });
        if full {
            self.roll_over()?;
        }
        let current = match &mut self.current {
            Some(current) => current,
            vacant => {
                if self.next_number > MAX_NUMBER {
                    return Err(Error::Full { what: "it has as many page files as can be numbered" });
                }
                let id = numbered_file(self.next_number);
                let mut file = GrowingFile::create(&self.folder, &format!("pages/{}", file_name(id)))?;
                file.append(&self.preparer.warcinfo(&file_name(id), date_ms, &self.settings.info)?)?;
                self.next_number += 1;
                vacant.insert(Current { id, file })
            }
        };
        let offset = current.file.length();
        current.file.append(members)?;
        Ok((current.id, offset))
    }

    /// Completes the current file; the next page begins another.
    fn roll_over(&mut self) -> Result<()> {
        if let Some(mut current) = self.current.take() {
            self.complete.insert(current.id, current.file.commit()?);
        }
        Ok(())
    }
}

impl IndexMerge {
    /// Does the work; the store can be used meanwhile.
    pub fn run(self) -> Result<MergedIndex> {
        let new = self.0.run()?;
        Ok(MergedIndex { old: self.0.parts().to_vec(), new })
    }
}

/// A record whose payload is that of another.
struct Original {
    location: PageLocation,
    record: WarcRecord,
    /// The new one.
    own: WarcRecord,
}

/// The files with pages, in crawl order.
fn warc_files(manifest: &Manifest) -> impl Iterator<Item = (u32, FileEntry)> {
    manifest
        .files_in("pages")
        .filter_map(|entry| Some((parse_file_name(entry.name.strip_prefix("pages/")?)?, entry.clone())))
}

/// Above all numbers in use: those of this manifest, and those of files that older snapshots may still need.
fn first_free_number(pages: &Path, manifest: &Manifest) -> Result<u32> {
    let mut free = warc_files(manifest).map(|(id, _)| number_of(id) + 1).max().unwrap_or(0);
    for entry in std::fs::read_dir(pages).context("read", pages)? {
        let name = entry.context("read", pages)?.file_name();
        if let Some(id) = parse_file_name(&name.to_string_lossy()) {
            free = free.max(number_of(id) + 1);
        }
    }
    Ok(free)
}

fn parse_record(bytes: Vec<u8>, path: &Path, offset: u64) -> Result<WarcRecord> {
    WarcRecord::parse(bytes).map_err(|what| crate::error::damaged(path, format!("at byte {offset}"), what))
}
