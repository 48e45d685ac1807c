//! Intervals between two polls of robots.txt, sitemaps and feeds, which report changes of other pages.
//!
//! A poll that yields something (new URLs, reported changes, other rules) halves the interval; a poll without a result doubles
//! it. So the interval settles where about half of the polls yield something. A feed is a page with an estimated change rate:
//! it is polled once per expected change.

/// Bounds of the intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollIntervals {
    /// Minimum interval.
    pub min_s: u32,
    /// Maximum interval.
    pub max_s: u32,
}

/// Seconds of a day.
const DAY_S: u32 = 86_400;
/// Interval before the second poll, which is the first to show changes.
const INITIAL_S: u32 = 7 * DAY_S;

impl Default for PollIntervals {
    fn default() -> PollIntervals {
        PollIntervals { min_s: DAY_S, max_s: 30 * DAY_S }
    }
}

impl PollIntervals {
    /// Interval that applies, from the stored one; 0 is an interval that was never adapted.
    pub fn current_s(&self, stored_s: u32) -> u32 {
        self.bounded(if stored_s == 0 { INITIAL_S } else { stored_s })
    }

    /// Interval after a poll. The first poll yields what was there before, which shows nothing about the time of changes.
    pub fn adapted_s(&self, stored_s: u32, has_yielded: bool) -> u32 {
        let current_s = self.current_s(stored_s);
        match (stored_s, has_yielded) {
            (0, _) => current_s,
            (_, true) => self.bounded(current_s / 2),
            (_, false) => self.bounded(current_s.saturating_mul(2)),
        }
    }

    /// Interval of a page that changes at this rate; 0 is an unknown rate.
    pub fn of_rate_s(&self, changes_per_day: f32) -> u32 {
        match changes_per_day > 0.0 {
            true => self.bounded((DAY_S as f32 / changes_per_day) as u32),
            false => self.bounded(INITIAL_S),
        }
    }

    fn bounded(&self, interval_s: u32) -> u32 {
        interval_s.clamp(self.min_s, self.max_s.max(self.min_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_follows_the_yield_of_its_polls_within_the_bounds() {
        let polls = PollIntervals::default();
        let days = |interval_s: u32| f64::from(interval_s) / f64::from(DAY_S);
        let mut interval_s = polls.adapted_s(0, true);
        assert_eq!(days(interval_s), 7.0, "the first poll shows no rate");
        for expected in [14.0, 28.0, 30.0, 30.0] {
            interval_s = polls.adapted_s(interval_s, false);
            assert_eq!(days(interval_s), expected);
        }
        for expected in [15.0, 7.5, 3.75, 1.875, 1.0, 1.0] {
            interval_s = polls.adapted_s(interval_s, true);
            assert_eq!(days(interval_s), expected);
        }
    }

    #[test]
    fn new_bounds_apply_to_stored_intervals() {
        let polls = PollIntervals { min_s: 3_600, max_s: 2 * DAY_S };
        assert_eq!(
            [0, 20 * DAY_S, DAY_S, 60].map(|stored_s| polls.current_s(stored_s)),
            [2 * DAY_S, 2 * DAY_S, DAY_S, 3_600]
        );
        // A maximum below the minimum has no effect.
        assert_eq!(PollIntervals { min_s: 9, max_s: 5 }.current_s(7), 9);
    }

    #[test]
    fn a_feed_is_polled_once_per_expected_change() {
        let polls = PollIntervals::default();
        let intervals =
            [0.0, f32::NAN, 0.001, 0.1, 24.0, f32::INFINITY].map(|rate| polls.of_rate_s(rate) / DAY_S);
        assert_eq!(intervals, [7, 7, 30, 10, 1, 1]);
    }
}
