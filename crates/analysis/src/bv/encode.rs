//! How does a list of successors become few bits? By what it shares with the lists just before.
//!
//! The greedy reference choice of Boldi and Vigna ("The WebGraph framework I: compression techniques", 2004): of the
//! lists in the window that are not at the end of too long a chain, the one that gives the shortest code. What is not
//! copied from it is written as intervals of consecutive numbers and, the rest, as gaps.

use super::{LEAST_INTERVAL, MOST_REFERENCES, WINDOW};
use crate::bits::{BitWriter, Bits, gamma_bits, natural, zeta_bits};

/// Encodes consecutive nodes; nothing before the first of them is referred to.
pub(crate) struct Encoder {
    node: u32,
    first: u32,
    bits: BitWriter,
    /// The last lists, by node modulo their number.
    recent: [Recent; WINDOW + 1],
    plan: Plan,
    best: Plan,
    /// Bits of each node.
    lengths: Vec<u32>,
}

#[derive(Debug, Default)]
struct Recent {
    successors: Vec<u32>,
    /// How many lists must be decoded before this one.
    references: u32,
}

/// A piece of a graph, encoded.
pub(crate) struct Encoded {
    pub(crate) bits: Bits,
    /// Bits of each node.
    pub(crate) lengths: Vec<u32>,
}

impl Encoder {
    pub(crate) fn new(first: u32) -> Encoder {
        Encoder {
            node: first,
            first,
            bits: BitWriter::default(),
            recent: Default::default(),
            plan: Plan::default(),
            best: Plan::default(),
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

    /// Makes `best` the shortest way to write the list in this slot; tells how far back it refers, 0 for not at all.
    fn choose(&mut self, slot: usize) -> u32 {
        let Encoder { node, first, recent, plan, best, .. } = self;
        let successors = &recent[slot].successors;
        best.make(successors, &[]);
        let (mut chosen, mut least_bits) = (0, best.bits(*node, 0));
        for back in 1..=(WINDOW as u32).min(*node - *first) {
            let candidate = &recent[(*node - back) as usize % (WINDOW + 1)];
            if candidate.successors.is_empty() || candidate.references >= MOST_REFERENCES {
                continue;
            }
            plan.make(successors, &candidate.successors);
            let bits = plan.bits(*node, back);
            if bits < least_bits {
                (chosen, least_bits) = (back, bits);
                std::mem::swap(plan, best);
            }
        }
        chosen
    }
}

/// One way to write a list.
#[derive(Debug, Default)]
struct Plan {
    /// Lengths of the parts of the reference that are copied and skipped, by turns.
    blocks: Vec<u32>,
    /// What is not copied.
    extras: Vec<u32>,
    /// First number and length.
    intervals: Vec<(u32, u32)>,
    residuals: Vec<u32>,
}

impl Plan {
    fn make(&mut self, successors: &[u32], reference: &[u32]) {
        self.blocks.clear();
        self.extras.clear();
        self.copy(successors, reference);
        self.intervals.clear();
        self.residuals.clear();
        self.split_extras();
    }

    /// Finds what can be copied.
    fn copy(&mut self, successors: &[u32], reference: &[u32]) {
        let (mut own, mut other) = (0, 0);
        let (mut block, mut copying) = (0, true);
        while own < successors.len() && other < reference.len() {
            let (wanted, offered) = (successors[own], reference[other]);
            if wanted < offered {
                self.extras.push(wanted);
                own += 1;
            } else if (wanted == offered) == copying {
                // Copied, or skipped.
                own += usize::from(copying);
                other += 1;
                block += 1;
            } else {
                self.blocks.push(block);
                (block, copying) = (0, !copying);
            }
        }
        // The last block goes without saying, unless copying ends before the reference does.
        if copying && other < reference.len() {
            self.blocks.push(block);
        }
        self.extras.extend_from_slice(&successors[own..]);
    }

    /// Parts what is not copied into intervals and residuals.
    fn split_extras(&mut self) {
        let mut rest = &self.extras[..];
        while let Some(&left) = rest.first() {
            let run = rest.windows(2).take_while(|pair| pair[0] + 1 == pair[1]).count() + 1;
            if run >= LEAST_INTERVAL as usize {
                self.intervals.push((left, run as u32));
            } else {
                self.residuals.extend_from_slice(&rest[..run]);
            }
            rest = &rest[run..];
        }
    }

    /// How many bits it takes.
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

    /// Only the first block may be empty.
    fn block_codes(&self) -> impl Iterator<Item = u64> {
        self.blocks.iter().enumerate().map(|(index, block)| u64::from(*block) - u64::from(index > 0))
    }

    fn interval_codes(&self, node: u32, mut each: impl FnMut(u64)) {
        let mut end = None;
        for &(left, length) in &self.intervals {
            each(match end {
                None => natural(i64::from(left) - i64::from(node)),
                Some(end) => u64::from(left - end) - 1,
            });
            each(u64::from(length - LEAST_INTERVAL));
            end = Some(left + length);
        }
    }

    fn residual_codes(&self, node: u32, mut each: impl FnMut(u64)) {
        let mut last = None;
        for &residual in &self.residuals {
            each(match last {
                None => natural(i64::from(residual) - i64::from(node)),
                Some(last) => u64::from(residual - last) - 1,
            });
            last = Some(residual);
        }
    }
}
