//! The records of one range of numbers: a file with all of them, and perhaps a delta with some newer ones.
//!
//! `NAME-SEGMENT-GENERATION.columns` is a column file (see [`super::column_file`]) in which the record of number *n* has
//! the position *n* − the segment's first number; `NAME-SEGMENT-GENERATION.delta` is described in [`super::delta`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::Schema;
use super::checkpoint::{Fold, choose_fold};
use super::column_file::{ColumnFile, ColumnFileWriter, RUN_BLOCKS, values_per_block};
use super::delta::Delta;
use crate::blocks::PAYLOAD_BYTES;
use crate::error::Result;
use crate::manifest::FileEntry;

/// A segment, open for reading.
#[derive(Debug)]
pub(super) struct Segment {
    base: Arc<ColumnFile>,
    delta: Option<Delta>,
}

impl Segment {
    /// Opens a segment without its delta.
    pub(super) fn open(folder: &Path, entry: &FileEntry, schema: &Schema) -> Result<Segment> {
        let base = ColumnFile::open(folder, entry, schema.column_bytes)?;
        let first = base.segment_first();
        let fits = base.records() <= schema.segment_records && first.checked_add(base.records()).is_some();
        if !first.is_multiple_of(schema.segment_records) || !fits {
            return Err(base.wrong("its records are not those of a segment"));
        }
        Ok(Segment { base: Arc::new(base), delta: None })
    }

    /// Adds the delta of this segment.
    pub(super) fn set_delta(&mut self, delta: Delta) -> Result<()> {
        if !delta.is_within(&(self.first()..self.end())) {
            return Err(delta.file().wrong("it has records of another segment"));
        }
        self.delta = Some(delta);
        Ok(())
    }

    /// The files it consists of.
    pub(super) fn entries(&self) -> impl Iterator<Item = &FileEntry> {
        let delta = self.delta.iter().map(|delta| delta.file().entry());
        [self.base.entry()].into_iter().chain(delta)
    }

    pub(super) fn first(&self) -> u32 {
        self.base.segment_first()
    }

    /// The number behind that of the last record.
    pub(super) fn end(&self) -> u32 {
        self.first() + self.base.records()
    }

    /// Reads whole records: of each pair, the record of the number (which this segment has) goes to the index in `out`.
    pub(super) fn read_rows<const N: usize>(
        &self,
        schema: &Schema,
        mut wanted: Vec<(usize, u32)>,
        out: &mut [[u8; N]],
    ) -> Result<()> {
        if let Some(delta) = &self.delta {
            delta.take_rows(schema, &mut wanted, out)?;
        }
        wanted.iter_mut().for_each(|(_, number)| *number -= self.first());
        for column in 0..schema.column_bytes.len() {
            let range = schema.column_range(column);
            self.base.read_some(column, &wanted, |index, value| {
                out[index][range.clone()].copy_from_slice(value);
            })?;
        }
        Ok(())
    }

    /// Replaces the content of each of the wanted columns by the values for `numbers`, as far as this segment has them.
    pub(super) fn read_columns(
        &self,
        schema: &Schema,
        wanted: &[usize],
        numbers: &Range<u32>,
        out: &mut [Vec<u8>],
    ) -> Result<()> {
        let positions = numbers.start - self.first()..numbers.end - self.first();
        let newer = self.delta.as_ref().map(|delta| Ok((delta, delta.find(numbers)?))).transpose()?;
        for &column in wanted {
            self.base.read_range(column, positions.clone(), &mut out[column])?;
            if let Some((delta, found)) = &newer {
                delta.overwrite(found, schema, column, &mut out[column])?;
            }
        }
        Ok(())
    }

