//! Delta of a segment: its records that have changed since it was written, when they are few.
//!
//! A delta is a column file (see [`super::column_file`]) with an additional first column: the ids of its records,
//! `u32`, ascending. Its records override those of the segment.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::Schema;
use super::column_file::{ColumnFile, ColumnFileWriter, values_per_block};
use crate::error::Result;
use crate::manifest::FileEntry;

/// Delta, open for reading.
#[derive(Debug)]
pub(crate) struct Delta {
    file: ColumnFile,
    /// First id in each block of ids.
    block_firsts: Vec<u32>,
    /// Last id.
    last: Option<u32>,
}

const IDS: usize = 0;
const ID_BYTES: usize = 4;

impl Delta {
    pub(crate) fn open(dir: &Path, entry: &FileEntry, schema: &Schema) -> Result<Delta> {
        let file = ColumnFile::open(dir, entry, &widths(schema))?;
        let mut delta = Delta { file, block_firsts: Vec::new(), last: None };
        let per_block = values_per_block(ID_BYTES);
        for start in (0..delta.file.records()).step_by(per_block as usize) {
            let ids = delta.ids(start..start.saturating_add(per_block))?;
            delta.block_firsts.extend(ids.first());
            for id in ids {
                if delta.last >= Some(id) {
                    return Err(delta.file.wrong("the ids do not ascend"));
                }
                delta.last = Some(id);
            }
        }
        Ok(delta)
    }

    /// Whether all its records have ids in this range.
    pub(crate) fn is_within(&self, ids: &Range<u32>) -> bool {
        self.block_firsts.first().is_none_or(|first| ids.contains(first))
            && self.last.is_none_or(|last| ids.contains(&last))
    }

    /// Writes the records of the ids of a segment.
    pub(crate) fn write<const N: usize>(
        dir: &Path,
        name: &str,
        schema: &Schema,
        segment: &Range<u32>,
        rows: &BTreeMap<u32, [u8; N]>,
    ) -> Result<Delta> {
        let rows = rows.range(segment.clone());
        let ids: Vec<[u8; ID_BYTES]> = rows.clone().map(|(id, _)| id.to_le_bytes()).collect();
        let records = ids.len() as u32;
        let mut writer = ColumnFileWriter::create(dir, name, &widths(schema), segment.start, records)?;
        writer.push_column(ID_BYTES, ids.iter().map(<[u8; ID_BYTES]>::as_slice))?;
        for (column, width) in schema.column_bytes.iter().enumerate() {
            let range = schema.column_range(column);
            writer.push_column(*width, rows.clone().map(|(_, row)| &row[range.clone()]))?;
        }
        Delta::open(dir, &writer.finish()?, schema)
    }

    pub(crate) fn file(&self) -> &ColumnFile {
        &self.file
    }

    /// Reads all records.
    pub(crate) fn rows<const N: usize>(&self, schema: &Schema) -> Result<BTreeMap<u32, [u8; N]>> {
        let all = 0..self.file.records();
        let mut rows: Vec<(u32, [u8; N])> =
            self.ids(all.clone())?.into_iter().map(|id| (id, [0; N])).collect();
        let mut values = Vec::new();
        for (column, width) in schema.column_bytes.iter().enumerate() {
            self.file.read_range(column + 1, all.clone(), &mut values)?;
            let range = schema.column_range(column);
            for ((_, row), value) in rows.iter_mut().zip(values.chunks_exact(*width)) {
                row[range.clone()].copy_from_slice(value);
            }
        }
        Ok(rows.into_iter().collect())
    }

    /// Removes the pairs of an index and an id whose records are here, and writes these records to their index in `out`.
    /// Ascending ids are fastest.
    pub(crate) fn take_rows<const N: usize>(
        &self,
        schema: &Schema,
        requests: &mut Vec<(usize, u32)>,
        out: &mut [[u8; N]],
    ) -> Result<()> {
        let mut found = Vec::new();
        let mut others = Vec::with_capacity(requests.len());
        let (mut loaded, mut ids) = (None, Vec::new());
        for (index, id) in requests.drain(..) {
            let Some(block) = self.block_of(id) else {
                others.push((index, id));
                continue;
            };
            let start = block as u32 * values_per_block(ID_BYTES);
            if loaded != Some(block) {
                ids = self.ids(start..start + values_per_block(ID_BYTES))?;
                loaded = Some(block);
            }
            match ids.binary_search(&id) {
                Ok(offset) => found.push((index, start + offset as u32)),
                Err(_) => others.push((index, id)),
            }
        }
        *requests = others;
        for column in 0..schema.column_bytes.len() {
            let range = schema.column_range(column);
            self.file.read_some(column + 1, &found, |index, value| {
                out[index][range.clone()].copy_from_slice(value);
            })?;
        }
        Ok(())
    }

    /// Overwrites the values of a column in `out`, which has those of a range of ids in order.
    pub(crate) fn overwrite(
        &self,
        found: &DeltaMatches,
        schema: &Schema,
        column: usize,
        out: &mut [u8],
    ) -> Result<()> {
        let width = schema.column_bytes[column];
        let mut values = Vec::new();
        self.file.read_range(column + 1, found.positions.clone(), &mut values)?;
        for (offset, value) in found.offsets.iter().zip(values.chunks_exact(width)) {
            out[offset * width..][..width].copy_from_slice(value);
        }
        Ok(())
    }

    /// Finds the records with an id in a range.
    pub(crate) fn find(&self, ids: &Range<u32>) -> Result<DeltaMatches> {
        let per_block = values_per_block(ID_BYTES);
        let first_block = self.block_of(ids.start).unwrap_or(0) as u32;
        let end_block = self.block_firsts.partition_point(|first| *first < ids.end) as u32;
        let base = first_block * per_block;
        let candidates = self.ids(base..end_block * per_block)?;
        let low = candidates.partition_point(|id| *id < ids.start);
        let high = candidates.partition_point(|id| *id < ids.end);
        let offsets = candidates[low..high].iter().map(|id| (id - ids.start) as usize).collect();
        Ok(DeltaMatches { positions: base + low as u32..base + high as u32, offsets })
    }

    /// Block of ids that has an id, if any.
    fn block_of(&self, id: u32) -> Option<usize> {
        self.block_firsts.partition_point(|first| *first <= id).checked_sub(1)
    }

    fn ids(&self, positions: Range<u32>) -> Result<Vec<u32>> {
        let mut bytes = Vec::new();
        self.file.read_range(IDS, positions, &mut bytes)?;
        Ok(bytes.as_chunks::<ID_BYTES>().0.iter().map(|id| u32::from_le_bytes(*id)).collect())
    }
}

/// Records of a delta in a range of ids: positions in the file, and offsets in the range.
pub(crate) struct DeltaMatches {
    positions: Range<u32>,
    offsets: Vec<usize>,
}

fn widths(schema: &Schema) -> Vec<usize> {
    [ID_BYTES].into_iter().chain(schema.column_bytes.iter().copied()).collect()
}
