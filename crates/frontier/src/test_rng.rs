//! Deterministic random numbers for tests.

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct TestRng(pub(crate) u64);

impl TestRng {
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Uniform from 0 to 1, excluding 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed: time to the next event of a Poisson process.
    pub(crate) fn exponential(&mut self, rate: f64) -> f64 {
        -(-self.uniform()).ln_1p() / rate
    }

    /// Normally distributed (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.exponential(1.0)).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next_u64() % bound as u64) as usize
    }
}
