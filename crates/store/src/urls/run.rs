//! Run: an immutable file of (hash, page) sorted by hash, for the pages of one or more commits.
//!
//! The entries are followed by the block keys: the first hash of each block with the index of the block, as records of the
//! same size. They are kept in memory (0.006 bytes per page), so that any entry is found with one read. A batch of sorted
//! hashes is looked up sequentially, and blocks close to each other are read together: a large batch becomes one scan of
//! the file, a small one a few reads.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::error::{Result, corrupt};
use crate::file::blocks::{BlockReader, BlockWriter, records_per_block};
use crate::manifest::FileEntry;

const RECORD_BYTES: usize = 12;
const ENTRIES_PER_BLOCK: usize = records_per_block(RECORD_BYTES);

/// Maximum index of unneeded blocks in one read; reading them is cheaper than another read.
const GAP_BLOCKS: usize = 4;
/// Maximum index of blocks per read.
const SPAN_BLOCKS: usize = 64;

/// Hash of a URL and its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunEntry {
    pub(super) hash: u64,
    pub(super) page: u32,
}

/// Hash to look up.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookupKey {
    pub(super) hash: u64,
    /// Value by which the caller identifies the key.
    pub(super) slot: u32,
}

/// Run, open for reading.
#[derive(Debug)]
pub(super) struct Run {
    file: BlockReader,
    entry: FileEntry,
    entries: u64,
    block_keys: Vec<u64>,
}

/// Writer of a run; the entries must be sorted.
pub(super) struct RunWriter {
    file: BlockWriter,
    entries: usize,
    block_keys: Vec<u64>,
}

