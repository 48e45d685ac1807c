//! Set of the index files of a collection, and their merging.
//!
//! A commit does small merges itself. Large ones are returned as a [`CdxjMergeJob`], which can run on any thread and writes
//! to the scratch directory. The next commit does not reference merged files any more; they are deleted elsewhere.

use std::path::{Path, PathBuf};

use super::entry::IndexEntry;
use super::file::{CdxjFileReader, CdxjWriter, merge, names};
use crate::disk;
use crate::error::{Context, Result, corrupt};
use crate::failpoint::failpoint;
use crate::file::merge_policy::choose_merge;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};

/// Index of a collection, open for writing.
#[derive(Debug)]
pub(crate) struct CdxjIndex {
    dir: PathBuf,
    /// Oldest first: text and checksums.
    parts: Vec<[FileEntry; 2]>,
    /// Generation of the next commit.
    generation: u64,
    counter: u32,
}

/// Merge of several parts of the index.
#[derive(Debug)]
pub(crate) struct CdxjMergeJob {
    dir: PathBuf,
    parts: Vec<[FileEntry; 2]>,
    stem: String,
}

impl CdxjIndex {
    pub(crate) fn open(dir: &Path, manifest: &Manifest) -> Result<CdxjIndex> {
        let parts = parts_of(dir, manifest)?;
        Ok(CdxjIndex { dir: dir.to_owned(), parts, generation: manifest.generation + 1, counter: 0 })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &FileEntry> {
        self.parts.iter().flatten()
    }

    pub(crate) fn parts(&self) -> &[[FileEntry; 2]] {
        &self.parts
    }

    /// Returns an unused file stem.
    pub(crate) fn next_stem(&mut self) -> String {
        self.counter += 1;
        format!("{:010}-{}", self.generation, self.counter - 1)
    }

    /// Sets the generation of the following names.
    pub(crate) fn begin_generation(&mut self, generation: u64) {
        if generation != self.generation {
            (self.generation, self.counter) = (generation, 0);
        }
    }

    /// Adds the entries of a commit.
    pub(crate) fn add(&mut self, entries: &[IndexEntry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let stem = format!("pages/{}", self.next_stem());
        let path = self.dir.join(&names(&stem)[0]);
        let lines = entries.iter().map(IndexEntry::encode).collect::<std::result::Result<Vec<String>, _>>();
        let mut lines = lines.map_err(|error| corrupt(&path, "", error.to_string()))?;
        lines.sort_unstable();
        let mut writer = CdxjWriter::create(&self.dir, &stem)?;
        for line in &lines {
            writer.push(line)?;
        }
        self.parts.push(writer.finish()?);
        Ok(())
    }

    /// Returns the merge that is due, if any and not larger than `max_bytes`.
    pub(crate) fn due_merge(&mut self, max_bytes: u64) -> Option<CdxjMergeJob> {
        let sizes: Vec<u64> = self.parts.iter().map(|[text, _]| text.length()).collect();
        let due = choose_merge(&sizes)?;
        if sizes[due.clone()].iter().sum::<u64>() > max_bytes {
            return None;
        }
        let parts = self.parts[due].to_vec();
        Some(CdxjMergeJob { dir: self.dir.clone(), parts, stem: self.next_stem() })
    }

    /// Replaces old parts by a new one from the scratch directory.
    pub(crate) fn replace(&mut self, old: &[[FileEntry; 2]], new: [FileEntry; 2]) -> Result<()> {
        let [text, checksums] = new;
        let new = [move_from_scratch(&self.dir, text)?, move_from_scratch(&self.dir, checksums)?];
        let at = self.parts.iter().position(|part| old.contains(part)).unwrap_or(self.parts.len());
        self.parts.retain(|part| !old.contains(part));
        self.parts.insert(at, new);
        Ok(())
    }
}

impl CdxjMergeJob {
    /// Writes the merged part to the scratch directory.
    pub(crate) fn run(&self) -> Result<[FileEntry; 2]> {
        let files = self
            .parts
            .iter()
            .map(|part| CdxjFileReader::open(&self.dir, part))
            .collect::<Result<Vec<_>>>()?;
        failpoint("merge of the index: begins");
        let mut writer = CdxjWriter::create(&self.dir, &format!("{SCRATCH}/{}", self.stem))?;
        merge(&files, |_, line| writer.push(line))?;
        let merged = writer.finish();
        failpoint("merge of the index: ends");
        merged
    }

    pub(crate) fn parts(&self) -> &[[FileEntry; 2]] {
        &self.parts
    }
}

/// Parts of the index in a manifest, oldest first.
pub(crate) fn parts_of(dir: &Path, manifest: &Manifest) -> Result<Vec<[FileEntry; 2]>> {
    let texts = manifest.files_in("pages").filter_map(|text| Some((text, text.name.strip_suffix(".cdxj")?)));
    let parts = texts.map(|(text, stem)| {
        let [_, checksums] = names(stem);
        let entry = manifest.files_in("pages").find(|entry| entry.name == checksums);
        let missing = || corrupt(&dir.join(&text.name), "", "the .checksums file is not in the manifest");
        Ok([text.clone(), entry.cloned().ok_or_else(missing)?])
    });
    parts.collect()
}

/// Moves a file from the scratch directory to `pages/`.
pub(crate) fn move_from_scratch(dir: &Path, mut entry: FileEntry) -> Result<FileEntry> {
    let from = dir.join(&entry.name);
    if let Some(name) = entry.name.strip_prefix(SCRATCH) {
        entry.name = format!("pages{name}");
        disk::rename(&from, &dir.join(&entry.name)).context("rename", &from)?;
    }
    Ok(entry)
}
