//! Encoder of successor lists, by what they share with the lists before them.
//!
//! The greedy reference choice of Boldi and Vigna ("The WebGraph framework I: compression techniques", 2004): of the
//! lists in the window that are not at the end of a reference chain of maximum length, the one that gives the shortest
//! code. Successors that are not copied from it are written as intervals of consecutive numbers, and the rest as gaps.

use super::format::{MAX_REF_COUNT, MIN_INTERVAL_LENGTH, WINDOW};
use crate::graph::bit_codes::{BitWriter, Bits, gamma_bits, int_to_nat, zeta_bits};

/// Encodes consecutive nodes; no list before the first of them is referenced.
pub(crate) struct Encoder {
    node: u32,
    first: u32,
    bits: BitWriter,
    /// The last lists, by node modulo their number.
    recent: [RecentList; WINDOW + 1],
    candidate: ListEncoding,
    best: ListEncoding,
    /// Length of each list in bits.
    lengths: Vec<u32>,
}

#[derive(Debug, Default)]
struct RecentList {
    successors: Vec<u32>,
    /// Length of the reference chain of the list.
    references: u32,
}

/// An encoded chunk.
pub(crate) struct Encoded {
    pub(crate) bits: Bits,
    /// Length of each list in bits.
    pub(crate) lengths: Vec<u32>,
}

impl Encoder {
    pub(crate) fn new(first: u32) -> Encoder {
        Encoder {
            node: first,
            first,
            bits: BitWriter::default(),
            recent: Default::default(),
            candidate: ListEncoding::default(),
            best: ListEncoding::default(),
            lengths: Vec::new(),
        }
    }

    /// Appends the next node; its successors ascend.
    pub(crate) fn push(&mut self, successors: &[u32]) {
        let start = self.bits.length();
        let slot = self.node as usize % (WINDOW + 1);
        self.recent[slot].successors.clear();
        self.recent[slot].successors.extend_from_slice(successors);
        self.recent[slot].references = 0;
        self.bits.gamma(successors.len() as u64);
        if !successors.is_empty() {
            let reference = self.choose(slot);
            if reference > 0 {
                let chain = self.recent[(self.node - reference) as usize % (WINDOW + 1)].references;
                self.recent[slot].references = chain + 1;
            }
            self.best.write(self.node, reference, &mut self.bits);
        }
        self.lengths.push((self.bits.length() - start) as u32);
        self.node += 1;
    }

    pub(crate) fn finish(self) -> Encoded {
        Encoded { bits: self.bits.finish(), lengths: self.lengths }
    }

    /// Sets `best` to the shortest encoding of the list in this slot, and returns the distance of its reference, 0 for
    /// none.
    fn choose(&mut self, slot: usize) -> u32 {
        let Encoder { node, first, recent, candidate, best, .. } = self;
        let successors = &recent[slot].successors;
        best.compute(successors, &[]);
        let (mut chosen, mut min_bits) = (0, best.bits(*node, 0));
        for back in 1..=(WINDOW as u32).min(*node - *first) {
            let reference = &recent[(*node - back) as usize % (WINDOW + 1)];
            if reference.successors.is_empty() || reference.references >= MAX_REF_COUNT {
                continue;
            }
            candidate.compute(successors, &reference.successors);
            let bits = candidate.bits(*node, back);
            if bits < min_bits {
                (chosen, min_bits) = (back, bits);
                std::mem::swap(candidate, best);
            }
        }
        chosen
    }
}

/// One way to encode a list.
#[derive(Debug, Default)]
struct ListEncoding {
    /// Lengths of the blocks of the reference, alternately copied and skipped.
    blocks: Vec<u32>,
    /// Successors that are not copied.
    extras: Vec<u32>,
    /// First number and length of each interval.
    intervals: Vec<(u32, u32)>,
    residuals: Vec<u32>,
}

impl ListEncoding {
    fn compute(&mut self, successors: &[u32], reference: &[u32]) {
        self.blocks.clear();
        self.extras.clear();
        self.copy(successors, reference);
        self.intervals.clear();
        self.residuals.clear();
        self.split_extras();
    }

    /// Determines the blocks that can be copied.
    fn copy(&mut self, successors: &[u32], reference: &[u32]) {
        let (mut own, mut other) = (0, 0);
        let (mut block, mut copying) = (0, true);
        while own < successors.len() && other < reference.len() {
            let (own_value, reference_value) = (successors[own], reference[other]);
            if own_value < reference_value {
                self.extras.push(own_value);
                own += 1;
            } else if (own_value == reference_value) == copying {
                // The block continues: copied or skipped.
                own += usize::from(copying);
                other += 1;
                block += 1;
            } else {
                self.blocks.push(block);
                (block, copying) = (0, !copying);
            }
        }
        // The last block is implicit, unless copying stops before the end of the reference.
        if copying && other < reference.len() {
            self.blocks.push(block);
        }
        self.extras.extend_from_slice(&successors[own..]);
    }

    /// Splits the successors that are not copied into intervals and residuals.
    fn split_extras(&mut self) {
        let mut rest = &self.extras[..];
        while let Some(&left) = rest.first() {
            let run = rest.windows(2).take_while(|pair| pair[0] + 1 == pair[1]).count() + 1;
            if run >= MIN_INTERVAL_LENGTH as usize {
                self.intervals.push((left, run as u32));
            } else {
                self.residuals.extend_from_slice(&rest[..run]);
            }
            rest = &rest[run..];
        }
    }

    /// Length of the code in bits.
    fn bits(&self, node: u32, reference: u32) -> u64 {
        let mut bits = u64::from(reference) + 1;
        if reference > 0 {
            bits += gamma_bits(self.blocks.len() as u64);
            bits += self.block_codes().map(gamma_bits).sum::<u64>();
        }
        if !self.extras.is_empty() {
            bits += gamma_bits(self.intervals.len() as u64);
            self.interval_codes(node, |code| bits += gamma_bits(code));
            self.residual_codes(node, |code| bits += zeta_bits(code));
        }
        bits
    }

    fn write(&self, node: u32, reference: u32, out: &mut BitWriter) {
        out.unary(u64::from(reference));
        if reference > 0 {
            out.gamma(self.blocks.len() as u64);
            self.block_codes().for_each(|code| out.gamma(code));
        }
        if !self.extras.is_empty() {
            out.gamma(self.intervals.len() as u64);
            self.interval_codes(node, |code| out.gamma(code));
            self.residual_codes(node, |code| out.zeta(code));
        }
    }

    /// Codes of the blocks. Only the first block can be empty.
    fn block_codes(&self) -> impl Iterator<Item = u64> {
        self.blocks.iter().enumerate().map(|(index, block)| u64::from(*block) - u64::from(index > 0))
    }

    fn interval_codes(&self, node: u32, mut f: impl FnMut(u64)) {
        let mut end = None;
        for &(left, length) in &self.intervals {
            f(match end {
                None => int_to_nat(i64::from(left) - i64::from(node)),
                Some(end) => u64::from(left - end) - 1,
            });
            f(u64::from(length - MIN_INTERVAL_LENGTH));
            end = Some(left + length);
        }
    }

    fn residual_codes(&self, node: u32, mut f: impl FnMut(u64)) {
        let mut last = None;
        for &residual in &self.residuals {
            f(match last {
                None => int_to_nat(i64::from(residual) - i64::from(node)),
                Some(last) => u64::from(residual - last) - 1,
            });
            last = Some(residual);
        }
    }
}
