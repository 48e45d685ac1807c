//! Skew between the clocks of coordinator and workers, and conversion of times that never makes a request too early.

use std::sync::{Mutex, PoisonError};

/// Maximum time from writing to reading a control message: a worker overestimates the lead of its clock by up to this.
const MAX_CONTROL_LATENCY_MS: i64 = 2_000;

/// Converts a time of a worker's clock to the coordinator's clock; never too early. 0 stands for no time.
pub fn to_coordinator_ms(ahead_ms: Option<i64>, time_ms: u64) -> u64 {
    let later_ms = ahead_ms.map_or(0, |ahead_ms| MAX_CONTROL_LATENCY_MS.saturating_sub(ahead_ms));
    if time_ms == 0 { 0 } else { time_ms.saturating_add_signed(later_ms) }
}

/// Estimated skew between the local and a remote clock. Both are monotonic, so the skew is constant during their runs, up to
/// drift.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClockSkew {
    /// Id of the remote run.
    run: u64,
    /// Start of the current window.
    since_ms: u64,
    latest_ms: Option<i64>,
    before_ms: Option<i64>,
}

/// Length of a window; observations older than two windows expire, because clocks drift.
const SKEW_WINDOW_MS: u64 = 600_000;

impl ClockSkew {
    /// Observes the remote time of a message that was just received.
    pub fn observe(&mut self, run: u64, local_ms: u64, remote_ms: u64) {
        if self.run != run {
            *self = ClockSkew { run, since_ms: local_ms, ..ClockSkew::default() };
        }
        if local_ms.saturating_sub(self.since_ms) >= SKEW_WINDOW_MS {
            (self.since_ms, self.before_ms, self.latest_ms) = (local_ms, self.latest_ms, None);
        }
        // Each observation includes the latency of the message: the minimum is closest to the true skew, and never below it.
        let skew_ms = (local_ms as i64).saturating_sub_unsigned(remote_ms);
        self.latest_ms = Some(self.latest_ms.map_or(skew_ms, |min_ms| min_ms.min(skew_ms)));
    }

    /// Lead of the local clock, if known; never underestimated.
    pub fn ahead_ms(self) -> Option<i64> {
        self.latest_ms.into_iter().chain(self.before_ms).min()
    }

    /// Converts a remote time to the local clock; never too early. 0 stands for no time.
    pub fn to_local_ms(self, remote_ms: u64) -> u64 {
        if remote_ms == 0 { 0 } else { remote_ms.saturating_add_signed(self.ahead_ms().unwrap_or(0)) }
    }
}

/// Skew that several threads share.
#[derive(Debug, Default)]
pub struct SharedClockSkew(Mutex<ClockSkew>);

impl SharedClockSkew {
    /// Current estimate.
    pub fn get(&self) -> ClockSkew {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`ClockSkew::observe`].
    pub fn observe(&self, run: u64, local_ms: u64, remote_ms: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).observe(run, local_ms, remote_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converted_times_are_never_too_early() {
        let mut ahead = ClockSkew::default();
        ahead.observe(1, 5_000, 1_000);
        ahead.observe(1, 6_000, 2_100);
        ahead.observe(1, 7_000, 2_000);
        assert_eq!(
            ahead.to_local_ms(10_000),
            13_900,
            "the local clock leads by at most the minimum that was observed"
        );
        ahead.observe(2, 9_000, 8_990);
        assert_eq!(ahead.to_local_ms(10_000), 10_010, "another run has another clock");
        let mut behind = ClockSkew::default();
        behind.observe(1, 1_000, 5_000);
        assert_eq!(behind.to_local_ms(10_000), 6_000, "a remote clock that is ahead adds no delay");
        assert_eq!(behind.to_local_ms(0), 0, "0 stands for no time");
        behind.observe(1, 1_000 + SKEW_WINDOW_MS, 5_100 + SKEW_WINDOW_MS);
        assert_eq!(behind.ahead_ms(), Some(-4_100));
        behind.observe(1, 1_000 + 3 * SKEW_WINDOW_MS, 4_900 + 3 * SKEW_WINDOW_MS);
        behind.observe(1, 1_000 + 5 * SKEW_WINDOW_MS, 4_900 + 5 * SKEW_WINDOW_MS);
        assert_eq!(behind.ahead_ms(), Some(-3_900), "old observations expire");
        assert_eq!(to_coordinator_ms(Some(3_900), 10_000), 8_100, "the lead of the worker is subtracted");
        assert_eq!(to_coordinator_ms(Some(-4_000), 10_000), 16_000);
        assert_eq!((to_coordinator_ms(None, 10_000), to_coordinator_ms(Some(9), 0)), (10_000, 0));
    }
}
