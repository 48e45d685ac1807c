//! Keyed random numbers: values depend on a key alone, so that the same seed gives the same experiment, independent of
//! the order of use.

/// Sequence of values from one key: SplitMix64 (Steele, Lea, Flood 2014). Not cryptographic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyedRandom(u64);

impl KeyedRandom {
    /// Creates the sequence of a seed, a domain (kind of use) and a number.
    pub(crate) fn new(seed: u64, domain: u64, number: u64) -> KeyedRandom {
        let mut random = KeyedRandom(seed ^ 0x7369_6d75_6c61_7465);
        random.0 = random.bits() ^ domain.wrapping_mul(0xd6e8_feb8_6659_fd93);
        random.0 = random.bits() ^ number;
        random.bits();
        random
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `(0, 1]`.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box-Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The time to the next event of a Poisson process, in the unit of its rate.
    pub(crate) fn wait(&mut self, rate: f64) -> f64 {
        -self.unit().ln() / rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_expected_moments() {
        let n = 50_000;
        let mean = |draw: &dyn Fn(&mut KeyedRandom) -> f64| {
            (0..n).map(|number| draw(&mut KeyedRandom::new(7, 1, number))).sum::<f64>() / n as f64
        };
        assert!((mean(&KeyedRandom::unit) - 0.5).abs() < 0.01);
        assert!(mean(&KeyedRandom::normal).abs() < 0.02);
        assert!((mean(&|random| random.normal().powi(2)) - 1.0).abs() < 0.03);
        assert!((mean(&|random| random.wait(4.0)) - 0.25).abs() < 0.01);
    }
}
