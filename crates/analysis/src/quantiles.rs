//! What is the median, and how are values spread in detail? A sketch that forgets small differences, and nothing else.
//!
//! A value that is not negative is kept as the upper bits of its binary form: 11 of its fraction, so that whole numbers
//! below 4096 stay as they are, and others become smaller by less than one part in 2048. Values that are the same then are
//! counted. There are at most 2048 such values a doubling, so the sketch stays small, whatever comes; and it does not
//! depend on the order, nor on how values were shared among threads.

use std::collections::HashMap;

/// Bits of a double that are dropped: all but 11 of its fraction.
const DROPPED_BITS: u32 = 52 - 11;

/// Counts of values.
#[derive(Debug, Clone, Default)]
pub struct Quantiles {
    counts: HashMap<u32, u64>,
}

/// The values in order, each with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// From small to large.
    pub values: Vec<(f64, u64)>,
}

impl Quantiles {
    /// The largest relative error: a value is given as itself, or as less by no more than this part of it.
    pub const ERROR: f64 = 1.0 / 2048.0;

    /// Counts a value; what is negative or no number is left out.
    pub fn add(&mut self, value: f64) {
        if value >= 0.0 && value.is_finite() {
            // A negative zero is zero.
            let kept = (value + 0.0).to_bits() >> DROPPED_BITS;
            *self.counts.entry(kept as u32).or_default() += 1;
        }
    }

    /// Counts what another has counted.
    pub fn merge(&mut self, other: &Quantiles) {
        for (kept, count) in &other.counts {
            *self.counts.entry(*kept).or_default() += count;
        }
    }

    /// The values in order.
    pub fn finish(&self) -> Spread {
        let value = |(kept, count): (&u32, &u64)| (f64::from_bits(u64::from(*kept) << DROPPED_BITS), *count);
        let mut values: Vec<(f64, u64)> = self.counts.iter().map(value).collect();
        values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        Spread { values }
    }
}

impl Spread {
    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.values.iter().map(|(_, count)| count).sum()
    }

    /// The smallest value such that this share of all is not larger; none if there are no values.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = ((share * self.count() as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reached = |(_, count): &&(f64, u64)| {
            below += count;
            below >= wanted
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
        fn quantiles_are_those_of_a_sort_within_the_error(
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
            let place = ((share * values.len() as f64).ceil() as usize).max(1) - 1;
            let found = first.finish();
            prop_assert_eq!(found.count(), values.len() as u64);
            let (found, wanted) = (found.quantile(share).unwrap(), sorted[place]);
            prop_assert!(found <= wanted && found >= wanted * (1.0 - Quantiles::ERROR), "{} {}", found, wanted);
            prop_assert!(wanted >= 4096.0 || wanted.fract() != 0.0 || found == wanted);
        }
    }

    #[test]
    fn little_is_kept_of_much() {
        let mut quantiles = Quantiles::default();
        (0..1_000_000).for_each(|value| quantiles.add(f64::from(value)));
        [f64::NAN, -1.0, f64::INFINITY].into_iter().for_each(|value| quantiles.add(value));
        let spread = quantiles.finish();
        assert!(spread.values.len() < 21 * 2048 && spread.count() == 1_000_000);
        assert_eq!(Quantiles::default().finish().quantile(0.5), None);
    }
}
