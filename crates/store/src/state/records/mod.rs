//! Table of fixed-size records by dense id, for up to 2^32 - 1 records: log-structured, with column segments.
//!
//! Ids are dense from 0, and each has a record of `N` bytes. A *segment* holds the records of a fixed range of ids,
//! column by column, in one immutable file. Changes since then are in memory as whole records (the *overlay*) and on disk
//! in a log, to which each commit appends the changed records. When the overlay is large, a commit merges it into new
//! segment files (a *checkpoint*; [`checkpoint`] chooses the segments) and starts a new log.
//!
//! Files, all below `state/`; NAME is `pages` or `sites`:
//!
//! ```text
//! NAME-SEGMENT-GENERATION.columns   one segment as of that commit (format: [`column_file`])
//! NAME-SEGMENT-GENERATION.delta     records that replace some of the segment ([`delta`])
//! NAME-GENERATION.log               changes since then, in frames (format: [`log`])
//! ```
//!
//! This module does not interpret the bytes of a record; [`crate::state::page`] and [`crate::state::site`] do.

mod checkpoint;
mod column_file;
mod delta;
mod log;
mod scan;
mod segment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, corrupt};
use crate::failpoint::failpoint;
use crate::file::append_file::AppendFile;
use crate::file::frames::FrameReader;
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;
use checkpoint::{CheckpointDecision, CheckpointInput};
use delta::Delta;
use segment::Segment;

pub(crate) use scan::ColumnChunk;

/// Layout of a kind of record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// Prefix of the file names: `pages`.
    pub(crate) name: &'static str,
    /// Width of each column; the sum is the size of a record.
    pub(crate) column_bytes: &'static [usize],
    /// Number of records per segment.
    pub(crate) segment_records: u32,
}

impl Schema {
    /// Range of a column in a record.
    fn column_range(&self, column: usize) -> std::ops::Range<usize> {
        let start = self.column_bytes[..column].iter().sum();
        start..start + self.column_bytes[column]
    }

    fn segment_of(&self, id: u32) -> u32 {
        id / self.segment_records
    }

    /// Ids of a complete segment.
    fn ids_of(&self, segment: u32) -> std::ops::Range<u64> {
        let first = u64::from(segment) * u64::from(self.segment_records);
        first..first + u64::from(self.segment_records)
    }

    fn log_name(&self, generation: u64) -> String {
        format!("state/{}-{generation:010}.log", self.name)
    }

    /// Name of a file of the segment that starts with id `first`.
    fn segment_name(&self, first: u32, generation: u64, suffix: &str) -> String {
        let segment = self.segment_of(first);
        format!("state/{}-{segment:05}-{generation:010}.{suffix}", self.name)
    }
}

/// All records, as of one commit or with the changes of a writer.
#[derive(Debug)]
pub(crate) struct RecordTable<const N: usize> {
    schema: Schema,
    dir: PathBuf,
    segments: BTreeMap<u32, Segment>,
    /// Records that are newer than their segment.
    overlay: BTreeMap<u32, [u8; N]>,
    count: u32,
}

impl<const N: usize> RecordTable<N> {
    /// Opens the records of a manifest.
    pub(crate) fn open(dir: &Path, manifest: &Manifest, schema: Schema) -> Result<RecordTable<N>> {
        debug_assert_eq!(schema.column_bytes.iter().sum::<usize>(), N);
        let segments = BTreeMap::new();
        let mut records =
            RecordTable { schema, dir: dir.to_owned(), segments, overlay: BTreeMap::new(), count: 0 };
        // Oldest data first: a delta replaces records of its segment, and the log replaces records of both.
        for entry in files(manifest, schema.name, ".columns") {
            let segment = Segment::open(dir, entry, &schema)?;
            records.count = records.count.max(segment.end());
            records.segments.insert(schema.segment_of(segment.first()), segment);
        }
        for entry in files(manifest, schema.name, ".delta") {
            let delta = Delta::open(dir, entry, &schema)?;
            let segment = records.segments.get_mut(&schema.segment_of(delta.file().segment_first()));
            segment.ok_or_else(|| delta.file().wrong("delta without a segment"))?.set_delta(delta)?;
        }
        for entry in files(manifest, schema.name, ".log") {
            records.replay(&FrameReader::open(dir, entry)?, &dir.join(&entry.name))?;
        }
        records.check_complete()?;
        Ok(records)
    }

