//! How are numbers spread? Counts by bins of equal width, or of equal ratio.
//!
//! Logarithmic bins are four to a doubling: a number x lies in bin floor(4 log2 x), which reaches from 2^(bin/4) to
//! 2^((bin+1)/4). Zero has a bin of its own, before all others. What is negative or no number is not counted.

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

/// A bin that has something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The smallest number that lies in it.
    pub from: f64,
    /// Those that lie in it are smaller than this; in the bin of zero there is nothing else.
    pub to: f64,
    /// How many there are.
    pub count: u64,
    /// The share of all numbers that are at least `from`: the complementary cumulative distribution there.
    pub at_least: f64,
}

/// Bins a doubling.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Smaller than the bin of any number.
const ZERO: i32 = i32::MIN;

impl Histogram {
    /// Bins of this width from 0 on, as many as these; the last takes all that is larger.
    pub fn linear(width: f64, bins: u32) -> Histogram {
        let last = i32::try_from(bins).unwrap_or(i32::MAX).max(1) - 1;
        Histogram { scale: Scale::Linear { width, last }, bins: BTreeMap::new() }
    }

    /// Four bins a doubling.
    pub fn logarithmic() -> Histogram {
        Histogram { scale: Scale::Logarithmic, bins: BTreeMap::new() }
    }

    /// Counts a number.
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

    /// Counts what another of the same scale has counted.
    pub fn merge(&mut self, other: &Histogram) {
        debug_assert_eq!(self.scale, other.scale);
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.bins.values().sum()
    }

    /// The bins that have something, from small to large.
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
        fn every_number_lies_in_its_bin(numbers in prop::collection::vec(prop_oneof![
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
    fn powers_of_two_begin_a_bin_and_nonsense_is_left_out() {
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
