//! Which page has a hash? A run knows it for the pages of one or more commits: a file of (hash, page) sorted by hash.
//!
//! Behind the entries a run holds its fences, the first hash of each block, as records of the same size with the
//! block's number. They are kept in memory (0.006 bytes a page), so that any entry is one read away. A batch of
//! sorted hashes is looked up front to back, and blocks that lie close together are read at once: so a large batch
//! becomes one scan of the file and a small one a few reads, without anybody deciding which.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::blocks::{BlockReader, BlockWriter, records_per_block};
use crate::error::{Result, damaged};
use crate::manifest::FileEntry;

const RECORD_BYTES: usize = 12;
const ENTRIES_PER_BLOCK: usize = records_per_block(RECORD_BYTES);

/// To read so many blocks for nothing is cheaper than to begin another read.
const GAP_BLOCKS: usize = 4;
/// No read is longer.
const SPAN_BLOCKS: usize = 64;

/// A known page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) page: u32,
}

/// A hash that is being looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) hash: u64,
    /// Where the one who asks finds it again.
    pub(super) place: u32,
}

/// An immutable file of entries.
#[derive(Debug)]
pub(super) struct Run {
    file: BlockReader,
    entry: FileEntry,
    entries: u64,
    fences: Vec<u64>,
}

/// Writes a run; the entries must come sorted.
pub(super) struct RunWriter {
    file: BlockWriter,
    entries: usize,
    fences: Vec<u64>,
}

impl RunWriter {
    pub(super) fn create(folder: &Path, name: &str) -> Result<RunWriter> {
        Ok(RunWriter {
            file: BlockWriter::create(folder, name, RECORD_BYTES)?,
            entries: 0,
            fences: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, entry: Entry) -> Result<()> {
        if self.entries.is_multiple_of(ENTRIES_PER_BLOCK) {
            self.fences.push(entry.hash);
        }
        self.entries += 1;
        self.file.push(&record(entry))
    }

    pub(super) fn finish(mut self) -> Result<FileEntry> {
        for (block, &hash) in self.fences.iter().enumerate() {
            self.file.push(&record(Entry { hash, page: block as u32 }))?;
        }
        self.file.finish()
    }
}

impl Run {
    pub(super) fn open(folder: &Path, entry: &FileEntry) -> Result<Run> {
        let file = BlockReader::open(folder, entry, RECORD_BYTES)?;
        // With f fences there are more than (f - 1) * per block entries, and at most f * per block.
        let fence_count = file.records().div_ceil(ENTRIES_PER_BLOCK as u64 + 1);
        let entries = file.records() - fence_count;
        let first_block = entries / ENTRIES_PER_BLOCK as u64;
        let mut records = Vec::new();
        file.read_blocks(first_block, file.blocks() - first_block, &mut records)?;
        let skipped = (entries % ENTRIES_PER_BLOCK as u64) as usize;
        let fences = (skipped..records.len() / RECORD_BYTES).map(|number| entry_at(&records, number));
        let mut hashes = Vec::with_capacity(fence_count as usize);
        for (block, fence) in fences.enumerate() {
            if fence.page as usize != block {
                return Err(damaged(&folder.join(&entry.name), "at its end", "its fences are out of order"));
            }
            hashes.push(fence.hash);
        }
        Ok(Run { file, entry: entry.clone(), entries, fences: hashes })
    }

    /// How the manifest names it.
    pub(super) fn file_entry(&self) -> &FileEntry {
        &self.entry
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Calls `found` for those of the sorted hashes that are here, and leaves the others.
    pub(super) fn look_up(
        &self,
        wanted: &mut Vec<Wanted>,
        buffer: &mut Vec<u8>,
        found: &mut impl FnMut(Wanted, u32),
    ) -> Result<()> {
        let mut left = 0;
        let mut at = 0;
        let mut block = 0;
        while at < wanted.len() {
            block = self.block_of(wanted[at].hash, block);
            let (end, last_block) = self.span(wanted, at, block);
            self.read(block, last_block, buffer)?;
            let count = buffer.len() / RECORD_BYTES;
            let mut number = 0;
            for place in at..end {
                let want = wanted[place];
                number = gallop(number, count, |number| hash_at(buffer, number) < want.hash);
                if number < count && hash_at(buffer, number) == want.hash {
                    found(want, entry_at(buffer, number).page);
                } else {
                    wanted[left] = want;
                    left += 1;
                }
            }
            at = end;
            block = last_block;
        }
        wanted.truncate(left);
        Ok(())
    }

    /// Replaces the content of `out` by the entries whose hashes lie in a range, sorted.
    pub(super) fn read_range(&self, hashes: &RangeInclusive<u64>, out: &mut Vec<Entry>) -> Result<()> {
        let first = self.block_of(*hashes.start(), 0);
        let last = self.block_of(*hashes.end(), first);
        let mut buffer = Vec::new();
        self.read(first, last, &mut buffer)?;
        let entries = (0..buffer.len() / RECORD_BYTES).map(|number| entry_at(&buffer, number));
        out.clear();
        out.extend(entries.filter(|entry| hashes.contains(&entry.hash)));
        Ok(())
    }

    /// The block in which a hash is if it is here; not before `from`.
    fn block_of(&self, hash: u64, from: usize) -> usize {
        gallop(from, self.fences.len(), |block| self.fences[block] <= hash).saturating_sub(1).max(from)
    }

    /// How many hashes from `at` on are looked for in one read that begins at `first_block`, and its last block.
    fn span(&self, wanted: &[Wanted], at: usize, first_block: usize) -> (usize, usize) {
        let mut last_block = first_block;
        for (place, want) in wanted.iter().enumerate().skip(at + 1) {
            let block = self.block_of(want.hash, last_block);
            if block > last_block + GAP_BLOCKS || block >= first_block + SPAN_BLOCKS {
                return (place, last_block);
            }
            last_block = block;
        }
        (wanted.len(), last_block)
    }

    /// The entries of some blocks, without the fences that may follow them.
    fn read(&self, first_block: usize, last_block: usize, out: &mut Vec<u8>) -> Result<()> {
        self.file.read_blocks(first_block as u64, (last_block - first_block + 1) as u64, out)?;
        let entries = self.entries as usize - first_block * ENTRIES_PER_BLOCK;
        out.truncate(entries * RECORD_BYTES);
        Ok(())
    }
}

/// The first number from `from` on that is not `less`, or `end`: in time logarithmic to the distance.
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

fn record(entry: Entry) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&entry.hash.to_le_bytes());
    record[8..].copy_from_slice(&entry.page.to_le_bytes());
    record
}

fn hash_at(records: &[u8], number: usize) -> u64 {
    let hash = records[number * RECORD_BYTES..].first_chunk();
    u64::from_le_bytes(*hash.unwrap_or(&[0; 8]))
}

fn entry_at(records: &[u8], number: usize) -> Entry {
    let page = records[number * RECORD_BYTES + 8..].first_chunk();
    Entry { hash: hash_at(records, number), page: u32::from_le_bytes(*page.unwrap_or(&[0; 4])) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, entries: &[Entry]) -> Run {
        let mut writer = RunWriter::create(folder, "run").unwrap();
        entries.iter().for_each(|&entry| writer.push(entry).unwrap());
        Run::open(folder, &writer.finish().unwrap()).unwrap()
    }

    fn some(count: u32) -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..count)
            .map(|page| Entry { hash: (u64::from(page) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !1, page })
            .collect();
        entries.sort_unstable();
        entries
    }