    /// Number of records; their ids are `0..count`.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Reads one record.
    pub(crate) fn get(&self, id: u32) -> Result<Option<[u8; N]>> {
        if id >= self.count {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(1);
        self.read(&[id], &mut rows)?;
        Ok(rows.pop())
    }

    /// Appends the records of `ids`, in their order, to `out`; ascending ids are fastest.
    pub(crate) fn read(&self, ids: &[u32], out: &mut Vec<[u8; N]>) -> Result<()> {
        let mut rest = ids;
        while let Some(&first) = rest.first() {
            let segment = self.schema.segment_of(first);
            let same = rest.iter().take_while(|id| self.schema.segment_of(**id) == segment).count();
            let (in_segment, later) = rest.split_at(same);
            self.read_segment(segment, in_segment, out)?;
            rest = later;
        }
        Ok(())
    }

    fn read_segment(&self, segment: u32, ids: &[u32], out: &mut Vec<[u8; N]>) -> Result<()> {
        let start = out.len();
        let mut on_disk = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            let row = self.overlay.get(id);
            if row.is_none() {
                on_disk.push((start + index, *id));
            }
            out.push(row.copied().unwrap_or([0; N]));
        }
        let Some(&(_, largest)) = on_disk.iter().max_by_key(|(_, id)| *id) else { return Ok(()) };
        match self.segments.get(&segment).filter(|segment| largest < segment.end()) {
            Some(segment) => segment.read_rows(&self.schema, on_disk, out),
            None => Err(self.missing(largest)),
        }
    }

    fn missing(&self, id: u32) -> Error {
        let cause = format!("record {id} requested of {}", self.count);
        corrupt(&self.dir.join("state").join(self.schema.name), "", cause)
    }

    fn replay(&mut self, log: &FrameReader, path: &Path) -> Result<()> {
        log.for_each(|offset, payload| {
            let entries = log::decode(payload, &self.schema)
                .map_err(|cause| corrupt(path, format!("at byte {offset}"), cause))?;
            for (id, row) in entries {
                self.count = self.count.max(id.saturating_add(1));
                self.overlay.insert(id, row);
            }
            Ok(())
        })
    }

    /// Checks that every record without a segment is in the overlay; a missing segment file would otherwise read as
    /// zeros.
    fn check_complete(&self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        for segment in 0..=self.schema.segment_of(self.count - 1) {
            let expected = self.schema.ids_of(segment);
            let end = expected.end.min(u64::from(self.count)) as u32;
            let from = self.segments.get(&segment).map_or(expected.start as u32, Segment::end);
            let found = if from < end { self.overlay.range(from..end).count() } else { 0 };
            if found < end.saturating_sub(from) as usize {
                return Err(self.missing(from));
            }
        }
        Ok(())
    }
}

/// Files of a kind of record with a suffix.
fn files<'m>(manifest: &'m Manifest, name: &'m str, suffix: &'m str) -> impl Iterator<Item = &'m FileEntry> {
    manifest.files.iter().filter(move |entry| {
        let rest = entry.name.strip_prefix("state/").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(suffix))
    })
}

/// Writer of changes to the records.
pub(crate) struct RecordWriter {
    log: Option<AppendFile>,
    /// Ids of the records changed since the last commit, unordered, with duplicates.
    ids: Vec<u32>,
    /// Maximum number of records in memory before a checkpoint.
    max_overlay_records: usize,
}

/// Number of records that are read, changed and logged at a time.
const GROUP_RECORDS: usize = 1 << 16;

impl RecordWriter {
    /// Opens the log of a manifest; entries after that commit are truncated.
    pub(crate) fn open(
        dir: &Path,
        manifest: &Manifest,
        schema: Schema,
        max_overlay_records: usize,
    ) -> Result<RecordWriter> {
        let log = files(manifest, schema.name, ".log").next();
        let log = log.map(|entry| AppendFile::open(dir, entry.clone())).transpose()?;
        Ok(RecordWriter { log, ids: Vec::new(), max_overlay_records })
    }

    /// Whether a commit is due, to free memory.
    pub(crate) fn should_commit<const N: usize>(&self, records: &RecordTable<N>) -> bool {
        records.overlay.len() >= self.max_overlay_records
    }

    /// Appends records; returns the id of the first.
    pub(crate) fn append<const N: usize>(
        &mut self,
        records: &mut RecordTable<N>,
        rows: impl IntoIterator<Item = [u8; N]>,
    ) -> Result<u32> {
        let first = records.count;
        for row in rows {
            let id = records.count;
            records.count =
                id.checked_add(1).ok_or(Error::LimitExceeded { limit: "more than 2^32 - 1 records" })?;
            records.overlay.insert(id, row);
            self.ids.push(id);
        }
        Ok(first)
    }

