//! Records column by column in one immutable file.
//!
//! A column file is a block file (see [`crate::blocks`]) of full blocks: 16,376 bytes of payload and 8 of checksum.
//! Numbers are little-endian. The first block is the header; what is left of a block is zero:
//!
//! ```text
//! 8 bytes  "weircols"
//! u32      1, the version of this format
//! u32      the number that the first record of the segment has
//! u32      number of records in this file
//! u32      number of columns, then for each a u32: its width in bytes
//! ```
//!
//! Then the columns follow, each from a new block on. A block of a column of width *w* holds the values of the next
//! ⌊16,376 / *w*⌋ records, so that the block and the place of any value can be computed from its record's position.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::blocks::{BlockReader, BlockWriter, PAYLOAD_BYTES};
use crate::error::{Error, Result, damaged};
use crate::manifest::FileEntry;

const MAGIC: &[u8; 8] = b"weircols";
const VERSION: u32 = 1;
const HEADER_BLOCKS: u64 = 1;
/// So many blocks are read at a time where a whole file or column is read.
pub(super) const RUN_BLOCKS: u64 = 64;

/// How many values of a width lie in a block.
pub(super) fn values_per_block(width: usize) -> u32 {
    (PAYLOAD_BYTES / width) as u32
}

/// A column file, open for reading. Records are known by their position in it.
#[derive(Debug)]
pub(super) struct ColumnFile {
    entry: FileEntry,
    path: PathBuf,
    blocks: BlockReader,
    segment_first: u32,
    records: u32,
    widths: Vec<usize>,
    /// The first block of each column, and the number of blocks.
    starts: Vec<u64>,
}

impl ColumnFile {
    /// Opens the file and reads its header.
    pub(super) fn open(folder: &Path, entry: &FileEntry, widths: &[usize]) -> Result<ColumnFile> {
        let path = folder.join(&entry.name);
        let blocks = BlockReader::open(folder, entry, PAYLOAD_BYTES)?;
        let mut found = Vec::new();
        blocks.read_blocks(0, HEADER_BLOCKS, &mut found)?;
        let field = |index: usize| {
            let bytes = found.get(8 + 4 * index..12 + 4 * index).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u32::from_le_bytes)
        };
        let (segment_first, records) = (field(1), field(2));
        let starts = column_starts(widths, records);
        let (entry, widths) = (entry.clone(), widths.to_vec());
        let file = ColumnFile { entry, path, blocks, segment_first, records, widths, starts };
        if found != header(&file.widths, segment_first, records) {
            return Err(file.wrong("it has another version or other columns than this program knows"));
        }
        if file.starts.last() != Some(&file.blocks.blocks()) {
            return Err(file.wrong("its length does not fit its number of records"));
        }
        Ok(file)
    }

    pub(super) fn entry(&self) -> &FileEntry {
        &self.entry
    }

    /// The number of the first record of its segment.
    pub(super) fn segment_first(&self) -> u32 {
        self.segment_first
    }

    /// How many records it has.
    pub(super) fn records(&self) -> u32 {
        self.records
    }

    /// Calls `each` with the index and the value of a column for each pair of an index and a position.
    pub(super) fn read_some(
        &self,
        column: usize,
        wanted: &[(usize, u32)],
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let width = self.widths[column];
        let per_block = values_per_block(width);
        let mut block = Vec::new();
        let mut loaded = None;
        for (index, position) in wanted {
            let number = position / per_block;
            if loaded != Some(number) {
                self.read_column_blocks(column, u64::from(number), 1, &mut block)?;
                loaded = Some(number);
            }
            let at = (position % per_block) as usize * width;
            each(*index, &block[at..at + width]);
        }
        Ok(())
    }

    /// Replaces the content of `out` by a column's values at the positions, as far as there are such.
    pub(super) fn read_range(&self, column: usize, positions: Range<u32>, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let width = self.widths[column];
        let per_block = values_per_block(width);
        let (start, end) = (positions.start, positions.end.min(self.records));
        if start >= end {
            return Ok(());
        }
        let (first, last) = (start / per_block, (end - 1) / per_block);
        self.read_column_blocks(column, u64::from(first), u64::from(last - first) + 1, out)?;
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

    /// How many blocks a column has.
    pub(super) fn column_blocks(&self, column: usize) -> u64 {
        self.starts[column + 1] - self.starts[column]
    }

    /// Replaces the content of `out` by the payloads of `count` blocks of a column.
    pub(super) fn read_column_blocks(
        &self,
        column: usize,
        first: u64,
        count: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.blocks.read_blocks(self.starts[column] + first, count, out)
    }

    /// Reads everything; the first damage is the error.
    pub(super) fn check(&self) -> Result<()> {
        let mut bytes = Vec::new();
        for first in (0..self.blocks.blocks()).step_by(RUN_BLOCKS as usize) {
            self.blocks.read_blocks(first, RUN_BLOCKS.min(self.blocks.blocks() - first), &mut bytes)?;
        }
        Ok(())
    }

    /// The file is not what it should be.
    pub(super) fn wrong(&self, what: &str) -> Error {
        damaged(&self.path, "as a whole", what)
    }
}

/// Writes a column file: all blocks of the first column, then all of the second, and so on.
pub(super) struct ColumnFileWriter {
    writer: BlockWriter,
}

impl ColumnFileWriter {
    pub(super) fn create(
        folder: &Path,
        name: &str,
        widths: &[usize],
        segment_first: u32,
        records: u32,
    ) -> Result<ColumnFileWriter> {
        let mut writer = BlockWriter::create(folder, name, PAYLOAD_BYTES)?;
        writer.push(&header(widths, segment_first, records))?;
        Ok(ColumnFileWriter { writer })
    }

    /// Appends a block; its payload is complete.
    pub(super) fn push_block(&mut self, payload: &[u8]) -> Result<()> {
        debug_assert_eq!(payload.len(), PAYLOAD_BYTES);
        self.writer.push(payload)
    }

    /// Appends a whole column.
    pub(super) fn push_column<'v>(
        &mut self,
        width: usize,
        values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<()> {
        let full = values_per_block(width) as usize * width;
        let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
        for value in values {
            payload.extend_from_slice(value);
            if payload.len() == full {
                payload.resize(PAYLOAD_BYTES, 0);
                self.writer.push(&payload)?;
                payload.clear();
            }
        }
        if !payload.is_empty() {
            payload.resize(PAYLOAD_BYTES, 0);
            self.writer.push(&payload)?;
        }
        Ok(())
    }

    /// Syncs the file, and says how the manifest is to name it.
    pub(super) fn finish(self) -> Result<FileEntry> {
        self.writer.finish()
    }
}

fn column_starts(widths: &[usize], records: u32) -> Vec<u64> {
    let mut starts = vec![HEADER_BLOCKS];
    let mut next = HEADER_BLOCKS;
    for width in widths {
        next += u64::from(records.div_ceil(values_per_block(*width)));
        starts.push(next);
    }
    starts
}

fn header(widths: &[usize], segment_first: u32, records: u32) -> Vec<u8> {
    let fields = [VERSION, segment_first, records, widths.len() as u32];
    let fields = fields.into_iter().chain(widths.iter().map(|width| *width as u32));
    let mut header = MAGIC.to_vec();
    header.extend(fields.flat_map(u32::to_le_bytes));
    header.resize(PAYLOAD_BYTES, 0);
    header
}
