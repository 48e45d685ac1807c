//! When does a page change? As a Poisson process whose events can be asked for at any time in a bounded number of
//! steps, without walking through the past.
//!
//! The number of events in the whole horizon is Poisson; given it, the events of an interval fall into its halves
//! by fair coins (a binomial split). So the count up to `t` is found by descending a binary tree of intervals, each
//! node's coins being keyed by its place in the tree. The popcount of `n` random bits is an exact binomial number; large
//! ones are rounded normal numbers, so that no rate makes a question slow.

use crate::draw::Draw;

/// The horizon is 2^29 seconds, about 17 years; beyond it nothing changes.
const HORIZON_BITS: u32 = 29;
const DAY_S: f64 = 86_400.0;
/// Above this mean the Poisson number is drawn as a rounded normal one: the difference is below what a test can see.
const NORMAL_ABOVE: f64 = 200.0;
/// Above this many coins their heads are.
const COINS_ABOVE: u64 = 4096;
/// The clock counts seconds: a page that changed more often would not be seen to.
const MOST_PER_DAY: f64 = DAY_S;

/// The changes of one page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    draw: Draw,
    pub(crate) per_day: f64,
}

impl Changes {
    /// At most one change a second.
    pub(crate) fn new(draw: Draw, per_day: f64) -> Changes {
        Changes { draw, per_day: per_day.clamp(0.0, MOST_PER_DAY) }
    }

    /// How many changes happened in the first `seconds` of this Web.
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

    /// The second in which the `number`-th change (counted from 1) happened; 0 for the page's birth.
    pub(crate) fn time_of(&self, number: u64) -> u64 {
        if number == 0 {
            return 0;
        }
        let (mut inside, mut wanted, mut node, mut second) = (self.total(), number, 1u64, 0u64);
        for level in (0..HORIZON_BITS).rev() {
            let left = self.left_share(node, inside);
            if wanted > left {
                wanted -= left;
                inside -= left;
                node = node << 1 | 1;
                second |= 1 << level;
            } else {
                inside = left;
                node <<= 1;
            }
        }
        // Counted as happened once its second is over.
        second + 1
    }

    /// All events within the horizon.
    fn total(&self) -> u64 {
        let mean = self.per_day * (1u64 << HORIZON_BITS) as f64 / DAY_S;
        if mean > NORMAL_ABOVE {
            return (mean + mean.sqrt() * self.draw.normal()).round().max(0.0) as u64;
        }
        // Knuth: uniform numbers are multiplied until their product falls below e^-mean, here as logarithms.
        let (mut stream, mut sum, mut events) = (self.draw.stream(), 0.0, 0);
        loop {
            sum -= (((stream.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64).ln();
            if sum > mean {
                return events;
            }
            events += 1;
        }
    }

    /// How many of the `inside` events of a node fall into its left half.
    fn left_share(&self, node: u64, inside: u64) -> u64 {
        let draw = self.draw.of(node);
        if inside > COINS_ABOVE {
            let (mean, deviation) = (inside as f64 / 2.0, (inside as f64).sqrt() / 2.0);
            return ((mean + deviation * draw.normal()).round().max(0.0) as u64).min(inside);
        }
        let mut coins = draw.stream();
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
    fn counts_over_a_window_are_poisson_with_the_rate_given() {
        for rate in [0.01, 0.3, 2.0, 24.0, 1000.0] {
            let (n, days) = (2000u64, 30);
            let counts: Vec<f64> = (0..n)
                .map(|i| {
                    let page = Changes::new(Draw::seed(11).of(i), rate);
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
        let page = Changes::new(Draw::seed(5), 3.0);
        for number in 1..200 {
            let second = page.time_of(number);
            assert!(page.count_until(second) >= number);
            assert!(page.count_until(second - 1) < number);
        }
        assert_eq!(page.time_of(0), 0);
    }

    #[test]
    fn a_page_without_rate_never_changes_and_the_far_future_is_no_trouble() {
        assert_eq!(Changes::new(Draw::seed(1), 0.0).count_until(u64::MAX), 0);
        let fast = Changes::new(Draw::seed(1), 1000.0);
        assert!(fast.count_until(u64::MAX) >= fast.count_until(1 << 28));
    }

    #[test]
    fn no_rate_is_too_high_to_be_asked_for() {
        for rate in [1e5, 1.7e10, f64::MAX, f64::INFINITY] {
            let page = Changes::new(Draw::seed(9), rate);
            assert!((0.0..=86_400.0).contains(&page.per_day), "{rate}");
            for second in (0..500).map(|n| n * 86_413) {
                let changes = page.count_until(second);
                assert!(page.time_of(changes) <= second, "{rate}: change {changes} is of the past");
            }
        }
        let fastest = Changes::new(Draw::seed(9), 1e12).count_until(100 * DAY) as f64;
        assert!((fastest / (100.0 * 86_400.0) - 1.0).abs() < 0.01, "{fastest}");
    }
}
