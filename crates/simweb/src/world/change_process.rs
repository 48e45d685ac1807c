//! Changes of a page as a Poisson process that can be queried at any time in a bounded number of steps.
//!
//! The number of events in the whole horizon is Poisson-distributed. Given the number of events of an interval, those
//! of its left half are binomial (fair coins). The count up to `t` is found by descending a binary tree of intervals,
//! whose coins are keyed by the position in the tree. The popcount of `n` random bits is an exact binomial number;
//! large ones are rounded normal numbers, so that the time of a query does not depend on the rate.

use crate::world::random::KeyedRandom;

/// Horizon: 2^29 seconds, about 17 years; beyond it nothing changes.
const HORIZON_BITS: u32 = 29;
const DAY_S: f64 = 86_400.0;
/// Mean above which the Poisson number is generated as a rounded normal one; tests cannot detect the difference.
const NORMAL_ABOVE: f64 = 200.0;
/// Number of coins above which the number of heads is generated as a rounded normal one.
const COINS_ABOVE: u64 = 4096;
/// Maximum rate: the clock counts seconds, so more frequent changes would not be visible.
const MAX_CHANGES_PER_DAY: f64 = DAY_S;

/// Change process of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeProcess {
    random: KeyedRandom,
    pub(crate) per_day: f64,
}

impl ChangeProcess {
    /// Creates a process with this rate, limited to one change per second.
    pub(crate) fn new(random: KeyedRandom, per_day: f64) -> ChangeProcess {
        ChangeProcess { random, per_day: per_day.clamp(0.0, MAX_CHANGES_PER_DAY) }
    }

    /// Returns the number of changes in the first `seconds` of this Web.
    pub(crate) fn count_until(&self, seconds: u64) -> u64 {
        if self.per_day <= 0.0 {
            return 0;
        }
        let mut inside = self.total();
        if seconds >= 1 << HORIZON_BITS {
            return inside;
        }
        let (mut before, mut node) = (0, 1u64);
        for level in (0..HORIZON_BITS).rev() {
            if inside == 0 {
                break;
            }
            let left = self.left_share(node, inside);
            if seconds >> level & 1 == 1 {
                before += left;
                inside -= left;
                node = node << 1 | 1;
            } else {
                inside = left;
                node <<= 1;
            }
        }
        before
    }

    /// Returns the second of the `number`-th change (from 1); 0 for the creation of the page.
    pub(crate) fn time_of(&self, number: u64) -> u64 {
        if number == 0 {
            return 0;
        }
        let (mut inside, mut expected, mut node, mut second) = (self.total(), number, 1u64, 0u64);
        for level in (0..HORIZON_BITS).rev() {
            let left = self.left_share(node, inside);
            if expected > left {
                expected -= left;
                inside -= left;
                node = node << 1 | 1;
                second |= 1 << level;
            } else {
                inside = left;
                node <<= 1;
            }
        }
        // A change is counted when its second is over.
        second + 1
    }

    /// Returns the number of events within the horizon.
    fn total(&self) -> u64 {
        let mean = self.per_day * (1u64 << HORIZON_BITS) as f64 / DAY_S;
        if mean > NORMAL_ABOVE {
            return (mean + mean.sqrt() * self.random.normal()).round().max(0.0) as u64;
        }
        // Knuth's algorithm: uniform numbers are multiplied until the product is below e^-mean, here in logarithms.
        let (mut stream, mut sum, mut events) = (self.random.stream(), 0.0, 0);
        loop {
            sum -= (((stream.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64).ln();
            if sum > mean {
                return events;
            }
            events += 1;
        }
    }

    /// Returns how many of the `inside` events of a node fall into its left half.
    fn left_share(&self, node: u64, inside: u64) -> u64 {
        let random = self.random.child(node);
        if inside > COINS_ABOVE {
            let (mean, deviation) = (inside as f64 / 2.0, (inside as f64).sqrt() / 2.0);
            return ((mean + deviation * random.normal()).round().max(0.0) as u64).min(inside);
        }
        let mut coins = random.stream();
        let whole: u32 = (0..inside / 64).map(|_| coins.bits().count_ones()).sum();
        let rest = inside % 64;
        u64::from(whole) + u64::from((coins.bits() & ((1 << rest) - 1)).count_ones())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    #[test]
    fn counts_over_a_window_are_poisson_distributed_with_the_given_rate() {
        for rate in [0.01, 0.3, 2.0, 24.0, 1000.0] {
            let (n, days) = (2000u64, 30);
            let counts: Vec<f64> = (0..n)
                .map(|i| {
                    let page = ChangeProcess::new(KeyedRandom::seed(11).child(i), rate);
                    (page.count_until(130 * DAY) - page.count_until((130 - days) * DAY)) as f64
                })
                .collect();
            let expected = rate * days as f64;
            let mean = counts.iter().sum::<f64>() / n as f64;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / n as f64;
            let error = (expected / n as f64).sqrt();
            assert!((mean - expected).abs() < 4.0 * error, "rate {rate}: mean {mean}, expected {expected}");
            assert!((variance / expected - 1.0).abs() < 0.2, "rate {rate}: variance {variance}");
        }
    }

    #[test]
    fn a_change_is_counted_from_the_second_it_happens() {
        let page = ChangeProcess::new(KeyedRandom::seed(5), 3.0);
        for number in 1..200 {
            let second = page.time_of(number);
            assert!(page.count_until(second) >= number);
            assert!(page.count_until(second - 1) < number);
        }
        assert_eq!(page.time_of(0), 0);
    }

    #[test]
    fn a_page_with_rate_zero_never_changes_and_any_time_can_be_queried() {
        assert_eq!(ChangeProcess::new(KeyedRandom::seed(1), 0.0).count_until(u64::MAX), 0);
        let fast = ChangeProcess::new(KeyedRandom::seed(1), 1000.0);
        assert!(fast.count_until(u64::MAX) >= fast.count_until(1 << 28));
    }

    #[test]
    fn high_rates_are_limited_to_one_change_per_second() {
        for rate in [1e5, 1.7e10, f64::MAX, f64::INFINITY] {
            let page = ChangeProcess::new(KeyedRandom::seed(9), rate);
            assert!((0.0..=86_400.0).contains(&page.per_day), "{rate}");
            for second in (0..500).map(|n| n * 86_413) {
                let changes = page.count_until(second);
                assert!(page.time_of(changes) <= second, "{rate}: change {changes} is of the past");
            }
        }
        let fastest = ChangeProcess::new(KeyedRandom::seed(9), 1e12).count_until(100 * DAY) as f64;
        assert!((fastest / (100.0 * 86_400.0) - 1.0).abs() < 0.01, "{fastest}");
    }
}
