//! Content of a simulated file: the cached bytes that processes see, and the durable bytes that a power cut leaves.
//!
//! A write changes the cache and marks blocks as dirty. A sync makes the dirty blocks and the length durable. After a
//! failed sync the blocks are clean in the cache, as on Linux, and still not durable: a later sync does not write them.

use std::collections::BTreeSet;

use super::random::Random;

/// Size of a block, the unit in which a disk loses writes.
const BLOCK_BYTES: usize = 4 << 10;

/// Bytes of a file.
#[derive(Debug, Default)]
pub(super) struct Content {
    cached: Vec<u8>,
    durable: Vec<u8>,
    /// Blocks that the next sync writes.
    dirty: BTreeSet<usize>,
    /// Blocks that a failed sync has not written.
    lost: BTreeSet<usize>,
    /// Lengths since the last sync.
    lengths: Vec<usize>,
}

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.cached
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if end > self.cached.len() {
            self.set_length(end);
        }
        self.cached[offset..end].copy_from_slice(bytes);
        self.mark(offset, end);
    }

    pub(super) fn set_length(&mut self, length: usize) {
        let (low, high) = (length.min(self.cached.len()), length.max(self.cached.len()));
        if low == high {
            return;
        }
        self.cached.resize(length, 0);
        self.lengths.push(length);
        // The rest of the last block becomes zero, and so does everything in between.
        self.mark(low, high.min(low.next_multiple_of(BLOCK_BYTES)).max(length));
        let blocks = length.div_ceil(BLOCK_BYTES);
        self.dirty.retain(|block| *block < blocks);
        self.lost.retain(|block| *block < blocks);
    }

    pub(super) fn sync(&mut self) {
        self.durable.resize(self.cached.len(), 0);
        for block in std::mem::take(&mut self.dirty) {
            self.lost.remove(&block);
            copy_block(&self.cached, &mut self.durable, block);
        }
        self.lengths.clear();
    }

    /// Fails to sync: some blocks are written, the others are lost.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        for block in std::mem::take(&mut self.dirty) {
            if random.one_in(2) && block * BLOCK_BYTES < self.durable.len() {
                copy_block(&self.cached, &mut self.durable, block);
            } else {
                self.lost.insert(block);
            }
        }
    }

    /// Loses bytes that are not durable: all of them, none, all after some block, or randomly chosen blocks.
    pub(super) fn cut_power(&mut self, random: &mut Random) {
        let candidates = [self.durable.len(), self.cached.len()];
        self.lengths.extend(candidates);
        let length = match random.below(4) {
            0 => candidates[random.below(2)],
            1 => self.lengths[random.below(self.lengths.len())],
            _ => {
                let low = self.lengths.iter().copied().min().unwrap_or(0);
                let high = self.lengths.iter().copied().max().unwrap_or(0);
                low + random.below(high - low + 1)
            }
        };
        let mut content = std::mem::take(&mut self.durable);
        content.resize(length, 0);
        let mut undurable = std::mem::take(&mut self.dirty);
        undurable.append(&mut self.lost);
        let kept = match random.below(4) {
            0 => 0,
            1 => undurable.len(),
            _ => random.below(undurable.len() + 1),
        };
        let (any, is_torn) = (random.one_in(2), random.one_in(2));
        for (index, block) in undurable.into_iter().enumerate() {
            if if any { random.one_in(2) } else { index < kept } {
                copy_block(&self.cached, &mut content, block);
            } else if is_torn && !any && index == kept {
                // A part of the next block is written.
                let start = block * BLOCK_BYTES;
                let end = (start + random.below(BLOCK_BYTES)).min(self.cached.len()).min(content.len());
                if start < end {
                    content[start..end].copy_from_slice(&self.cached[start..end]);
                }
            }
        }
        self.lengths.clear();
        self.durable.clone_from(&content);
        self.cached = content;
    }

    fn mark(&mut self, start: usize, end: usize) {
        self.dirty.extend(start / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES));
    }
}

/// Copies the part of a block that both have.
fn copy_block(from: &[u8], to: &mut [u8], block: usize) {
    let start = block * BLOCK_BYTES;
    let end = (start + BLOCK_BYTES).min(from.len()).min(to.len());
    if start < end {
        to[start..end].copy_from_slice(&from[start..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_leaves_what_was_synced() {
        for seed in 0..200 {
            let mut content = Content::default();
            content.write(0, &[1; 10_000]);
            content.sync();
            content.write(10_000, &[2; 30_000]);
            content.cut_power(&mut Random::new(seed));
            assert!(content.bytes().len() >= 10_000);
            assert!(content.bytes()[..10_000].iter().all(|byte| *byte == 1), "seed {seed}");
        }
    }

    #[test]
    fn a_power_cut_loses_any_part_of_what_was_not_synced() {
        let outcomes: BTreeSet<Vec<u8>> = (0..1_000)
            .map(|seed| {
                let mut content = Content::default();
                content.write(0, &[1; 20_000]);
                content.cut_power(&mut Random::new(seed));
                content.bytes().to_vec()
            })
            .collect();
        assert!(outcomes.contains(&Vec::new()) && outcomes.contains(&vec![1; 20_000]));
        assert!(outcomes.contains(&vec![0; 20_000]), "extended and not written");
        assert!(outcomes.len() > 50, "{} outcomes", outcomes.len());
    }

    #[test]
    fn a_sync_after_a_failed_one_does_not_write_what_that_one_lost() {
        let lost = (0..50).filter(|seed| {
            let mut content = Content::default();
            content.write(0, &[1; 10_000]);
            content.fail_sync(&mut Random::new(*seed));
            content.sync();
            assert_eq!(content.bytes(), [1; 10_000], "the cache still has it");
            content.cut_power(&mut Random::new(*seed));
            content.bytes() != [1; 10_000]
        });
        assert!(lost.count() > 10);
    }

    #[test]
    fn a_truncated_file_is_extended_with_zeros() {
        let mut content = Content::default();
        content.write(0, &[1; 10_000]);
        content.sync();
        content.set_length(5_000);
        content.set_length(9_000);
        content.sync();
        content.cut_power(&mut Random::new(1));
        assert_eq!(content.bytes(), [vec![1; 5_000], vec![0; 4_000]].concat());
    }
}