    /// Calls `change` with the index and record of each id, and stores the changed record. Any order is allowed;
    /// ascending ids are fastest.
    pub(crate) fn update<const N: usize>(
        &mut self,
        records: &mut RecordTable<N>,
        ids: &[u32],
        mut change: impl FnMut(usize, &mut [u8; N]),
    ) -> Result<()> {
        if let Some(unknown) = ids.iter().find(|id| **id >= records.count) {
            return Err(records.missing(*unknown));
        }
        let mut rows = Vec::new();
        let mut start = 0;
        while start < ids.len() {
            let group = ascending_group(&ids[start..]);
            rows.clear();
            records.read(group, &mut rows)?;
            for (index, (id, mut row)) in group.iter().zip(rows.drain(..)).enumerate() {
                change(start + index, &mut row);
                records.overlay.insert(*id, row);
                self.ids.push(*id);
            }
            start += group.len();
        }
        Ok(())
    }

    /// Commits all changes; returns all files of the records at this commit.
    pub(crate) fn commit<const N: usize>(
        &mut self,
        records: &mut RecordTable<N>,
        generation: u64,
    ) -> Result<Vec<FileEntry>> {
        let mut ids = std::mem::take(&mut self.ids);
        match checkpoint::decide(&self.checkpoint_input(records)) {
            CheckpointDecision::Append => {
                ids.sort_unstable();
                ids.dedup();
                self.append_log(records, &ids, generation)?;
            }
            CheckpointDecision::Checkpoint(segments) => {
                failpoint("checkpoint: begins");
                records.rewrite(&segments, generation)?;
                // The old log stays for the commits that name it. Changes of segments that are not rewritten move to the new log.
                self.log = None;
                let left: Vec<u32> = records.overlay.keys().copied().collect();
                self.append_log(records, &left, generation)?;
                failpoint("checkpoint: ends");
            }
        }
        let mut files: Vec<FileEntry> =
            records.segments.values().flat_map(Segment::entries).cloned().collect();
        if let Some(log) = &mut self.log {
            files.push(log.commit()?);
        }
        Ok(files)
    }

    fn checkpoint_input<const N: usize>(&self, records: &RecordTable<N>) -> CheckpointInput {
        let mut dirty: BTreeMap<u32, usize> = BTreeMap::new();
        // Counted only when the overlay is full: the decision does not need it otherwise.
        if self.should_commit(records) {
            for id in records.overlay.keys() {
                *dirty.entry(records.schema.segment_of(*id)).or_default() += 1;
            }
        }
        CheckpointInput {
            overlay_records: records.overlay.len(),
            max_overlay_records: self.max_overlay_records,
            log_bytes: self.log.as_ref().map_or(0, AppendFile::length),
            record_bytes: N,
            dirty: dirty.into_iter().collect(),
        }
    }

    fn append_log<const N: usize>(
        &mut self,
        records: &RecordTable<N>,
        ids: &[u32],
        generation: u64,
    ) -> Result<()> {
        for group in ids.chunks(GROUP_RECORDS) {
            let log = match &mut self.log {
                Some(log) => log,
                none => none.insert(AppendFile::create(&records.dir, &records.schema.log_name(generation))?),
            };
            log::append(log, group, &records.overlay, &records.schema)?;
        }
        Ok(())
    }
}

impl<const N: usize> RecordTable<N> {
    /// Rewrites segments, in ascending order, with their records of the overlay, and removes these from the overlay.
    fn rewrite(&mut self, segments: &[u32], generation: u64) -> Result<()> {
        let write = |segment: u32| {
            let ids = self.schema.ids_of(segment);
            let ids = ids.start as u32..ids.end.min(u64::from(self.count)) as u32;
            let old = self.segments.get(&segment);
            let new = Segment::apply_overlay(&self.dir, &self.schema, generation, ids, old, &self.overlay);
            failpoint("checkpoint: segment written");
            new
        };
        for new in parallel::map(segments.to_vec(), write) {
            let new = new?;
            self.segments.insert(self.schema.segment_of(new.first()), new);
        }
        let schema = self.schema;
        self.overlay.retain(|id, _| segments.binary_search(&schema.segment_of(*id)).is_err());
        Ok(())
    }
}

/// Longest ascending prefix of `ids` up to the size of a group; it has no duplicates.
fn ascending_group(ids: &[u32]) -> &[u32] {
    let ascending = ids.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
    &ids[..ascending.min(GROUP_RECORDS).min(ids.len())]
}
