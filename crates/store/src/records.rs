//! How are a few facts about each of a hundred million things kept, changed, and looked through?
//!
//! Things are numbered densely from 0, and each has a record of `N` bytes. A *segment* holds the records of a fixed
//! range of numbers, column by column, in one immutable file. What has changed since lies in memory as whole records
//! (the *overlay*) and on disk in a log, of which each commit appends the records it changed. Once the overlay is large,
//! a commit folds it into new segment files (a *checkpoint*; [`checkpoint`] decides which) and starts a new log.
//!
//! Files, all below `state/`; NAME is `pages` or `sites`:
//!
//! ```text
//! NAME-SEGMENT-GENERATION.columns   one segment as of that commit ([`column_file`] has the format)
//! NAME-SEGMENT-GENERATION.delta     records that replace some of the segment's, if they are few ([`delta`])
//! NAME-GENERATION.log               what has changed since, in frames ([`log`] has the format)
//! ```
//!
//! This module does not know what the bytes of a record mean; [`crate::page_state`] and [`crate::site_state`] do.

mod checkpoint;
mod column_file;
mod delta;
mod log;
mod scan;
mod segment;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, damaged};
use crate::failpoint::failpoint;
use crate::frames::FrameReader;
use crate::growing::GrowingFile;
use crate::manifest::{FileEntry, Manifest};
use crate::parallel;
use checkpoint::{Decision, Situation};
use delta::Delta;
use segment::Segment;

pub(crate) use scan::Chunk;

/// What a kind of record looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema {
    /// What its files are called: `pages`.
    pub(crate) name: &'static str,
    /// The width of each column; together they are a record.
    pub(crate) column_bytes: &'static [usize],
    /// How many records a segment holds.
    pub(crate) segment_records: u32,
}

impl Schema {
    /// Where in a record a column lies.
    fn column_range(&self, column: usize) -> std::ops::Range<usize> {
        let start = self.column_bytes[..column].iter().sum();
        start..start + self.column_bytes[column]
    }

    fn segment_of(&self, number: u32) -> u32 {
        number / self.segment_records
    }

    /// The records that a segment holds when it is full.
    fn numbers_of(&self, segment: u32) -> std::ops::Range<u64> {
        let first = u64::from(segment) * u64::from(self.segment_records);
        first..first + u64::from(self.segment_records)
    }

    fn log_name(&self, generation: u64) -> String {
        format!("state/{}-{generation:010}.log", self.name)
    }

    /// The name of a file of the segment that starts with this number.
    fn segment_name(&self, first: u32, generation: u64, suffix: &str) -> String {
        let segment = self.segment_of(first);
        format!("state/{}-{segment:05}-{generation:010}.{suffix}", self.name)
    }
}

/// All records as of one commit, or as a writer has them.
#[derive(Debug)]
pub(crate) struct Records<const N: usize> {
    schema: Schema,
    folder: PathBuf,
    segments: BTreeMap<u32, Segment>,
    /// Records that are not, or not so, in their segment.
    overlay: BTreeMap<u32, [u8; N]>,
    count: u32,
}

impl<const N: usize> Records<N> {
    /// Opens the records as a manifest names them.
    pub(crate) fn open(folder: &Path, manifest: &Manifest, schema: Schema) -> Result<Records<N>> {
        debug_assert_eq!(schema.column_bytes.iter().sum::<usize>(), N);
        let segments = BTreeMap::new();
        let mut records =
            Records { schema, folder: folder.to_owned(), segments, overlay: BTreeMap::new(), count: 0 };
        for entry in files(manifest, schema.name, ".columns") {
            let segment = Segment::open(folder, entry, &schema)?;
            records.count = records.count.max(segment.end());
            records.segments.insert(schema.segment_of(segment.first()), segment);
        }
        for entry in files(manifest, schema.name, ".delta") {
            let delta = Delta::open(folder, entry, &schema)?;
            let segment = records.segments.get_mut(&schema.segment_of(delta.file().segment_first()));
            segment.ok_or_else(|| delta.file().wrong("it belongs to no segment"))?.set_delta(delta)?;
        }
        for entry in files(manifest, schema.name, ".log") {
            records.replay(&FrameReader::open(folder, entry)?, &folder.join(&entry.name))?;
        }
        records.check_complete()?;
        Ok(records)
    }

