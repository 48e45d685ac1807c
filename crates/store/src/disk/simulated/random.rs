//! Deterministic random numbers (SplitMix64).

/// Generator of random numbers from a seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next_u64() % end as u64) as usize }
    }

    /// Returns true once in `times` calls on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
