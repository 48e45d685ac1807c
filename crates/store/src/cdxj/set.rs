//! Which files make up the index, and when are they merged?
//!
//! Small merges are done by the commit that makes them necessary, large ones by whoever has the time, as a
//! [`MergeJob`], which writes to the scratch folder. Files that were merged are not named by the next commit; deleting
//! them is not done here.

use std::path::{Path, PathBuf};

use super::file::{CdxjFile, CdxjWriter, merge, names};
use super::line::CdxjLine;
use crate::error::{Context, Result, damaged};
use crate::failpoint::failpoint;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};
use crate::tiers::choose_merge;

/// The index of a collection as its writer sees it.
#[derive(Debug)]
pub(crate) struct CdxjSet {
    folder: PathBuf,
    /// Oldest first; text and sums.
    parts: Vec<[FileEntry; 2]>,
    /// Of the commit under construction.
    generation: u64,
    counter: u32,
}

/// Some parts that are to become one.
#[derive(Debug)]
pub(crate) struct MergeJob {
    folder: PathBuf,
    parts: Vec<[FileEntry; 2]>,
    stem: String,
}

impl CdxjSet {
    pub(crate) fn open(folder: &Path, manifest: &Manifest) -> Result<CdxjSet> {
        let parts = parts_of(folder, manifest)?;
        Ok(CdxjSet { folder: folder.to_owned(), parts, generation: manifest.generation + 1, counter: 0 })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &FileEntry> {
        self.parts.iter().flatten()
    }

    pub(crate) fn parts(&self) -> &[[FileEntry; 2]] {
        &self.parts
    }

    /// A name that no file had or will have.
    pub(crate) fn next_stem(&mut self) -> String {
        self.counter += 1;
        format!("{:010}-{}", self.generation, self.counter - 1)
    }

    /// From now on names carry this generation.
    pub(crate) fn begin_generation(&mut self, generation: u64) {
        if generation != self.generation {
            (self.generation, self.counter) = (generation, 0);
        }
    }

    /// Adds the lines of a commit.
    pub(crate) fn add(&mut self, lines: &[CdxjLine]) -> Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let stem = format!("pages/{}", self.next_stem());
        let path = self.folder.join(&names(&stem)[0]);
        let texts = lines.iter().map(CdxjLine::encode).collect::<std::result::Result<Vec<String>, _>>();
        let mut texts = texts.map_err(|error| damaged(&path, "before it is written", error.to_string()))?;
        texts.sort_unstable();
        let mut writer = CdxjWriter::create(&self.folder, &stem)?;
        for text in &texts {
            writer.push(text)?;
        }
        self.parts.push(writer.finish()?);
        Ok(())
    }

    /// The merge that is due, if one is, and if it is not larger than this.
    pub(crate) fn due_merge(&mut self, max_bytes: u64) -> Option<MergeJob> {
        let sizes: Vec<u64> = self.parts.iter().map(|[text, _]| text.length()).collect();
        let due = choose_merge(&sizes)?;
        if sizes[due.clone()].iter().sum::<u64>() > max_bytes {
            return None;
        }
        let parts = self.parts[due].to_vec();
        Some(MergeJob { folder: self.folder.clone(), parts, stem: self.next_stem() })
    }

    /// Moves a new part from the scratch folder to the place of old ones.
    pub(crate) fn replace(&mut self, old: &[[FileEntry; 2]], new: [FileEntry; 2]) -> Result<()> {
        let [text, sums] = new;
        let new = [adopt(&self.folder, text)?, adopt(&self.folder, sums)?];
        let at = self.parts.iter().position(|part| old.contains(part)).unwrap_or(self.parts.len());
        self.parts.retain(|part| !old.contains(part));
        self.parts.insert(at, new);
        Ok(())
    }
}

impl MergeJob {
    /// Writes the merged part; needs nothing but the files.
    pub(crate) fn run(&self) -> Result<[FileEntry; 2]> {
        let files =
            self.parts.iter().map(|part| CdxjFile::open(&self.folder, part)).collect::<Result<Vec<_>>>()?;
        failpoint("merge of the index: begins");
        let mut writer = CdxjWriter::create(&self.folder, &format!("{SCRATCH}/{}", self.stem))?;
        merge(&files, |_, line| writer.push(line))?;
        let merged = writer.finish();
        failpoint("merge of the index: ends");
        merged
    }

    pub(crate) fn parts(&self) -> &[[FileEntry; 2]] {
        &self.parts
    }
}

/// The parts of the index that a manifest names, oldest first.
pub(crate) fn parts_of(folder: &Path, manifest: &Manifest) -> Result<Vec<[FileEntry; 2]>> {
    let texts = manifest.files_in("pages").filter_map(|text| Some((text, text.name.strip_suffix(".cdxj")?)));
    let parts = texts.map(|(text, stem)| {
        let [_, sums] = names(stem);
        let entry = manifest.files_in("pages").find(|entry| entry.name == sums);
        let missing =
            || damaged(&folder.join(&text.name), "as a whole", "its .sums file is not in the manifest");
        Ok([text.clone(), entry.cloned().ok_or_else(missing)?])
    });
    parts.collect()
}

/// Moves a file from the scratch folder to the pages.
pub(crate) fn adopt(folder: &Path, mut entry: FileEntry) -> Result<FileEntry> {
    let from = folder.join(&entry.name);
    if let Some(name) = entry.name.strip_prefix(SCRATCH) {
        entry.name = format!("pages{name}");
        std::fs::rename(&from, folder.join(&entry.name)).context("rename", &from)?;
    }
    Ok(entry)
}
