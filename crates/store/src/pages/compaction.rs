//! Compaction: rewrites WARC files with many superseded versions, to free their space.
//!
//! Retained gzip members are copied unchanged. A version is superseded if the policy does not retain it, and no retained
//! revisit record needs its payload. The request and metadata records of a response follow it in the file and are retained
//! or dropped with it.
//!
//! A compaction reads only committed files and writes to the scratch directory, so it can run beside a crawl. Meanwhile no
//! new record may refer to an old one, because that may be dropped. Memory: at least 12 bytes for each retained revisit
//! record, and the locations of the records of the rewritten files, of which there are at most [`MAX_FILES`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::location::{file_name, rewritten};
use super::reader::{PageStoreReader, check_digests, parse_record};
use super::retention::{RetentionPolicy, VersionSelector};
use super::{Background, PageStore, RecordLocation, record_encoder};
use crate::error::{Result, corrupt};
use crate::failpoint::failpoint;
use crate::file::append_file::AppendFile;
use crate::layout::SCRATCH;
use crate::manifest::{FileEntry, Manifest};
use crate::pages::index::{CdxjFileReader, CdxjWriter, IndexEntry, merge, move_from_scratch};
use warc::{GzipMembers, RecordEncoder, WarcType, parse_date};

/// Maximum number of files rewritten by one compaction.
const MAX_FILES: usize = 16;

/// Minimum share of superseded bytes for a file to be rewritten.
const MIN_GARBAGE_RATIO: f64 = 0.2;

/// Compaction, to be run on any thread.
pub struct Compaction {
    dir: PathBuf,
    /// Complete files and the index, as of the last commit.
    manifest: Manifest,
    retention: RetentionPolicy,
    max_file_bytes: u64,
    warcinfo: Vec<(String, String)>,
    compression_level: u8,
    old_parts: Vec<[FileEntry; 2]>,
    stem: String,
}

/// Result of a compaction.
pub struct CompactionResult {
    old_parts: Vec<[FileEntry; 2]>,
    new_part: Option<[FileEntry; 2]>,
    new_files: BTreeMap<u32, FileEntry>,
    relocations: Relocations,
}

/// Locations of records before and after a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relocations {
    files: BTreeSet<u32>,
    /// Sorted by the old location.
    moved: Vec<(RecordLocation, RecordLocation)>,
}

impl Relocations {
    /// New location of a record; `None` if it was dropped. Records of other files are unchanged.
    pub fn new_location(&self, old: RecordLocation) -> Option<RecordLocation> {
        if !self.files.contains(&old.file) {
            return Some(old);
        }
        let found = self.moved.binary_search_by_key(&old, |(old, _)| *old);
        found.ok().map(|at| self.moved[at].1)
    }

    /// Whether a file was rewritten: its records are elsewhere or dropped.
    pub fn is_rewritten(&self, file: u32) -> bool {
        self.files.contains(&file)
    }

