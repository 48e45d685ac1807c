//! Immutable files of fixed-size records, in blocks of 16 KiB with a checksum that is verified on every read.
//!
//! Records do not cross blocks: record *n* is in block *n / records per block*, and one read fetches it. The checksum is
//! seeded with the index of the block, so that a misplaced block is detected too.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::disk::File;
use crate::error::{Context, Result, corrupt};
use crate::file::immutable_file::ImmutableFileWriter;
use crate::manifest::FileEntry;

/// Size of a block on disk, with its checksum.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;
const CHECKSUM_BYTES: usize = 8;
/// Maximum size of the records of a block.
pub(crate) const PAYLOAD_BYTES: usize = BLOCK_BYTES - CHECKSUM_BYTES;

/// Number of records of a size per block.
pub(crate) const fn records_per_block(record_bytes: usize) -> usize {
    PAYLOAD_BYTES / record_bytes
}

/// Writer of a block file.
pub(crate) struct BlockWriter {
    file: ImmutableFileWriter,
    /// Payload of the incomplete block.
    block: Vec<u8>,
    /// Complete blocks, to be written together.
    pending: Vec<u8>,
    block_number: u64,
    payload_bytes: usize,
}

impl BlockWriter {
    /// Creates a file; `name` is relative to the directory of the collection.
    pub(crate) fn create(dir: &Path, name: &str, record_bytes: usize) -> Result<BlockWriter> {
        Ok(BlockWriter {
            file: ImmutableFileWriter::create(dir, name)?,
            block: Vec::with_capacity(BLOCK_BYTES),
            pending: Vec::with_capacity(PENDING_BLOCKS * BLOCK_BYTES),
            block_number: 0,
            payload_bytes: records_per_block(record_bytes) * record_bytes,
        })
    }

    /// Appends one or more records.
    pub(crate) fn push(&mut self, mut records: &[u8]) -> Result<()> {
        while !records.is_empty() {
            let room = self.payload_bytes - self.block.len();
            let (in_block, rest) = records.split_at(room.min(records.len()));
            self.block.extend_from_slice(in_block);
            records = rest;
            if self.block.len() == self.payload_bytes {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Writes the last block and syncs the file; returns the entry for the manifest.
    pub(crate) fn finish(mut self) -> Result<FileEntry> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.write_pending()?;
        self.file.finish()
    }

    fn end_block(&mut self) -> Result<()> {
        let checksum = xxh3_64_with_seed(&self.block, self.block_number);
        self.pending.extend_from_slice(&self.block);
        self.pending.extend_from_slice(&checksum.to_le_bytes());
        self.block.clear();
        self.block_number += 1;
        if self.pending.len() > (PENDING_BLOCKS - 1) * BLOCK_BYTES { self.write_pending() } else { Ok(()) }
    }

    fn write_pending(&mut self) -> Result<()> {
        self.file.push(&self.pending)?;
        self.pending.clear();
        Ok(())
    }
}

/// Number of blocks written together.
const PENDING_BLOCKS: usize = 64;

/// Reader of a block file.
#[derive(Debug)]
pub(crate) struct BlockReader {
    path: PathBuf,
    file: File,
    length: u64,
    record_bytes: usize,
}

impl BlockReader {
    /// Opens a file of a manifest.
    pub(crate) fn open(dir: &Path, entry: &FileEntry, record_bytes: usize) -> Result<BlockReader> {
        let path = dir.join(&entry.name);
        let file = File::open(&path).context("open", &path)?;
        let found = file.length().context("read", &path)?;
        if found != entry.length() {
            let cause = format!("{found} bytes, expected {}", entry.length());
            return Err(corrupt(&path, "", cause));
        }
        Ok(BlockReader { path, file, length: entry.length(), record_bytes })
    }

    /// Number of records.
    pub(crate) fn records(&self) -> u64 {
        let full = self.length / self.block_bytes() as u64;
        let rest = (self.length % self.block_bytes() as u64).saturating_sub(CHECKSUM_BYTES as u64);
        full * self.records_per_block() as u64 + rest / self.record_bytes as u64
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.length.div_ceil(self.block_bytes() as u64)
    }

    /// Number of records per complete block.
    pub(crate) fn records_per_block(&self) -> usize {
        records_per_block(self.record_bytes)
    }

    /// Replaces the content of `out` by the records of `count` blocks from `first` on, after verification.
    pub(crate) fn read_blocks(&self, first: u64, count: u64, out: &mut Vec<u8>) -> Result<()> {
        let block_bytes = self.block_bytes();
        let start = first * block_bytes as u64;
        let end = ((first + count) * block_bytes as u64).min(self.length);
        out.resize(end.saturating_sub(start) as usize, 0);
        self.file.read_exact_at(out, start).context("read", &self.path)?;
        // Removes the checksums between the blocks in place.
        let mut end_of_records = 0;
        let mut at = 0;
        let mut number = first;
        while at < out.len() {
            let block = at..(at + block_bytes).min(out.len());
            let payload_bytes = self.check(&out[block.clone()], number)?;
            out.copy_within(at..at + payload_bytes, end_of_records);
            end_of_records += payload_bytes;
            at = block.end;
            number += 1;
        }
        out.truncate(end_of_records);
        Ok(())
    }

    /// Verifies a block; returns the size of its payload.
    fn check(&self, block: &[u8], number: u64) -> Result<usize> {
        let at = || format!("at byte {}", number * self.block_bytes() as u64);
        let Some((payload, stored)) = block.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(corrupt(&self.path, at(), "truncated block"));
        };
        let (stored, found) = (u64::from_le_bytes(*stored), xxh3_64_with_seed(payload, number));
        // Fuzz targets change the content without its checksum.
        if stored != found && !cfg!(fuzzing) {
            return Err(corrupt(&self.path, at(), format!("checksum {found:016x}, expected {stored:016x}")));
        }
        Ok(payload.len())
    }

    fn block_bytes(&self) -> usize {
        self.records_per_block() * self.record_bytes + CHECKSUM_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dir: &Path, records: u32) -> FileEntry {
        let mut writer = BlockWriter::create(dir, "numbers", 12).unwrap();
        for number in 0..records {
            writer.push(&[&number.to_le_bytes()[..], &[7; 8]].concat()).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn records_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        for records in [0, 1, 1_364, 1_365, 100_000] {
            let entry = written(dir.path(), records);
            let reader = BlockReader::open(dir.path(), &entry, 12).unwrap();
            assert_eq!(reader.records(), u64::from(records));
            let mut out = Vec::new();
            reader.read_blocks(0, reader.blocks(), &mut out).unwrap();
            assert_eq!(out.len(), records as usize * 12);
            for (number, record) in out.chunks(12).enumerate() {
                assert_eq!(record[..4], (number as u32).to_le_bytes());
            }
        }
    }

    #[test]
    fn any_flipped_byte_is_detected_on_reading() {
        let dir = tempfile::tempdir().unwrap();
        let entry = written(dir.path(), 3_000);
        let path = dir.path().join("numbers");
        let bytes = std::fs::read(&path).unwrap();
        let reader = BlockReader::open(dir.path(), &entry, 12).unwrap();
        for at in (0..bytes.len()).step_by(97) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, flipped).unwrap();
            let error = reader.read_blocks(0, reader.blocks(), &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("numbers is corrupt at byte"), "{error}");
        }
    }
}
