//! Column file: records in columns, in one immutable file.
//!
//! A column file is a block file (see [`crate::file::blocks`]) of full blocks: 16,376 bytes of payload and 8 of checksum.
//! Integers are little-endian. The first block is the header; unused bytes of a block are zero:
//!
//! ```text
//! 8 bytes  "weircols"
//! u32      1, the version of this format
//! u32      id of the first record of the segment
//! u32      number of records in this file
//! u32      number of columns, then for each a u32: its width in bytes
//! ```
//!
//! Then the columns follow, each from a new block on. A block of a column of width *w* holds the values of the next
//! ⌊16,376 / *w*⌋ records, so that the block and offset of any value follow from the position of its record.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, corrupt};
use crate::file::blocks::{BlockReader, BlockWriter, PAYLOAD_BYTES};
use crate::manifest::FileEntry;

const MAGIC: &[u8; 8] = b"weircols";
const VERSION: u32 = 1;
const HEADER_BLOCKS: u64 = 1;
/// Number of blocks read at a time when a whole file or column is read.
pub(crate) const RUN_BLOCKS: u64 = 64;

/// Number of values of a width per block.
pub(crate) fn values_per_block(width: usize) -> u32 {
    (PAYLOAD_BYTES / width) as u32
}

/// Column file, open for reading. Records are identified by their position in it.
#[derive(Debug)]
pub(crate) struct ColumnFile {
    entry: FileEntry,
    path: PathBuf,
    blocks: BlockReader,
    segment_first: u32,
    records: u32,
    widths: Vec<usize>,
    /// First block of each column, and the total number of blocks.
    starts: Vec<u64>,
}

impl ColumnFile {
    /// Opens the file and reads its header.
    pub(crate) fn open(dir: &Path, entry: &FileEntry, widths: &[usize]) -> Result<ColumnFile> {
        let path = dir.join(&entry.name);
        let blocks = BlockReader::open(dir, entry, PAYLOAD_BYTES)?;
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
            return Err(file.wrong("unknown version or columns"));
        }
        if file.starts.last() != Some(&file.blocks.blocks()) {
            return Err(file.wrong("the length does not match the number of records"));
        }
        Ok(file)
    }

    pub(crate) fn entry(&self) -> &FileEntry {
        &self.entry
    }

    /// Id of the first record of the segment.
    pub(crate) fn segment_first(&self) -> u32 {
        self.segment_first
    }

    /// Number of records.
    pub(crate) fn records(&self) -> u32 {
        self.records
    }

    /// Calls `visit` with the index and the value of a column for each pair of an index and a position.
    pub(crate) fn read_some(
        &self,
        column: usize,
        positions: &[(usize, u32)],
        mut visit: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let width = self.widths[column];
        let per_block = values_per_block(width);
        let mut block = Vec::new();
        let mut loaded = None;
        for (index, position) in positions {
            let block_index = position / per_block;
            if loaded != Some(block_index) {
                self.read_column_blocks(column, u64::from(block_index), 1, &mut block)?;
                loaded = Some(block_index);
            }
            let at = (position % per_block) as usize * width;
            visit(*index, &block[at..at + width]);
        }
        Ok(())
    }

    /// Replaces the content of `out` by the values of a column at the positions that exist.
    pub(crate) fn read_range(&self, column: usize, positions: Range<u32>, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let width = self.widths[column];
        let per_block = values_per_block(width);
        let (start, end) = (positions.start, positions.end.min(self.records));
        if start >= end {
            return Ok(());
        }
        let (first, last) = (start / per_block, (end - 1) / per_block);
        self.read_column_blocks(column, u64::from(first), u64::from(last - first) + 1, out)?;
        // Removes everything but the requested values in place.
        let mut end_of_values = 0;
        for block in first..=last {
            let base = (block - first) as usize * PAYLOAD_BYTES;
            let low = start.saturating_sub(block * per_block) as usize * width;
            let high = per_block.min(end - block * per_block) as usize * width;
            if end_of_values != base + low {
                out.copy_within(base + low..base + high, end_of_values);
            }
            end_of_values += high - low;
        }
        out.truncate(end_of_values);
        Ok(())
    }

    /// Number of blocks of a column.
    pub(crate) fn column_blocks(&self, column: usize) -> u64 {
        self.starts[column + 1] - self.starts[column]
    }

    /// Replaces the content of `out` by the payloads of `count` blocks of a column.
    pub(crate) fn read_column_blocks(
        &self,
        column: usize,
        first: u64,
        count: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.blocks.read_blocks(self.starts[column] + first, count, out)
    }

    /// Reads and verifies everything; the first corruption is the error.
    pub(crate) fn check(&self) -> Result<()> {
        let mut bytes = Vec::new();
        for first in (0..self.blocks.blocks()).step_by(RUN_BLOCKS as usize) {
            self.blocks.read_blocks(first, RUN_BLOCKS.min(self.blocks.blocks() - first), &mut bytes)?;
        }
        Ok(())
    }

    /// Error for a corrupt file.
    pub(crate) fn wrong(&self, cause: &str) -> Error {
        corrupt(&self.path, "", cause)
    }
}

/// Writer of a column file: all blocks of the first column, then all of the second, and so on.
pub(crate) struct ColumnFileWriter {
    writer: BlockWriter,
}

impl ColumnFileWriter {
    pub(crate) fn create(
        dir: &Path,
        name: &str,
        widths: &[usize],
        segment_first: u32,
        records: u32,
    ) -> Result<ColumnFileWriter> {
        let mut writer = BlockWriter::create(dir, name, PAYLOAD_BYTES)?;
        writer.push(&header(widths, segment_first, records))?;
        Ok(ColumnFileWriter { writer })
    }

    /// Appends a block with a complete payload.
    pub(crate) fn push_block(&mut self, payload: &[u8]) -> Result<()> {
        debug_assert_eq!(payload.len(), PAYLOAD_BYTES);
        self.writer.push(payload)
    }

    /// Appends a whole column.
    pub(crate) fn push_column<'v>(
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
    pub(crate) fn finish(self) -> Result<FileEntry> {
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
