//! The records of one range of numbers, column by column, in one immutable file.
//!
//! A segment file is a block file (see [`crate::blocks`]) of full blocks: 16,376 bytes of payload and 8 of checksum.
//! Numbers are little-endian. The first block is the header; what is left of a block is zero:
//!
//! ```text
//! 8 bytes  "weircols"
//! u32      1, the version of this format
//! u32      number of the first record
//! u32      number of records
//! u32      number of columns, then for each a u32: its width in bytes
//! ```
//!
//! Then the columns follow, each from a new block on. A block of a column of width *w* holds the values of the next
//! ⌊16,376 / *w*⌋ records, so that the block and the place of any value can be computed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::Schema;
use crate::blocks::{BlockReader, BlockWriter, PAYLOAD_BYTES};
use crate::error::{Result, damaged};
use crate::manifest::FileEntry;

const MAGIC: &[u8; 8] = b"weircols";
const VERSION: u32 = 1;
const HEADER_BLOCKS: u64 = 1;

/// So many blocks of the old file are read at a time when a segment is written anew.
const COPY_BLOCKS: u64 = 64;

/// One segment file, open for reading.
#[derive(Debug)]
pub(super) struct Segment {
    entry: FileEntry,
    blocks: BlockReader,
    number: u32,
    /// The records it holds.
    first: u32,
    records: u32,
    /// The first block of each column.
    column_starts: Vec<u64>,
}

impl Segment {
    /// Opens the file and reads its header.
    pub(super) fn open(folder: &Path, entry: &FileEntry, schema: &Schema) -> Result<Segment> {
        let path = folder.join(&entry.name);
        let blocks = BlockReader::open(folder, entry, PAYLOAD_BYTES)?;
        let mut header = Vec::new();
        blocks.read_blocks(0, HEADER_BLOCKS, &mut header)?;
        let wrong = |what: &str| damaged(&path, "in its header", what);
        let field = |index: usize| {
            let bytes = header.get(8 + 4 * index..12 + 4 * index)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        if !header.starts_with(MAGIC) || field(0) != Some(VERSION) {
            return Err(wrong("it is no segment of a version that this program knows"));
        }
        let (Some(first), Some(records)) = (field(1), field(2)) else { return Err(wrong("it is too short")) };
        let widths = schema.column_bytes.iter().enumerate();
        let same_widths = widths.clone().all(|(index, width)| field(4 + index) == Some(*width as u32));
        if field(3) != Some(schema.column_bytes.len() as u32) || !same_widths {
            return Err(wrong("its columns have other widths"));
        }
        let column_starts = column_starts(schema, records);
        let full = records <= schema.segment_records && first.checked_add(records).is_some();
        if !first.is_multiple_of(schema.segment_records)
            || !full
            || column_starts.last() != Some(&blocks.blocks())
        {
            return Err(wrong("its length does not fit its records"));
        }
        let number = schema.segment_of(first);
        Ok(Segment { entry: entry.clone(), blocks, number, first, records, column_starts })
    }

    /// Writes a segment file from the old one and what lies over it.
    pub(super) fn write<const N: usize>(
        folder: &Path,
        name: &str,
        schema: &Schema,
        numbers: Range<u32>,
        old: Option<&Segment>,
        overlay: &BTreeMap<u32, [u8; N]>,
    ) -> Result<Segment> {
        let mut writer = BlockWriter::create(folder, name, PAYLOAD_BYTES)?;
        writer.push(&header(schema, &numbers))?;
        for column in 0..schema.column_bytes.len() {
            let mut copy = ColumnCopy { schema, column, old, bytes: Vec::new(), first_block: 0 };
            let per_block = records_per_block(schema.column_bytes[column]);
            for (block, start) in numbers.clone().step_by(per_block as usize).enumerate() {
                let end = numbers.end.min(start.saturating_add(per_block));
                writer.push(copy.block(block as u64, start..end, overlay)?)?;
            }
        }
        Segment::open(folder, &writer.finish()?, schema)
    }

    pub(super) fn entry(&self) -> &FileEntry {
        &self.entry
    }

    /// Which segment it is.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// The number behind that of the last record.
    pub(super) fn end(&self) -> u32 {
        self.first + self.records
    }

    /// Reads whole records: of each pair, the record of the number (which this segment has) goes to the index in `out`.
    pub(super) fn read_rows<const N: usize>(
        &self,
        schema: &Schema,
        wanted: &[(usize, u32)],
        out: &mut [[u8; N]],
    ) -> Result<()> {
        let mut block = Vec::new();
        for (column, width) in schema.column_bytes.iter().enumerate() {
            let per_block = records_per_block(*width);
            let range = schema.column_range(column);
            let mut loaded = None;
            for (index, number) in wanted {
                let offset = number - self.first;
                let block_number = u64::from(offset / per_block);
                if loaded != Some(block_number) {
                    self.blocks.read_blocks(self.column_starts[column] + block_number, 1, &mut block)?;
                    loaded = Some(block_number);
                }
                let at = (offset % per_block) as usize * width;
                out[*index][range.clone()].copy_from_slice(&block[at..at + width]);
            }
        }
        Ok(())
    }

    /// Replaces the content of `out` by a column's values for `numbers`, as far as this segment has them.
    pub(super) fn read_column(
        &self,
        schema: &Schema,
        column: usize,
        numbers: Range<u32>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        let width = schema.column_bytes[column];
        let per_block = records_per_block(width);
        let (start, end) =
            (numbers.start - self.first, numbers.end.min(self.end()).saturating_sub(self.first));
        if start >= end {
            return Ok(());
        }
        let (first, last) = (start / per_block, (end - 1) / per_block);
        let from = self.column_starts[column] + u64::from(first);
        self.blocks.read_blocks(from, u64::from(last - first) + 1, out)?;
        // What is not a wanted value, before, between and behind, is squeezed out in place.
        let mut kept = 0;
        for block in first..=last {
            let base = (block - first) as usize * PAYLOAD_BYTES;
            let low = start.saturating_sub(block * per_block) as usize * width;
            let high = per_block.min(end - block * per_block) as usize * width;
            if kept != base + low {
                out.copy_within(base + low..base + high, kept);
            }
            kept += high - low;
        }
        out.truncate(kept);
        Ok(())
    }

    /// Reads everything; the first damage is the error.
    pub(super) fn check(&self) -> Result<()> {
        let mut bytes = Vec::new();
        for first in (0..self.blocks.blocks()).step_by(COPY_BLOCKS as usize) {
            let count = COPY_BLOCKS.min(self.blocks.blocks() - first);
            self.blocks.read_blocks(first, count, &mut bytes)?;
        }
        Ok(())
    }
}

/// Copies a column from an old segment, block by block, with what lies over it.
struct ColumnCopy<'a> {
    schema: &'a Schema,
    column: usize,
    old: Option<&'a Segment>,
    /// Blocks read ahead, from `first_block` of the column on; the last one handed out was changed.
    bytes: Vec<u8>,
    first_block: u64,
}