    /// Old and new location of every moved record.
    pub fn moved(&self) -> &[(RecordLocation, RecordLocation)] {
        &self.moved
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl PageStore {
    /// Compacts and waits for the result. To be called after a commit; the next commit makes it durable.
    pub fn compact(&mut self, retention: RetentionPolicy) -> Result<Relocations> {
        match self.start_compaction(retention)? {
            Some(compaction) => self.finish_compaction(compaction.run()?),
            None => Ok(Relocations::default()),
        }
    }

    /// Starts a compaction; `None` if the policy retains everything, if a compaction or merge is running, or if there are
    /// uncommitted records.
    pub fn start_compaction(&mut self, retention: RetentionPolicy) -> Result<Option<Compaction>> {
        if retention == RetentionPolicy::All
            || !self.entries.is_empty()
            || !matches!(self.background, Background::Nothing)
        {
            return Ok(None);
        }
        self.roll_over()?;
        let before = self.complete.last_key_value().map_or(0, |(id, _)| id + 1);
        self.background = Background::Compaction { before };
        let old_parts = self.index.parts().to_vec();
        let files = self.complete.values().chain(old_parts.iter().flatten()).cloned().collect();
        Ok(Some(Compaction {
            dir: self.dir.clone(),
            manifest: Manifest { files, ..Manifest::empty() },
            retention,
            max_file_bytes: self.settings.max_file_bytes,
            warcinfo: self.settings.warcinfo.clone(),
            compression_level: self.settings.compression_level,
            old_parts,
            stem: self.index.next_stem(),
        }))
    }

    /// Installs the result of a compaction; the next commit makes it and the new locations durable.
    pub fn finish_compaction(&mut self, compacted: CompactionResult) -> Result<Relocations> {
        self.background = Background::Nothing;
        self.has_failed = true;
        let CompactionResult { old_parts, new_part, new_files, relocations } = compacted;
        if let Some(new_part) = new_part {
            self.index.replace(&old_parts, new_part)?;
        }
        self.complete.retain(|id, _| !relocations.files.contains(id));
        for (id, entry) in new_files {
            self.complete.insert(id, move_from_scratch(&self.dir, entry)?);
        }
        self.dedup.relocate(|old| relocations.new_location(old));
        self.has_failed = false;
        Ok(relocations)
    }
}

impl Compaction {
    /// Runs the compaction; the page store can be used at the same time.
    pub fn run(self) -> Result<CompactionResult> {
        let reader = PageStoreReader::open(&self.dir, &self.manifest)?;
        let versions = VersionSelector::new(&reader.index, self.retention);
        let needed = versions.needed_originals()?;
        let chosen = self.choose(&reader, versions.garbage_bytes(&needed)?);
        if chosen.is_empty() {
            return Ok(CompactionResult {
                old_parts: Vec::new(),
                new_part: None,
                new_files: BTreeMap::new(),
                relocations: Relocations::default(),
            });
        }
        let mut dropped = HashSet::new();
        versions.for_each_superseded(&needed, |entry| {
            if chosen.contains(&entry.location.file) {
                dropped.insert(entry.location);
            }
        })?;
        failpoint("compaction: begins");
        let (new_files, moved) = self.rewrite(&reader, &chosen, &dropped)?;
        failpoint("compaction: pages rewritten");
        let relocations = Relocations { files: chosen, moved };
        let new_part = self.rewrite_index(&reader.index, &relocations)?;
        failpoint("compaction: ends");
        Ok(CompactionResult { old_parts: self.old_parts, new_part: Some(new_part), new_files, relocations })
    }

    /// Chooses the files with the most superseded bytes.
    fn choose(&self, reader: &PageStoreReader, garbage_bytes: HashMap<u32, u64>) -> BTreeSet<u32> {
        let ratio = |id: &u32, garbage: u64| {
            let length = reader.files.get(id).map_or(u64::MAX, |file| file.entry.length());
            garbage as f64 / length as f64
        };
        let mut candidates: Vec<(u32, u64)> = garbage_bytes
            .into_iter()
            .filter(|(id, garbage)| ratio(id, *garbage) >= MIN_GARBAGE_RATIO && rewritten(*id).is_some())
            .collect();
        candidates.sort_by_key(|(id, garbage)| (std::cmp::Reverse(*garbage), *id));
        candidates.into_iter().take(MAX_FILES).map(|(id, _)| id).collect()
    }

    fn rewrite(
        &self,
        reader: &PageStoreReader,
        chosen: &BTreeSet<u32>,
        dropped: &HashSet<RecordLocation>,
    ) -> Result<Rewritten> {
        let mut output = CompactionWriter::new(self);
        for (id, file) in &reader.files {
            if !chosen.contains(id) {
                // Records after this file must not move to a file before it: locations are in crawl order.
                output.close()?;
                continue;
            }
            let garbage: u64 = dropped
                .iter()
                .filter(|location| location.file == *id)
                .map(|location| u64::from(location.length))
                .sum();
            output.begin_input(*id, file.entry.length() - garbage)?;
            let mut is_retained = false;
            let mut raw = Vec::new();
            for member in GzipMembers::new(&file.file, &file.path, 0, file.entry.length()) {
                let member = member?;
                let old = RecordLocation { file: *id, offset: member.offset, length: member.length as u32 };
                let record = parse_record(member.bytes, &file.path, member.offset)?;
                check_digests(&record, &file.path, &old)?;
                match record.header.warc_type() {
                    WarcType::Warcinfo => continue,
                    WarcType::Response | WarcType::Revisit => is_retained = !dropped.contains(&old),
                    _ => {}
                }
                if is_retained {
                    file.read_raw(&old, &mut raw)?;
                    output.push(old, &raw, record.header.get("WARC-Date").and_then(parse_date))?;
                }
            }
        }
        output.finish()
    }

    /// Copies the index with the new locations, without the dropped records.
    fn rewrite_index(&self, index: &[CdxjFileReader], relocations: &Relocations) -> Result<[FileEntry; 2]> {
        let mut writer = CdxjWriter::create(&self.dir, &format!("{SCRATCH}/{}", self.stem))?;
        // The order of lines with equal key and time depends on the location, which changes.
        let mut same: Vec<String> = Vec::new();
        let mut same_start = String::new();
        merge(index, |file, text| {
            let mut entry = file.decode(text)?;
            let Some(location) = relocations.new_location(entry.location) else { return Ok(()) };
            entry.location = location;
            entry.original_location =
                entry.original_location.and_then(|original| relocations.new_location(original));
            let start = format!("{} {} ", entry.cdxj.key, entry.cdxj.timestamp);
            if start != same_start {
                flush(&mut same, &mut writer)?;
                same_start = start;
            }
            same.push(encode(&entry, &self.dir)?);
            Ok(())
        })?;
        flush(&mut same, &mut writer)?;
        writer.finish()
    }
}

fn flush(lines: &mut Vec<String>, writer: &mut CdxjWriter) -> Result<()> {
    lines.sort_unstable();
    lines.drain(..).try_for_each(|line| writer.push(&line))
}

fn encode(entry: &IndexEntry, dir: &Path) -> Result<String> {
    entry.encode().map_err(|error| corrupt(&dir.join("pages"), "in the index", error.to_string()))
}

/// New files, and the old and new locations of their records.
type Rewritten = (BTreeMap<u32, FileEntry>, Vec<(RecordLocation, RecordLocation)>);

/// Writer of the output files. Each replaces the first input file that it has records of, and merges only adjacent input
/// files, so that files stay in crawl order.
struct CompactionWriter<'c> {
    compaction: &'c Compaction,
    encoder: RecordEncoder,
    current: Option<(u32, AppendFile)>,
    /// Id of the next output file.
    next_id: u32,
    files: BTreeMap<u32, FileEntry>,
    moved: Vec<(RecordLocation, RecordLocation)>,
}

impl<'c> CompactionWriter<'c> {
    fn new(compaction: &'c Compaction) -> CompactionWriter<'c> {
        CompactionWriter {
            compaction,
            encoder: record_encoder(&compaction.dir, compaction.compression_level),
            current: None,
            next_id: 0,
            files: BTreeMap::new(),
            moved: Vec::new(),
        }
    }

    fn begin_input(&mut self, id: u32, live_bytes: u64) -> Result<()> {
        let filled = self.current.as_ref().map_or(0, |(_, file)| file.length());
        if filled + live_bytes > self.compaction.max_file_bytes {
            self.close()?;
        }
        self.next_id = rewritten(id).unwrap_or(id);
        Ok(())
    }

    fn push(&mut self, old: RecordLocation, member: &[u8], date_ms: Option<i64>) -> Result<()> {
        let (id, file) = match &mut self.current {
            Some(current) => current,
            vacant => {
                let name = file_name(self.next_id);
                let mut file = AppendFile::create(&self.compaction.dir, &format!("{SCRATCH}/{name}"))?;
                let date_ms = date_ms.unwrap_or_default();
                file.append(&self.encoder.warcinfo(&name, date_ms, &self.compaction.warcinfo)?)?;
                vacant.insert((self.next_id, file))
            }
        };
        self.moved.push((old, RecordLocation { file: *id, offset: file.length(), length: old.length }));
        file.append(member)
    }

    fn close(&mut self) -> Result<()> {
        if let Some((id, mut file)) = self.current.take() {
            self.files.insert(id, file.commit()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Rewritten> {
        self.close()?;
        Ok((self.files, self.moved))
    }
}
