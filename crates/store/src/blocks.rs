//! How are numbers kept so that a flipped bit never becomes a wrong answer? In blocks of 16 KiB, each with its
//! checksum, that are checked whenever they are read.
//!
//! A block file is written once, front to back, and holds records of one size. Records do not cross blocks, so that
//! record *n* lies in block *n / per block*, and one read fetches it. The checksum is seeded with the block's number:
//! a block in the wrong place is as damaged as a wrong one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::{Context, Result, damaged};
use crate::manifest::FileEntry;
use crate::whole_file::WholeFile;

/// A block on disk, with its checksum.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;
const CHECKSUM_BYTES: usize = 8;
/// What a block can hold.
pub(crate) const PAYLOAD_BYTES: usize = BLOCK_BYTES - CHECKSUM_BYTES;

/// How many records of a size a block holds.
pub(crate) const fn records_per_block(record_bytes: usize) -> usize {
    PAYLOAD_BYTES / record_bytes
}

/// Writes a block file.
pub(crate) struct BlockWriter {
    file: WholeFile,
    /// The payload of the block under construction.
    block: Vec<u8>,
    /// Full blocks that wait to be written together.
    pending: Vec<u8>,
    block_number: u64,
    payload_bytes: usize,
}

impl BlockWriter {
    /// Starts a file of this name, relative to the collection's folder, for records of this size.
    pub(crate) fn create(folder: &Path, name: &str, record_bytes: usize) -> Result<BlockWriter> {
        Ok(BlockWriter {
            file: WholeFile::create(folder, name)?,
            block: Vec::with_capacity(BLOCK_BYTES),
            pending: Vec::with_capacity(PENDING_BLOCKS * BLOCK_BYTES),
            block_number: 0,
            payload_bytes: records_per_block(record_bytes) * record_bytes,
        })
    }

    /// Appends one record, or several one behind the other.
    pub(crate) fn push(&mut self, mut records: &[u8]) -> Result<()> {
        while !records.is_empty() {
            let room = self.payload_bytes - self.block.len();
            let (now, later) = records.split_at(room.min(records.len()));
            self.block.extend_from_slice(now);
            records = later;
            if self.block.len() == self.payload_bytes {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Writes what is left, syncs the file, and says how the manifest is to name it.
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

const PENDING_BLOCKS: usize = 64;

/// Reads a block file.
#[derive(Debug)]
pub(crate) struct BlockReader {
    path: PathBuf,
    file: File,
    length: u64,
    record_bytes: usize,
}

impl BlockReader {
    /// Opens a file as a manifest names it.
    pub(crate) fn open(folder: &Path, entry: &FileEntry, record_bytes: usize) -> Result<BlockReader> {
        let path = folder.join(&entry.name);
        let file = File::open(&path).context("open", &path)?;
        let found = file.metadata().context("read", &path)?.len();
        if found != entry.length() {
            let what = format!("it has {found} bytes, and the manifest says {}", entry.length());
            return Err(damaged(&path, "as a whole", what));
        }
        Ok(BlockReader { path, file, length: entry.length(), record_bytes })
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        let full = self.length / self.block_bytes() as u64;
        let rest = (self.length % self.block_bytes() as u64).saturating_sub(CHECKSUM_BYTES as u64);
        full * self.records_per_block() as u64 + rest / self.record_bytes as u64
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> u64 {
        self.length.div_ceil(self.block_bytes() as u64)
    }

    /// How many records a full block of this file has.
    pub(crate) fn records_per_block(&self) -> usize {
        records_per_block(self.record_bytes)
    }

    /// Replaces the content of `out` by the records of `count` blocks from `first` on, all checked.
    pub(crate) fn read_blocks(&self, first: u64, count: u64, out: &mut Vec<u8>) -> Result<()> {
        let block_bytes = self.block_bytes();
        let start = first * block_bytes as u64;
        let end = ((first + count) * block_bytes as u64).min(self.length);
        out.resize(end.saturating_sub(start) as usize, 0);
        self.file.read_exact_at(out, start).context("read", &self.path)?;
        // The checksums between the blocks are squeezed out in place.
        let mut kept = 0;
        let mut at = 0;
        let mut number = first;
        while at < out.len() {
            let block = at..(at + block_bytes).min(out.len());
            let payload_bytes = self.check(&out[block.clone()], number)?;
            out.copy_within(at..at + payload_bytes, kept);
            kept += payload_bytes;
            at = block.end;
            number += 1;
        }
        out.truncate(kept);
        Ok(())
    }

    /// Size of the payload of a block whose checksum is right.
    fn check(&self, block: &[u8], number: u64) -> Result<usize> {
        let at = || format!("at byte {}", number * self.block_bytes() as u64);
        let Some((payload, stored)) = block.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(damaged(&self.path, at(), "a block is cut off"));
        };
        let (stored, found) = (u64::from_le_bytes(*stored), xxh3_64_with_seed(payload, number));
        if stored != found {
            return Err(damaged(&self.path, at(), format!("checksum {found:016x}, expected {stored:016x}")));
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

    fn written(folder: &Path, records: u32) -> FileEntry {
        let mut writer = BlockWriter::create(folder, "numbers", 12).unwrap();
        for number in 0..records {
            writer.push(&[&number.to_le_bytes()[..], &[7; 8]].concat()).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn records_come_back_from_where_they_were_put() {
        let folder = tempfile::tempdir().unwrap();
        for records in [0, 1, 1_364, 1_365, 100_000] {
            let entry = written(folder.path(), records);
            let reader = BlockReader::open(folder.path(), &entry, 12).unwrap();
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
    fn any_flipped_byte_is_found_when_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let entry = written(folder.path(), 3_000);
        let path = folder.path().join("numbers");
        let bytes = std::fs::read(&path).unwrap();
        let reader = BlockReader::open(folder.path(), &entry, 12).unwrap();
        for at in (0..bytes.len()).step_by(97) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, flipped).unwrap();
            let error = reader.read_blocks(0, reader.blocks(), &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains("numbers is damaged at byte"), "{error}");
        }
    }
}