    /// Makes a segment of the old one and of what has changed since: a new delta if that is little, else a new file.
    pub(super) fn fold<const N: usize>(
        folder: &Path,
        schema: &Schema,
        generation: u64,
        numbers: Range<u32>,
        old: Option<&Segment>,
        overlay: &BTreeMap<u32, [u8; N]>,
    ) -> Result<Segment> {
        let merged = match old.and_then(|old| old.delta.as_ref()) {
            Some(delta) => {
                let mut rows = delta.rows(schema)?;
                rows.extend(overlay.range(numbers.clone()).map(|(number, row)| (*number, *row)));
                Some(rows)
            }
            None => None,
        };
        let changes = merged.as_ref().unwrap_or(overlay);
        let changed = changes.range(numbers.clone()).count();
        let name = |suffix| schema.segment_name(numbers.start, generation, suffix);
        let base = old.map(|old| &old.base);
        let base_records = base.map_or(0, |base| base.records());
        match (choose_fold(base_records, numbers.len() as u32, changed), base) {
            (Fold::Delta, Some(base)) => {
                let delta = Delta::write(folder, &name("delta"), schema, &numbers, changes)?;
                Ok(Segment { base: Arc::clone(base), delta: Some(delta) })
            }
            (_, base) => {
                let base = base.map(Arc::as_ref);
                let entry = write_base(folder, &name("columns"), schema, &numbers, base, changes)?;
                Segment::open(folder, &entry, schema)
            }
        }
    }

    /// Reads everything; the first damage is the error.
    pub(super) fn check(&self) -> Result<()> {
        self.base.check()?;
        self.delta.as_ref().map_or(Ok(()), |delta| delta.file().check())
    }
}

fn write_base<const N: usize>(
    folder: &Path,
    name: &str,
    schema: &Schema,
    numbers: &Range<u32>,
    old: Option<&ColumnFile>,
    changes: &BTreeMap<u32, [u8; N]>,
) -> Result<FileEntry> {
    let records = numbers.len() as u32;
    let mut writer = ColumnFileWriter::create(folder, name, schema.column_bytes, numbers.start, records)?;
    for (column, width) in schema.column_bytes.iter().enumerate() {
        let mut copy = ColumnCopy { schema, column, old, bytes: Vec::new(), first_block: 0 };
        let per_block = values_per_block(*width);
        for (block, start) in numbers.clone().step_by(per_block as usize).enumerate() {
            let end = numbers.end.min(start.saturating_add(per_block));
            writer.push_block(copy.block(block as u64, start..end, changes)?)?;
        }
    }
    writer.finish()
}

/// Copies a column, block by block, with what has changed.
struct ColumnCopy<'a> {
    schema: &'a Schema,
    column: usize,
    old: Option<&'a ColumnFile>,
    /// Blocks read ahead, from `first_block` of the column on.
    bytes: Vec<u8>,
    first_block: u64,
}

impl ColumnCopy<'_> {
    /// The payload of a block that holds the values for `numbers`.
    fn block<const N: usize>(
        &mut self,
        block: u64,
        numbers: Range<u32>,
        changes: &BTreeMap<u32, [u8; N]>,
    ) -> Result<&[u8]> {
        if block >= self.first_block + (self.bytes.len() / PAYLOAD_BYTES) as u64 {
            self.read_ahead(block)?;
        }
        let at = (block - self.first_block) as usize * PAYLOAD_BYTES;
        let payload = &mut self.bytes[at..at + PAYLOAD_BYTES];
        let width = self.schema.column_bytes[self.column];
        let range = self.schema.column_range(self.column);
        for (number, row) in changes.range(numbers.clone()) {
            let at = (number - numbers.start) as usize * width;
            payload[at..at + width].copy_from_slice(&row[range.clone()]);
        }
        Ok(payload)
    }

    fn read_ahead(&mut self, block: u64) -> Result<()> {
        self.first_block = block;
        let old_blocks = self.old.map_or(0, |old| old.column_blocks(self.column));
        match self.old {
            Some(old) if block < old_blocks => {
                let count = RUN_BLOCKS.min(old_blocks - block);
                old.read_column_blocks(self.column, block, count, &mut self.bytes)
            }
            // Only new records, which are all among the changes.
            _ => {
                self.bytes.clear();
                self.bytes.resize(PAYLOAD_BYTES, 0);
                Ok(())
            }
        }
    }
}
