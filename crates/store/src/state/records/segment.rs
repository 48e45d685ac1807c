//! Segment: the records of one range of ids, in a file with all of them and an optional delta with newer ones.
//!
//! `NAME-SEGMENT-GENERATION.columns` is a column file (see [`super::column_file`]) in which the record of id *n* has
//! the position *n* − the segment's first id; `NAME-SEGMENT-GENERATION.delta` is described in [`super::delta`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::Schema;
use super::checkpoint::{SegmentRewrite, choose_rewrite};
use super::column_file::{ColumnFile, ColumnFileWriter, RUN_BLOCKS, values_per_block};
use super::delta::Delta;
use crate::error::Result;
use crate::file::blocks::PAYLOAD_BYTES;
use crate::manifest::FileEntry;

/// Segment, open for reading.
#[derive(Debug)]
pub(crate) struct Segment {
    base: Arc<ColumnFile>,
    delta: Option<Delta>,
}

impl Segment {
    /// Opens a segment without its delta.
    pub(crate) fn open(dir: &Path, entry: &FileEntry, schema: &Schema) -> Result<Segment> {
        let base = ColumnFile::open(dir, entry, schema.column_bytes)?;
        let first = base.segment_first();
        let fits = base.records() <= schema.segment_records && first.checked_add(base.records()).is_some();
        if !first.is_multiple_of(schema.segment_records) || !fits {
            return Err(base.wrong("the records are not those of a segment"));
        }
        Ok(Segment { base: Arc::new(base), delta: None })
    }

    /// Adds the delta of this segment.
    pub(crate) fn set_delta(&mut self, delta: Delta) -> Result<()> {
        if !delta.is_within(&(self.first()..self.end())) {
            return Err(delta.file().wrong("records of another segment"));
        }
        self.delta = Some(delta);
        Ok(())
    }

    /// Files of the segment.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &FileEntry> {
        let delta = self.delta.iter().map(|delta| delta.file().entry());
        [self.base.entry()].into_iter().chain(delta)
    }

    pub(crate) fn first(&self) -> u32 {
        self.base.segment_first()
    }

    /// Id after the last record.
    pub(crate) fn end(&self) -> u32 {
        self.first() + self.base.records()
    }

    /// Reads whole records: for each pair, the record of the id is written to the index in `out`. This segment must have
    /// all ids.
    pub(crate) fn read_rows<const N: usize>(
        &self,
        schema: &Schema,
        mut requests: Vec<(usize, u32)>,
        out: &mut [[u8; N]],
    ) -> Result<()> {
        if let Some(delta) = &self.delta {
            delta.take_rows(schema, &mut requests, out)?;
        }
        requests.iter_mut().for_each(|(_, id)| *id -= self.first());
        for column in 0..schema.column_bytes.len() {
            let range = schema.column_range(column);
            self.base.read_some(column, &requests, |index, value| {
                out[index][range.clone()].copy_from_slice(value);
            })?;
        }
        Ok(())
    }

    /// Replaces the content of each requested column by the values for those `ids` that this segment has.
    pub(crate) fn read_columns(
        &self,
        schema: &Schema,
        columns: &[usize],
        ids: &Range<u32>,
        out: &mut [Vec<u8>],
    ) -> Result<()> {
        let positions = ids.start - self.first()..ids.end - self.first();
        let newer =
            self.delta.as_ref().map(|delta| delta.find(ids).map(|found| (delta, found))).transpose()?;
        for &column in columns {
            self.base.read_range(column, positions.clone(), &mut out[column])?;
            if let Some((delta, found)) = &newer {
                delta.overwrite(found, schema, column, &mut out[column])?;
            }
        }
        Ok(())
    }

    /// Merges the old segment and the changes since then: into a new delta if they are few, else into a new file.
    pub(crate) fn apply_overlay<const N: usize>(
        dir: &Path,
        schema: &Schema,
        generation: u64,
        ids: Range<u32>,
        old: Option<&Segment>,
        overlay: &BTreeMap<u32, [u8; N]>,
    ) -> Result<Segment> {
        let merged = match old.and_then(|old| old.delta.as_ref()) {
            Some(delta) => {
                let mut rows = delta.rows(schema)?;
                rows.extend(overlay.range(ids.clone()).map(|(id, row)| (*id, *row)));
                Some(rows)
            }
            None => None,
        };
        let changes = merged.as_ref().unwrap_or(overlay);
        let changed = changes.range(ids.clone()).count();
        let name = |suffix| schema.segment_name(ids.start, generation, suffix);
        let base = old.map(|old| &old.base);
        let base_records = base.map_or(0, |base| base.records());
        match (choose_rewrite(base_records, ids.len() as u32, changed), base) {
            (SegmentRewrite::Delta, Some(base)) => {
                let delta = Delta::write(dir, &name("delta"), schema, &ids, changes)?;
                Ok(Segment { base: Arc::clone(base), delta: Some(delta) })
            }
            (_, base) => {
                let base = base.map(Arc::as_ref);
                let entry = write_base(dir, &name("columns"), schema, &ids, base, changes)?;
                Segment::open(dir, &entry, schema)
            }
        }
    }

    /// Reads and verifies everything; the first corruption is the error.
    pub(crate) fn check(&self) -> Result<()> {
        self.base.check()?;
        self.delta.as_ref().map_or(Ok(()), |delta| delta.file().check())
    }
}

fn write_base<const N: usize>(
    dir: &Path,
    name: &str,
    schema: &Schema,
    ids: &Range<u32>,
    old: Option<&ColumnFile>,
    changes: &BTreeMap<u32, [u8; N]>,
) -> Result<FileEntry> {
    let records = ids.len() as u32;
    let mut writer = ColumnFileWriter::create(dir, name, schema.column_bytes, ids.start, records)?;
    for (column, width) in schema.column_bytes.iter().enumerate() {
        let mut copy = ColumnRewriter { schema, column, old, bytes: Vec::new(), first_block: 0 };
        let per_block = values_per_block(*width);
        for (block, start) in ids.clone().step_by(per_block as usize).enumerate() {
            let end = ids.end.min(start.saturating_add(per_block));
            writer.push_block(copy.block(block as u64, start..end, changes)?)?;
        }
    }
    writer.finish()
}

/// Copy of a column, block by block, with the changes applied.
struct ColumnRewriter<'a> {
    schema: &'a Schema,
    column: usize,
    old: Option<&'a ColumnFile>,
    /// Blocks read ahead, from `first_block` of the column on.
    bytes: Vec<u8>,
    first_block: u64,
}

impl ColumnRewriter<'_> {
    /// Payload of the block with the values for `ids`.
    fn block<const N: usize>(
        &mut self,
        block: u64,
        ids: Range<u32>,
        changes: &BTreeMap<u32, [u8; N]>,
    ) -> Result<&[u8]> {
        if block >= self.first_block + (self.bytes.len() / PAYLOAD_BYTES) as u64 {
            self.read_ahead(block)?;
        }
        let at = (block - self.first_block) as usize * PAYLOAD_BYTES;
        let payload = &mut self.bytes[at..at + PAYLOAD_BYTES];
        let width = self.schema.column_bytes[self.column];
        let range = self.schema.column_range(self.column);
        for (id, row) in changes.range(ids.clone()) {
            let at = (id - ids.start) as usize * width;
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
            // The block has only new records, which are all among the changes.
            _ => {
                self.bytes.clear();
                self.bytes.resize(PAYLOAD_BYTES, 0);
                Ok(())
            }
        }
    }
}
