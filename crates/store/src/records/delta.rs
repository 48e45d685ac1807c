//! Those records of a segment that have changed since it was written, when they are few.
//!
//! A delta is a column file (see [`super::column_file`]) with one column more, before the others: the numbers of its
//! records, `u32`, ascending. What it says overrules the segment.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::Schema;
use super::column_file::{ColumnFile, ColumnFileWriter, values_per_block};
use crate::error::Result;
use crate::manifest::FileEntry;

/// A delta, open for reading.
#[derive(Debug)]
pub(super) struct Delta {
    file: ColumnFile,
    /// The first number in each block of numbers.
    block_firsts: Vec<u32>,
    /// The last number.
    last: Option<u32>,
}

const NUMBERS: usize = 0;
const NUMBER_BYTES: usize = 4;

impl Delta {
    pub(super) fn open(folder: &Path, entry: &FileEntry, schema: &Schema) -> Result<Delta> {
        let file = ColumnFile::open(folder, entry, &widths(schema))?;
        let mut delta = Delta { file, block_firsts: Vec::new(), last: None };
        let per_block = values_per_block(NUMBER_BYTES);
        for start in (0..delta.file.records()).step_by(per_block as usize) {
            let numbers = delta.numbers(start..start.saturating_add(per_block))?;
            delta.block_firsts.extend(numbers.first());
            for number in numbers {
                if delta.last >= Some(number) {
                    return Err(delta.file.wrong("its numbers do not ascend"));
                }
                delta.last = Some(number);
            }
        }
        Ok(delta)
    }

    /// Whether all its records have numbers in this range.
    pub(super) fn is_within(&self, numbers: &Range<u32>) -> bool {
        self.block_firsts.first().is_none_or(|first| numbers.contains(first))
            && self.last.is_none_or(|last| numbers.contains(&last))
    }

    /// Writes those of the records that have these numbers, which are a segment's.
    pub(super) fn write<const N: usize>(
        folder: &Path,
        name: &str,
        schema: &Schema,
        segment: &Range<u32>,
        rows: &BTreeMap<u32, [u8; N]>,
    ) -> Result<Delta> {
        let rows = rows.range(segment.clone());
        let numbers: Vec<[u8; NUMBER_BYTES]> = rows.clone().map(|(number, _)| number.to_le_bytes()).collect();
        let records = numbers.len() as u32;
        let mut writer = ColumnFileWriter::create(folder, name, &widths(schema), segment.start, records)?;
        writer.push_column(NUMBER_BYTES, numbers.iter().map(<[u8; NUMBER_BYTES]>::as_slice))?;
        for (column, width) in schema.column_bytes.iter().enumerate() {
            let range = schema.column_range(column);
            writer.push_column(*width, rows.clone().map(|(_, row)| &row[range.clone()]))?;
        }
        Delta::open(folder, &writer.finish()?, schema)
    }

    pub(super) fn file(&self) -> &ColumnFile {
        &self.file
    }

    /// All records.
    pub(super) fn rows<const N: usize>(&self, schema: &Schema) -> Result<BTreeMap<u32, [u8; N]>> {
        let all = 0..self.file.records();
        let mut rows: Vec<(u32, [u8; N])> =
            self.numbers(all.clone())?.into_iter().map(|number| (number, [0; N])).collect();
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

    /// Of pairs of an index and a number, in ascending order for speed, takes out those that are here; the records go to
    /// their index in `out`.
    pub(super) fn take_rows<const N: usize>(
        &self,
        schema: &Schema,
        wanted: &mut Vec<(usize, u32)>,
        out: &mut [[u8; N]],
    ) -> Result<()> {
        let mut found = Vec::new();
        let mut others = Vec::with_capacity(wanted.len());
        let (mut loaded, mut numbers) = (None, Vec::new());
        for (index, number) in wanted.drain(..) {
            let Some(block) = self.block_of(number) else {
                others.push((index, number));
                continue;
            };
            let start = block as u32 * values_per_block(NUMBER_BYTES);
            if loaded != Some(block) {
                numbers = self.numbers(start..start + values_per_block(NUMBER_BYTES))?;
                loaded = Some(block);
            }
            match numbers.binary_search(&number) {
                Ok(offset) => found.push((index, start + offset as u32)),
                Err(_) => others.push((index, number)),
            }
        }
        *wanted = others;
        for column in 0..schema.column_bytes.len() {
            let range = schema.column_range(column);
            self.file.read_some(column + 1, &found, |index, value| {
                out[index][range.clone()].copy_from_slice(value);
            })?;
        }
        Ok(())
    }

    /// Writes the values of a column over those for `numbers`, which lie in `out` one behind the other.
    pub(super) fn overwrite(
        &self,
        found: &Found,
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

    /// Which of its records have a number in this range.
    pub(super) fn find(&self, numbers: &Range<u32>) -> Result<Found> {
        let per_block = values_per_block(NUMBER_BYTES);
        let first_block = self.block_of(numbers.start).unwrap_or(0) as u32;
        let end_block = self.block_firsts.partition_point(|first| *first < numbers.end) as u32;
        let base = first_block * per_block;
        let candidates = self.numbers(base..end_block * per_block)?;
        let low = candidates.partition_point(|number| *number < numbers.start);
        let high = candidates.partition_point(|number| *number < numbers.end);
        let offsets = candidates[low..high].iter().map(|number| (number - numbers.start) as usize).collect();
        Ok(Found { positions: base + low as u32..base + high as u32, offsets })
    }

    /// The block of numbers that a number must be in, if it is in any.
    fn block_of(&self, number: u32) -> Option<usize> {
        self.block_firsts.partition_point(|first| *first <= number).checked_sub(1)
    }

    fn numbers(&self, positions: Range<u32>) -> Result<Vec<u32>> {
        let mut bytes = Vec::new();
        self.file.read_range(NUMBERS, positions, &mut bytes)?;
        Ok(bytes.as_chunks::<NUMBER_BYTES>().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

/// Records of a delta in a range of numbers: their positions in the file, and their offsets in the range.
pub(super) struct Found {
    positions: Range<u32>,
    offsets: Vec<usize>,
}

fn widths(schema: &Schema) -> Vec<usize> {
    [NUMBER_BYTES].into_iter().chain(schema.column_bytes.iter().copied()).collect()
}