impl RunWriter {
    pub(super) fn create(dir: &Path, name: &str) -> Result<RunWriter> {
        Ok(RunWriter {
            file: BlockWriter::create(dir, name, RECORD_BYTES)?,
            entries: 0,
            block_keys: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, entry: RunEntry) -> Result<()> {
        if self.entries.is_multiple_of(ENTRIES_PER_BLOCK) {
            self.block_keys.push(entry.hash);
        }
        self.entries += 1;
        self.file.push(&record(entry))
    }

    pub(super) fn finish(mut self) -> Result<FileEntry> {
        for (block, &hash) in self.block_keys.iter().enumerate() {
            self.file.push(&record(RunEntry { hash, page: block as u32 }))?;
        }
        self.file.finish()
    }
}

impl Run {
    pub(super) fn open(dir: &Path, entry: &FileEntry) -> Result<Run> {
        let file = BlockReader::open(dir, entry, RECORD_BYTES)?;
        // With b blocks there are more than (b - 1) * per block entries, and at most b * per block.
        let block_count = file.records().div_ceil(ENTRIES_PER_BLOCK as u64 + 1);
        let entries = file.records() - block_count;
        let first_block = entries / ENTRIES_PER_BLOCK as u64;
        let mut records = Vec::new();
        file.read_blocks(first_block, file.blocks() - first_block, &mut records)?;
        let skipped = (entries % ENTRIES_PER_BLOCK as u64) as usize;
        let block_keys = (skipped..records.len() / RECORD_BYTES).map(|index| entry_at(&records, index));
        let mut hashes = Vec::with_capacity(block_count as usize);
        for (block, block_key) in block_keys.enumerate() {
            if block_key.page as usize != block {
                return Err(corrupt(&dir.join(&entry.name), "at its end", "the block keys are out of order"));
            }
            hashes.push(block_key.hash);
        }
        Ok(Run { file, entry: entry.clone(), entries, block_keys: hashes })
    }

    /// Entry of the manifest.
    pub(super) fn file_entry(&self) -> &FileEntry {
        &self.entry
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Calls `on_found` for the sorted keys that are here, and removes them.
    pub(super) fn look_up(
        &self,
        keys: &mut Vec<LookupKey>,
        buffer: &mut Vec<u8>,
        on_found: &mut impl FnMut(LookupKey, u32),
    ) -> Result<()> {
        let mut left = 0;
        let mut at = 0;
        let mut block = 0;
        while at < keys.len() {
            block = self.block_of(keys[at].hash, block);
            let (end, last_block) = self.span(keys, at, block);
            self.read(block, last_block, buffer)?;
            let count = buffer.len() / RECORD_BYTES;
            let mut position = 0;
            for index in at..end {
                let key = keys[index];
                position = gallop(position, count, |position| hash_at(buffer, position) < key.hash);
                if position < count && hash_at(buffer, position) == key.hash {
                    on_found(key, entry_at(buffer, position).page);
                } else {
                    // Not in this run: kept at the front of the list, for the next run.
                    keys[left] = key;
                    left += 1;
                }
            }
            at = end;
            block = last_block;
        }
        keys.truncate(left);
        Ok(())
    }

    /// Replaces the content of `out` by the entries with hashes in a range, sorted.
    pub(super) fn read_range(&self, hashes: &RangeInclusive<u64>, out: &mut Vec<RunEntry>) -> Result<()> {
        let first = self.block_of(*hashes.start(), 0);
        let last = self.block_of(*hashes.end(), first);
        let mut buffer = Vec::new();
        self.read(first, last, &mut buffer)?;
        let entries = (0..buffer.len() / RECORD_BYTES).map(|index| entry_at(&buffer, index));
        out.clear();
        out.extend(entries.filter(|entry| hashes.contains(&entry.hash)));
        Ok(())
    }

    /// Block that has a hash, if any; not before `from`.
    fn block_of(&self, hash: u64, from: usize) -> usize {
        gallop(from, self.block_keys.len(), |block| self.block_keys[block] <= hash)
            .saturating_sub(1)
            .max(from)
    }

    /// End of the keys from `at` on that are looked up with one read from `first_block`, and the last block of the read.
    fn span(&self, keys: &[LookupKey], at: usize, first_block: usize) -> (usize, usize) {
        let mut last_block = first_block;
        for (index, key) in keys.iter().enumerate().skip(at + 1) {
            let block = self.block_of(key.hash, last_block);
            if block > last_block + GAP_BLOCKS || block >= first_block + SPAN_BLOCKS {
                return (index, last_block);
            }
            last_block = block;
        }
        (keys.len(), last_block)
    }

    /// Reads the entries of some blocks, without the block keys after them.
    fn read(&self, first_block: usize, last_block: usize, out: &mut Vec<u8>) -> Result<()> {
        self.file.read_blocks(first_block as u64, (last_block - first_block + 1) as u64, out)?;
        let entries = self.entries as usize - first_block * ENTRIES_PER_BLOCK;
        out.truncate(entries * RECORD_BYTES);
        Ok(())
    }
}

/// Galloping search: the first index from `from` on that is not `less`, or `end`, in time logarithmic to the distance.
pub(super) fn gallop(from: usize, end: usize, less: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    let mut low = from;
    while low < end && less(low) {
        if low + step >= end || !less(low + step) {
            let high = (low + step).min(end);
            return partition_point(low + 1, high, less);
        }
        low += step;
        step *= 2;
    }
    low
}

fn partition_point(mut low: usize, mut high: usize, less: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low.midpoint(high);
        if less(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn record(entry: RunEntry) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&entry.hash.to_le_bytes());
    record[8..].copy_from_slice(&entry.page.to_le_bytes());
    record
}

fn hash_at(records: &[u8], index: usize) -> u64 {
    let hash = records[index * RECORD_BYTES..].first_chunk();
    u64::from_le_bytes(*hash.unwrap_or(&[0; 8]))
}

fn entry_at(records: &[u8], index: usize) -> RunEntry {
    let page = records[index * RECORD_BYTES + 8..].first_chunk();
    RunEntry { hash: hash_at(records, index), page: u32::from_le_bytes(*page.unwrap_or(&[0; 4])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(dir: &Path, entries: &[RunEntry]) -> Run {
        let mut writer = RunWriter::create(dir, "run").unwrap();
        entries.iter().for_each(|&entry| writer.push(entry).unwrap());
        Run::open(dir, &writer.finish().unwrap()).unwrap()
    }

    fn some(count: u32) -> Vec<RunEntry> {
        let mut entries: Vec<RunEntry> = (0..count)
            .map(|page| RunEntry {
                hash: (u64::from(page) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !1,
                page,
            })
            .collect();
        entries.sort_unstable();
        entries
    }

    #[test]
    fn a_batch_finds_existing_hashes_and_keeps_the_others() {
        let dir = tempfile::tempdir().unwrap();
        for count in [1, 2, 1364, 1365, 1366, 2730, 2731, 300_000] {
            let entries = some(count);
            let run = written(dir.path(), &entries);
            assert_eq!(run.entries(), u64::from(count));
            for step in [1, 7, 997, 60_000] {
                let requested: Vec<&RunEntry> = entries.iter().step_by(step).collect();
                // Even hashes exist, odd ones do not.
                let mut keys: Vec<LookupKey> = requested
                    .iter()
                    .flat_map(|entry| [entry.hash, entry.hash + 1])
                    .chain([u64::MAX])
                    .map(|hash| LookupKey { hash, slot: 0 })
                    .collect();
                let mut found = Vec::new();
                let mut record = |key: LookupKey, page| found.push(RunEntry { hash: key.hash, page });
                run.look_up(&mut keys, &mut Vec::new(), &mut record).unwrap();
                assert!(found.iter().eq(requested.iter().copied()), "every {step} of {count}");
                assert!(
                    keys.iter()
                        .map(|key| key.hash)
                        .eq(requested.iter().map(|entry| entry.hash + 1).chain([u64::MAX]))
                );
            }
        }
    }

    #[test]
    fn ranges_cover_a_run_without_overlap() {
        let dir = tempfile::tempdir().unwrap();
        let entries = some(20_000);
        let run = written(dir.path(), &entries);
        let mut all = Vec::new();
        let mut part = Vec::new();
        for top in 0..16_u64 {
            run.read_range(&(top << 60..=top << 60 | u64::MAX >> 4), &mut part).unwrap();
            all.extend_from_slice(&part);
        }
        assert_eq!(all, entries);
    }

    #[test]
    fn galloping_search_equals_binary_search() {
        let numbers = [1, 3, 3, 5, 8, 13, 21, 34, 55, 89, 144];
        for from in 0..=numbers.len() {
            for limit in 0..150 {
                let plain = from + numbers[from..].partition_point(|&index| index < limit);
                assert_eq!(gallop(from, numbers.len(), |at| numbers[at] < limit), plain);
            }
        }
    }
}