impl ColumnCopy<'_> {
    /// The payload of a block that holds the values for `numbers`.
    fn block<const N: usize>(
        &mut self,
        block: u64,
        numbers: Range<u32>,
        overlay: &BTreeMap<u32, [u8; N]>,
    ) -> Result<&[u8]> {
        if block >= self.first_block + (self.bytes.len() / PAYLOAD_BYTES) as u64 {
            self.read_ahead(block)?;
        }
        let at = (block - self.first_block) as usize * PAYLOAD_BYTES;
        let payload = &mut self.bytes[at..at + PAYLOAD_BYTES];
        let width = self.schema.column_bytes[self.column];
        let range = self.schema.column_range(self.column);
        for (number, row) in overlay.range(numbers.clone()) {
            let at = (number - numbers.start) as usize * width;
            payload[at..at + width].copy_from_slice(&row[range.clone()]);
        }
        Ok(payload)
    }

    fn read_ahead(&mut self, block: u64) -> Result<()> {
        self.first_block = block;
        if let Some(old) = self.old {
            let start = old.column_starts[self.column] + block;
            let end = old.column_starts[self.column + 1].min(start + COPY_BLOCKS);
            if start < end {
                return old.blocks.read_blocks(start, end - start, &mut self.bytes);
            }
        }
        // New records, which the overlay has.
        self.bytes.clear();
        self.bytes.resize(PAYLOAD_BYTES, 0);
        Ok(())
    }
}

fn records_per_block(width: usize) -> u32 {
    (PAYLOAD_BYTES / width) as u32
}

/// The first block of each column, and the number of blocks.
fn column_starts(schema: &Schema, records: u32) -> Vec<u64> {
    let mut starts = vec![HEADER_BLOCKS];
    let mut next = HEADER_BLOCKS;
    for width in schema.column_bytes {
        next += u64::from(records.div_ceil(records_per_block(*width)));
        starts.push(next);
    }
    starts
}

fn header(schema: &Schema, numbers: &Range<u32>) -> Vec<u8> {
    let columns = schema.column_bytes;
    let fields = [VERSION, numbers.start, numbers.end - numbers.start, columns.len() as u32];
    let fields = fields.into_iter().chain(columns.iter().map(|width| *width as u32));
    let mut header = MAGIC.to_vec();
    header.extend(fields.flat_map(u32::to_le_bytes));
    header.resize(PAYLOAD_BYTES, 0);
    header
}
