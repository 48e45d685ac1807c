//! Rate limiter for the requests of all threads together.
//!
//! Requests take evenly spaced time slots; a thread that finds no free slot gets the time of the next one. The state is one
//! atomic number, without a lock. Politeness towards single sites is the task of the workbench.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Lock-free rate limiter: time of the next free slot.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    next_us: AtomicU64,
}

/// Slots this close are taken ahead of time: timers have a resolution of a millisecond, which would limit high rates.
const BURST_US: u64 = 5_000;
/// Maximum distance between two slots: a day.
const MAX_STEP_US: f64 = 86_400e6;

impl RateLimiter {
    /// Takes a slot for a request that starts now, or returns the time to try again. Times are in microseconds. A rate of 0 is
    /// unlimited.
    pub(crate) fn acquire(&self, per_second: f64, now_us: u64) -> Result<(), u64> {
        if per_second <= 0.0 {
            return Ok(());
        }
        let step_us = (1e6 / per_second).min(MAX_STEP_US) as u64;
        let mut next_us = self.next_us.load(Relaxed);
        loop {
            // After a slower rate the next slot can be far in the future: move it closer.
            let slot_us = next_us.min(now_us + BURST_US + step_us).max(now_us);
            if slot_us > now_us + BURST_US {
                return Err(slot_us - BURST_US);
            }
            let after_us = slot_us + step_us;
            match self.next_us.compare_exchange_weak(next_us, after_us, Relaxed, Relaxed) {
                Ok(_) => return Ok(()),
                Err(other_us) => next_us = other_us,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_second_exceeds_the_rate_by_more_than_the_burst(
            per_second in 0.5f64..5_000.0,
            waits_us in proptest::collection::vec(0u64..20_000, 1..300),
        ) {
            let (limiter, mut now_us, mut begun_us) = (RateLimiter::default(), 1 << 50, Vec::new());
            for wait_us in waits_us {
                now_us += wait_us;
                while limiter.acquire(per_second, now_us).is_ok() {
                    begun_us.push(now_us);
                }
            }
            let ahead = per_second * BURST_US as f64 / 1e6;
            for (number, first_us) in begun_us.iter().enumerate() {
                let within = begun_us[number..].iter().filter(|time_us| **time_us < first_us + 1_000_000);
                prop_assert!(within.count() as f64 <= per_second + ahead + 2.0);
            }
        }

        #[test]
        fn a_slot_is_free_at_the_returned_time(per_second in 0.01f64..1_000.0, tries in 1usize..50) {
            let (limiter, mut now_us) = (RateLimiter::default(), 1 << 50);
            for _ in 0..tries {
                if let Err(later_us) = limiter.acquire(per_second, now_us) {
                    prop_assert!(later_us > now_us);
                    now_us = later_us;
                    prop_assert_eq!(limiter.acquire(per_second, now_us), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_higher_rate_does_not_wait_for_the_end_of_a_slow_step() {
        let limiter = RateLimiter::default();
        assert_eq!(limiter.acquire(0.001, 1_000_000), Ok(()));
        assert!(limiter.acquire(0.001, 1_000_001).unwrap_err() > 900_000_000);
        assert!(limiter.acquire(100.0, 1_000_002).unwrap_err() < 1_100_000);
        assert_eq!(limiter.acquire(0.0, 1_000_003), Ok(()), "unlimited");
    }
}