    /// How many records there are; their numbers are `0..count`.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// One record.
    pub(crate) fn get(&self, number: u32) -> Result<Option<[u8; N]>> {
        if number >= self.count {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(1);
        self.read(&[number], &mut rows)?;
        Ok(rows.pop())
    }

    /// Appends the records of `numbers`, in their order, to `out`; reading is fast if they ascend.
    pub(crate) fn read(&self, numbers: &[u32], out: &mut Vec<[u8; N]>) -> Result<()> {
        let mut rest = numbers;
        while let Some(&first) = rest.first() {
            let segment = self.schema.segment_of(first);
            let same = rest.iter().take_while(|number| self.schema.segment_of(**number) == segment).count();
            let (now, later) = rest.split_at(same);
            self.read_segment(segment, now, out)?;
            rest = later;
        }
        Ok(())
    }

    fn read_segment(&self, segment: u32, numbers: &[u32], out: &mut Vec<[u8; N]>) -> Result<()> {
        let start = out.len();
        let mut on_disk = Vec::new();
        for (index, number) in numbers.iter().enumerate() {
            let row = self.overlay.get(number);
            if row.is_none() {
                on_disk.push((start + index, *number));
            }
            out.push(row.copied().unwrap_or([0; N]));
        }
        let Some(&(_, largest)) = on_disk.iter().max_by_key(|(_, number)| *number) else { return Ok(()) };
        match self.segments.get(&segment).filter(|segment| largest < segment.end()) {
            Some(segment) => segment.read_rows(&self.schema, on_disk, out),
            None => Err(self.missing(largest)),
        }
    }

    fn missing(&self, number: u32) -> Error {
        let what = format!("it has {} records, and number {number} is asked for", self.count);
        damaged(&self.folder.join("state").join(self.schema.name), "as a whole", what)
    }

    fn replay(&mut self, log: &FrameReader, path: &Path) -> Result<()> {
        log.for_each(|offset, payload| {
            let entries = log::decode(payload, &self.schema)
                .map_err(|what| damaged(path, format!("at byte {offset}"), what))?;
            for (number, row) in entries {
                self.count = self.count.max(number.saturating_add(1));
                self.overlay.insert(number, row);
            }
            Ok(())
        })
    }

    /// Every record that no segment has must be in the overlay; a missing segment file would otherwise read as zeros.
    fn check_complete(&self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        for segment in 0..=self.schema.segment_of(self.count - 1) {
            let wanted = self.schema.numbers_of(segment);
            let end = wanted.end.min(u64::from(self.count)) as u32;
            let from = self.segments.get(&segment).map_or(wanted.start as u32, Segment::end);
            let found = if from < end { self.overlay.range(from..end).count() } else { 0 };
            if found < end.saturating_sub(from) as usize {
                return Err(self.missing(from));
            }
        }
        Ok(())
    }
}

/// The files of a kind of record with this suffix.
fn files<'m>(manifest: &'m Manifest, name: &'m str, suffix: &'m str) -> impl Iterator<Item = &'m FileEntry> {
    manifest.files.iter().filter(move |entry| {
        let rest = entry.name.strip_prefix("state/").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(suffix))
    })
}

/// Changes to records: the side that writes.
pub(crate) struct Changes {
    log: Option<GrowingFile>,
    /// Numbers of the records that differ from the last commit, in any order, some more than once.
    numbers: Vec<u32>,
    /// So many records may be in memory before a checkpoint.
    overlay_limit_records: usize,
}

/// So many records are read, changed and logged at a time.
const GROUP_RECORDS: usize = 1 << 16;

impl Changes {
    /// Begins to change what the manifest names; what was appended to the log after that commit is cut off.
    pub(crate) fn open(
        folder: &Path,
        manifest: &Manifest,
        schema: Schema,
        overlay_limit_records: usize,
    ) -> Result<Changes> {
        let log = files(manifest, schema.name, ".log").next();
        let log = log.map(|entry| GrowingFile::open(folder, entry.clone())).transpose()?;
        Ok(Changes { log, numbers: Vec::new(), overlay_limit_records })
    }

    /// Whether a commit should come soon, to give memory back.
    pub(crate) fn are_full<const N: usize>(&self, records: &Records<N>) -> bool {
        records.overlay.len() >= self.overlay_limit_records
    }

