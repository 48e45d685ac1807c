//! How many requests may begin in a second, all threads together?
//!
//! Each request takes the next moment of an even row; who comes when none is free is told when. There is one number that
//! all threads move on, and no lock. It knows nothing of sites: what is polite is for the workbench to say.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The next free moment.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    next_us: AtomicU64,
}

/// A thread wakes up by the millisecond: moments this close are taken ahead, so that fast paces are kept too.
const AHEAD_US: u64 = 5_000;
/// A day: the slowest pace there is.
const LONGEST_STEP_US: f64 = 86_400e6;

impl Pace {
    /// Takes a moment for a request that begins at this time; where none is free, tells when to ask again. Both in
    /// microseconds. 0 requests in a second stand for any number.
    pub(crate) fn take(&self, per_second: f64, now_us: u64) -> Result<(), u64> {
        if per_second <= 0.0 {
            return Ok(());
        }
        let step_us = (1e6 / per_second).min(LONGEST_STEP_US) as u64;
        let mut next_us = self.next_us.load(Relaxed);
        loop {
            // A row that was slower may reach far ahead.
            let moment_us = next_us.min(now_us + AHEAD_US + step_us).max(now_us);
            if moment_us > now_us + AHEAD_US {
                return Err(moment_us - AHEAD_US);
            }
            let after_us = moment_us + step_us;
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
        fn no_second_has_more_requests_than_asked_for(
            per_second in 0.5f64..5_000.0,
            waits_us in proptest::collection::vec(0u64..20_000, 1..300),
        ) {
            let (pace, mut now_us, mut begun_us) = (Pace::default(), 1 << 50, Vec::new());
            for wait_us in waits_us {
                now_us += wait_us;
                while pace.take(per_second, now_us).is_ok() {
                    begun_us.push(now_us);
                }
            }
            let ahead = per_second * AHEAD_US as f64 / 1e6;
            for (number, first_us) in begun_us.iter().enumerate() {
                let within = begun_us[number..].iter().filter(|time_us| **time_us < first_us + 1_000_000);
                prop_assert!(within.count() as f64 <= per_second + ahead + 2.0);
            }
        }

        #[test]
        fn who_comes_when_told_gets_a_moment(per_second in 0.01f64..1_000.0, tries in 1usize..50) {
            let (pace, mut now_us) = (Pace::default(), 1 << 50);
            for _ in 0..tries {
                if let Err(later_us) = pace.take(per_second, now_us) {
                    prop_assert!(later_us > now_us);
                    now_us = later_us;
                    prop_assert_eq!(pace.take(per_second, now_us), Ok(()));
                }
            }
        }
    }

    #[test]
    fn a_faster_pace_does_not_wait_for_the_end_of_a_slow_step() {
        let pace = Pace::default();
        assert_eq!(pace.take(0.001, 1_000_000), Ok(()));
        assert!(pace.take(0.001, 1_000_001).unwrap_err() > 900_000_000);
        assert!(pace.take(100.0, 1_000_002).unwrap_err() < 1_100_000);
        assert_eq!(pace.take(0.0, 1_000_003), Ok(()), "any number");
    }
}
