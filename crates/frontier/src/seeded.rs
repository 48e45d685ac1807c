//! Random numbers for tests, the same in each run.

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// From 0 to 1, without 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The time to the next event of a Poisson process.
    pub(crate) fn wait(&mut self, rate: f64) -> f64 {
        -(-self.share()).ln_1p() / rate
    }

    /// Normally distributed (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (2.0 * self.wait(1.0)).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }
}
