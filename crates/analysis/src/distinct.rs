//! How many different things were met? A HyperLogLog counter (Flajolet et al. 2007), with counting by empty registers
//! while most are empty.
//!
//! A thing is hashed to 64 bits: the lower ones choose a register, and that keeps the largest number of zeros, and one
//! more, with which the others ended. The union of two counters is the larger of each two registers.

use xxhash_rust::xxh3::xxh3_64;

/// A counter of different things. With 2^14 registers it takes 16 KB, and its standard error is 0.8 %.
#[derive(Debug, Clone)]
pub struct Distinct {
    registers: Vec<u8>,
}

const LOG2_REGISTERS: u32 = 14;

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct { registers: vec![0; 1 << LOG2_REGISTERS] }
    }
}

impl Distinct {
    /// Counts a text.
    pub fn add(&mut self, text: &str) {
        note(&mut self.registers, xxh3_64(text.as_bytes()));
    }

    /// Counts a number.
    pub fn add_number(&mut self, number: u64) {
        note(&mut self.registers, mix(number));
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: &Distinct) {
        unite(&mut self.registers, &other.registers);
    }

    /// About how many different ones there were.
    pub fn estimate(&self) -> f64 {
        estimate(&self.registers)
    }
}

/// Notes a hash in a counter, whose length is a power of two.
#[inline]
pub(crate) fn note(counter: &mut [u8], hash: u64) {
    let log2 = counter.len().trailing_zeros();
    let rest = hash >> log2 | 1 << (64 - log2);
    let register = &mut counter[hash as usize & ((1 << log2) - 1)];
    *register = (*register).max(rest.trailing_zeros() as u8 + 1);
}

/// Makes a counter that of both.
#[inline]
pub(crate) fn unite(counter: &mut [u8], other: &[u8]) {
    counter.iter_mut().zip(other).for_each(|(mine, other)| *mine = (*mine).max(*other));
}

/// The number of different things in a counter.
pub(crate) fn estimate(counter: &[u8]) -> f64 {
    let registers = counter.len() as f64;
    let bias = match counter.len() {
        ..=16 => 0.673,
        17..=32 => 0.697,
        33..=64 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / registers),
    };
    let sum: f64 = counter.iter().map(|register| f64::from_bits((1023 - u64::from(*register)) << 52)).sum();
    let raw = bias * registers * registers / sum;
    let empty = counter.iter().filter(|register| **register == 0).count();
    // Between the two ways of counting the raw estimate is too large by some per cent, which only many registers show.
    let few = if counter.len() >= 1 << 10 { 3.5 } else { 2.5 };
    if raw <= few * registers && empty > 0 { registers * (registers / empty as f64).ln() } else { raw }
}

/// SplitMix64: different numbers get unlike bits.
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_within_a_few_standard_errors() {
        for count in [0u64, 1, 2, 100, 5_000, 20_000, 40_000, 60_000, 300_000, 2_000_000] {
            let (mut texts, mut evens, mut odds) =
                (Distinct::default(), Distinct::default(), Distinct::default());
            for number in 0..count {
                texts.add(&number.to_string());
                texts.add(&number.to_string());
                let half = if number % 2 == 0 { &mut evens } else { &mut odds };
                half.add_number(number);
            }
            evens.merge(&odds);
            for found in [texts.estimate(), evens.estimate()] {
                assert!((found - count as f64).abs() <= 0.03 * count as f64, "{found} of {count}");
            }
        }
    }
}