    /// Appends records; tells the number of the first.
    pub(crate) fn append<const N: usize>(
        &mut self,
        records: &mut Records<N>,
        rows: impl IntoIterator<Item = [u8; N]>,
    ) -> Result<u32> {
        let first = records.count;
        for row in rows {
            let number = records.count;
            records.count =
                number.checked_add(1).ok_or(Error::Full { what: "it has 2^32 - 1 records of a kind" })?;
            records.overlay.insert(number, row);
            self.numbers.push(number);
        }
        Ok(first)
    }

    /// Passes the record of each number to `change`, with the number's index, and keeps what it makes of it. Any order
    /// is right; ascending numbers are fast.
    pub(crate) fn update<const N: usize>(
        &mut self,
        records: &mut Records<N>,
        numbers: &[u32],
        mut change: impl FnMut(usize, &mut [u8; N]),
    ) -> Result<()> {
        if let Some(unknown) = numbers.iter().find(|number| **number >= records.count) {
            return Err(records.missing(*unknown));
        }
        let mut rows = Vec::new();
        let mut start = 0;
        while start < numbers.len() {
            let group = ascending_group(&numbers[start..]);
            rows.clear();
            records.read(group, &mut rows)?;
            for (index, (number, mut row)) in group.iter().zip(rows.drain(..)).enumerate() {
                change(start + index, &mut row);
                records.overlay.insert(*number, row);
                self.numbers.push(*number);
            }
            start += group.len();
        }
        Ok(())
    }

    /// Makes all changes last; tells all files of the records at this commit.
    pub(crate) fn commit<const N: usize>(
        &mut self,
        records: &mut Records<N>,
        generation: u64,
    ) -> Result<Vec<FileEntry>> {
        let mut numbers = std::mem::take(&mut self.numbers);
        match checkpoint::decide(&self.situation(records)) {
            Decision::Append => {
                numbers.sort_unstable();
                numbers.dedup();
                self.append_log(records, &numbers, generation)?;
            }
            Decision::Checkpoint(segments) => {
                failpoint("checkpoint: begins");
                records.rewrite(&segments, generation)?;
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

    fn situation<const N: usize>(&self, records: &Records<N>) -> Situation {
        let mut dirty: BTreeMap<u32, usize> = BTreeMap::new();
        // Counting is only worth it when it decides something.
        if self.are_full(records) {
            for number in records.overlay.keys() {
                *dirty.entry(records.schema.segment_of(*number)).or_default() += 1;
            }
        }
        Situation {
            overlay_records: records.overlay.len(),
            overlay_limit_records: self.overlay_limit_records,
            log_bytes: self.log.as_ref().map_or(0, GrowingFile::length),
            record_bytes: N,
            dirty: dirty.into_iter().collect(),
        }
    }

    fn append_log<const N: usize>(
        &mut self,
        records: &Records<N>,
        numbers: &[u32],
        generation: u64,
    ) -> Result<()> {
        for group in numbers.chunks(GROUP_RECORDS) {
            let log = match &mut self.log {
                Some(log) => log,
                none => {
                    none.insert(GrowingFile::create(&records.folder, &records.schema.log_name(generation))?)
                }
            };
            log::append(log, group, &records.overlay, &records.schema)?;
        }
        Ok(())
    }
}

impl<const N: usize> Records<N> {
    /// Writes segments, which ascend, anew, each with its part of the overlay, which is then empty.
    fn rewrite(&mut self, segments: &[u32], generation: u64) -> Result<()> {
        let write = |segment: u32| {
            let numbers = self.schema.numbers_of(segment);
            let numbers = numbers.start as u32..numbers.end.min(u64::from(self.count)) as u32;
            let old = self.segments.get(&segment);
            let new = Segment::fold(&self.folder, &self.schema, generation, numbers, old, &self.overlay);
            failpoint("checkpoint: segment written");
            new
        };
        for new in parallel::map(segments.to_vec(), write) {
            let new = new?;
            self.segments.insert(self.schema.segment_of(new.first()), new);
        }
        let schema = self.schema;
        self.overlay.retain(|number, _| segments.binary_search(&schema.segment_of(*number)).is_err());
        Ok(())
    }
}

/// The first numbers, as far as they ascend and a group is not full: none of them comes twice.
fn ascending_group(numbers: &[u32]) -> &[u32] {
    let ascending = numbers.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1;
    &numbers[..ascending.min(GROUP_RECORDS).min(numbers.len())]
}