    #[test]
    fn a_batch_finds_what_is_here_and_keeps_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        for count in [1, 2, 1364, 1365, 1366, 2730, 2731, 300_000] {
            let entries = some(count);
            let run = written(folder.path(), &entries);
            assert_eq!(run.entries(), u64::from(count));
            for step in [1, 7, 997, 60_000] {
                let asked: Vec<&Entry> = entries.iter().step_by(step).collect();
                // An even hash is here, and its odd neighbour is not.
                let mut wanted: Vec<Wanted> = asked
                    .iter()
                    .flat_map(|entry| [entry.hash, entry.hash + 1])
                    .chain([u64::MAX])
                    .map(|hash| Wanted { hash, place: 0 })
                    .collect();
                let mut found = Vec::new();
                let mut note = |want: Wanted, page| found.push(Entry { hash: want.hash, page });
                run.look_up(&mut wanted, &mut Vec::new(), &mut note).unwrap();
                assert!(found.iter().eq(asked.iter().copied()), "every {step} of {count}");
                assert!(
                    wanted
                        .iter()
                        .map(|want| want.hash)
                        .eq(asked.iter().map(|entry| entry.hash + 1).chain([u64::MAX]))
                );
            }
        }
    }

    #[test]
    fn ranges_cover_a_run_without_overlap() {
        let folder = tempfile::tempdir().unwrap();
        let entries = some(20_000);
        let run = written(folder.path(), &entries);
        let mut all = Vec::new();
        let mut part = Vec::new();
        for top in 0..16_u64 {
            run.read_range(&(top << 60..=top << 60 | u64::MAX >> 4), &mut part).unwrap();
            all.extend_from_slice(&part);
        }
        assert_eq!(all, entries);
    }

    #[test]
    fn galloping_finds_what_a_plain_search_finds() {
        let numbers = [1, 3, 3, 5, 8, 13, 21, 34, 55, 89, 144];
        for from in 0..=numbers.len() {
            for limit in 0..150 {
                let plain = from + numbers[from..].partition_point(|&number| number < limit);
                assert_eq!(gallop(from, numbers.len(), |at| numbers[at] < limit), plain);
            }
        }
    }
}
