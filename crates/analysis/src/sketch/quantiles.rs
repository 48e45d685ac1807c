//! Quantiles: a sketch that rounds values and counts equal ones.
//!
//! A non-negative value is reduced to the upper bits of its binary form: 11 bits of its fraction. Whole numbers below
//! 4096 stay exact, and others become smaller by less than one part in 2048. There are at most 2048 such values per
//! doubling, so the sketch stays small for any input, and it depends neither on the order of the values nor on their
//! distribution over threads.

use std::collections::HashMap;

/// Bits of a double that are dropped: all but 11 of its fraction.
const DROPPED_BITS: u32 = 52 - 11;

/// Counts of rounded values.
#[derive(Debug, Clone, Default)]
pub struct Quantiles {
    counts: HashMap<u32, u64>,
}

/// The values in order, each with its count.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileCounts {
    /// Values and counts, ascending.
    pub values: Vec<(f64, u64)>,
}

impl Quantiles {
    /// Maximum relative error: a value is returned as itself, or smaller by at most this share.
    pub const ERROR: f64 = 1.0 / 2048.0;

    /// Counts a value; negative and non-finite values are ignored.
    pub fn add(&mut self, value: f64) {
        if value >= 0.0 && value.is_finite() {
            // Turns -0.0 into 0.0.
            let kept = (value + 0.0).to_bits() >> DROPPED_BITS;
            *self.counts.entry(kept as u32).or_default() += 1;
        }
    }

    /// Adds the counts of another sketch.
    pub fn merge(&mut self, other: &Quantiles) {
        for (kept, count) in &other.counts {
            *self.counts.entry(*kept).or_default() += count;
        }
    }

    /// Returns the values in order.
    pub fn finish(&self) -> QuantileCounts {
        let value = |(kept, count): (&u32, &u64)| (f64::from_bits(u64::from(*kept) << DROPPED_BITS), *count);
        let mut values: Vec<(f64, u64)> = self.counts.iter().map(value).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        QuantileCounts { values }
    }
}

impl QuantileCounts {
    /// Number of values.
    pub fn count(&self) -> u64 {
        self.values.iter().map(|(_, count)| count).sum()
    }

    /// Smallest value such that this share of all values is not larger; none without values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let target = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reached = |(_, count): &&(f64, u64)| {
            below += count;
            below >= target
        };
        self.values.iter().find(reached).or(self.values.last()).map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_equal_those_of_a_sort_within_the_error(
            values in prop::collection::vec(prop_oneof![(0u32..5000).prop_map(f64::from), 0f64..1e-6, 0f64..1e15], 1..120),
            share in 0f64..=1.0,
            cut in 0usize..120,
        ) {
            let (mut first, mut second) = (Quantiles::default(), Quantiles::default());
            let cut = cut.min(values.len());
            values[..cut].iter().for_each(|value| first.add(*value));
            values[cut..].iter().for_each(|value| second.add(*value));
            first.merge(&second);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let index = ((share * values.len() as f64).ceil() as usize).max(1) - 1;
            let found = first.finish();
            prop_assert_eq!(found.count(), values.len() as u64);
            let (found, target) = (found.quantile(share).unwrap(), sorted[index]);
            prop_assert!(found <= target && found >= target * (1.0 - Quantiles::ERROR), "{} {}", found, target);
            prop_assert!(target >= 4096.0 || target.fract() != 0.0 || found == target);
        }
    }

    #[test]
    fn the_sketch_of_many_values_is_small() {
        let mut quantiles = Quantiles::default();
        (0..1_000_000).for_each(|value| quantiles.add(f64::from(value)));
        [f64::NAN, -1.0, f64::INFINITY].into_iter().for_each(|value| quantiles.add(value));
        let spread = quantiles.finish();
        assert!(spread.values.len() < 21 * 2048 && spread.count() == 1_000_000);
        assert_eq!(Quantiles::default().finish().quantile(0.5), None);
    }
}
