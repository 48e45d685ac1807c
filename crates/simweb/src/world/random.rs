//! Deterministic random numbers by keyed hashing.
//!
//! A [`KeyedRandom`] is a node in a tree of hashes below the seed. Properties of sites and pages can therefore be
//! computed in any order and are never stored. The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood
//! 2014). Not for cryptography.

/// Random value with a key: the same path of keys from the same seed gives the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyedRandom(u64);

impl KeyedRandom {
    pub(crate) fn seed(seed: u64) -> KeyedRandom {
        KeyedRandom(mix(seed ^ 0x5745_4952_5349_4d57))
    }

    /// Returns the child with this key.
    #[inline]
    pub(crate) fn child(self, key: u64) -> KeyedRandom {
        KeyedRandom(mix(self.0 ^ key.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x2545_f491_4f6c_dd1d)))
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// Number in `[0, 1)`.
    #[inline]
    pub(crate) fn unit(self) -> f64 {
        (self.0 >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Number in `[0, n)`; 0 if `n` is 0.
    #[inline]
    pub(crate) fn below(self, n: u64) -> u64 {
        ((u128::from(self.0) * u128::from(n)) >> 64) as u64
    }

    #[inline]
    pub(crate) fn chance(self, share: f64) -> bool {
        self.unit() < share
    }

    /// Rank in `[0, n)` with a probability approximately proportional to 1/(rank + 1): inversion of the continuous
    /// form of Zipf's law.
    #[inline]
    pub(crate) fn zipf(self, n: u64) -> u64 {
        let rank = ((n as f64 + 1.0).log2() * self.unit()).exp2() - 1.0;
        (rank as u64).min(n.saturating_sub(1))
    }

    /// Standard normal number (Box and Muller).
    pub(crate) fn normal(self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.child(1).unit()).cos()
    }

    pub(crate) fn stream(self) -> Stream {
        Stream(self.0)
    }
}

/// Sequence of values from one key, for places where a key for each value would be too slow.
pub(crate) struct Stream(u64);

impl Stream {
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Selects one of several exclusive kinds by their shares; `None` for the remaining share.
pub(crate) fn one_of<T: Copy>(random: KeyedRandom, kinds: &[(f64, T)]) -> Option<T> {
    let mut left = random.unit();
    for &(share, kind) in kinds {
        if left < share {
            return Some(kind);
        }
        left -= share;
    }
    None
}

pub(crate) fn pick<T: Copy>(random: KeyedRandom, share: f64, kinds: &[T]) -> Option<T> {
    random.chance(share).then(|| kinds[random.child(1).below(kinds.len() as u64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_n_are_uniformly_distributed() {
        let mut counts = [0u32; 10];
        for i in 0..100_000 {
            counts[KeyedRandom::seed(7).child(i).below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
    }

    #[test]
    fn zipf_ranks_are_proportional_to_one_over_rank() {
        let mut counts = [0f64; 1000];
        for i in 0..1_000_000 {
            counts[KeyedRandom::seed(3).child(i).zipf(1000) as usize] += 1.0;
        }
        let tail = |from: usize, to: usize| counts[from..to].iter().sum::<f64>();
        let ratio = tail(10, 20) / tail(100, 200);
        assert!((0.9..1.1).contains(&ratio), "each decade of ranks is selected equally often: {ratio}");
        assert_eq!(KeyedRandom::seed(3).zipf(0), 0);
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_deviation_one() {
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|i| KeyedRandom::seed(5).child(i).normal()).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
