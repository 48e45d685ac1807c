//! Histograms with bins of equal width or of equal ratio.
//!
//! There are four logarithmic bins per doubling: a number x is in bin floor(4 log2 x), which ranges from 2^(bin/4) to
//! 2^((bin+1)/4). Zero has a bin of its own before all others. Negative and non-finite numbers are not counted.

use std::collections::BTreeMap;

/// A histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    scale: Scale,
    bins: BTreeMap<i32, u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Scale {
    Linear { width: f64, last: i32 },
    Logarithmic,
}

/// A bin that is not empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Lower bound, included.
    pub from: f64,
    /// Upper bound, excluded; equal to `from` in the bin of zero.
    pub to: f64,
    /// Number of values.
    pub count: u64,
    /// Share of all values that are at least `from`: the complementary cumulative distribution (CCDF).
    pub at_least: f64,
}

/// Bins per doubling.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Number of the bin of zero, smaller than all others.
const ZERO: i32 = i32::MIN;

impl Histogram {
    /// Creates `bins` bins of this width from 0; the last one includes all larger values.
    pub fn linear(width: f64, bins: u32) -> Histogram {
        let last = i32::try_from(bins).unwrap_or(i32::MAX).max(1) - 1;
        Histogram { scale: Scale::Linear { width, last }, bins: BTreeMap::new() }
    }

    /// Creates logarithmic bins, four per doubling.
    pub fn logarithmic() -> Histogram {
        Histogram { scale: Scale::Logarithmic, bins: BTreeMap::new() }
    }

    /// Counts a value.
    pub fn add(&mut self, number: f64) {
        if number < 0.0 || !number.is_finite() {
            return;
        }
        let bin = match self.scale {
            Scale::Linear { width, last } => ((number / width) as i32).min(last),
            Scale::Logarithmic if number == 0.0 => ZERO,
            Scale::Logarithmic => (BINS_PER_OCTAVE * number.log2()).floor() as i32,
        };
        *self.bins.entry(bin).or_default() += 1;
    }

    /// Adds the counts of another histogram of the same scale.
    pub fn merge(&mut self, other: &Histogram) {
        debug_assert_eq!(self.scale, other.scale);
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.bins.values().sum()
    }

    /// Bins that are not empty, ascending.
    pub fn bins(&self) -> Vec<Bin> {
        let all = self.count();
        let mut smaller = 0;
        let bin = |(bin, count): (&i32, &u64)| {
            let (from, to) = self.edges(*bin);
            let at_least = (all - smaller) as f64 / all as f64;
            smaller += count;
            Bin { from, to, count: *count, at_least }
        };
        self.bins.iter().map(bin).collect()
    }

    fn edges(&self, bin: i32) -> (f64, f64) {
        match self.scale {
            Scale::Linear { width, last } if bin == last => (f64::from(bin) * width, f64::INFINITY),
            Scale::Linear { width, .. } => (f64::from(bin) * width, f64::from(bin + 1) * width),
            Scale::Logarithmic if bin == ZERO => (0.0, 0.0),
            Scale::Logarithmic => {
                let edge = |bin: i32| (f64::from(bin) / BINS_PER_OCTAVE).exp2();
                (edge(bin), edge(bin + 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bins: &[Bin], numbers: &[f64]) -> Result<(), TestCaseError> {
        prop_assert!(bins.windows(2).all(|pair| pair[0].to <= pair[1].from));
        prop_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), numbers.len() as u64);
        for bin in bins {
            let lies_in = |number: &&f64| {
                if bin.to == 0.0 { **number == 0.0 } else { (bin.from..bin.to).contains(*number) }
            };
            prop_assert_eq!(numbers.iter().filter(lies_in).count() as u64, bin.count, "{:?}", bin);
            let at_least = numbers.iter().filter(|number| **number >= bin.from).count();
            prop_assert!((bin.at_least - at_least as f64 / numbers.len() as f64).abs() < 1e-12);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_number_is_in_its_bin(numbers in prop::collection::vec(prop_oneof![
            Just(0.0), 0f64..1e-3, (0u32..100).prop_map(f64::from), 0f64..1e12,
        ], 0..100), cut in 0usize..100) {
            for empty in [Histogram::logarithmic(), Histogram::linear(7.0, 12)] {
                let (mut first, mut second) = (empty.clone(), empty);
                let cut = cut.min(numbers.len());
                numbers[..cut].iter().for_each(|number| first.add(*number));
                numbers[cut..].iter().for_each(|number| second.add(*number));
                first.merge(&second);
                check(&first.bins(), &numbers)?;
            }
        }
    }

    #[test]
    fn powers_of_two_start_a_bin_and_invalid_numbers_are_ignored() {
        let mut histogram = Histogram::logarithmic();
        for power in -40..60 {
            histogram.add(f64::from(power).exp2());
        }
        [f64::NAN, f64::INFINITY, -1.0].into_iter().for_each(|number| histogram.add(number));
        let bins = histogram.bins();
        assert_eq!(bins.len(), 100);
        assert!(bins.iter().zip(-40..).all(|(bin, power)| bin.from == f64::from(power).exp2()));
        assert!(Histogram::linear(1.0, 5).bins().is_empty());
    }
}
