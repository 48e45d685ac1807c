//! Changes of pages: one Poisson process per page, independent of the observer.

use crate::random::KeyedRandom;

/// Changes of one page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeProcess {
    random: KeyedRandom,
    per_day: f64,
    /// First change that was not observed yet; infinite if there is none.
    next_day: f64,
}

/// Domain of the random numbers.
const CHANGE_DOMAIN: u64 = 2;

impl ChangeProcess {
    pub(crate) fn new(seed: u64, page: u32, per_day: f32) -> ChangeProcess {
        let mut changes = ChangeProcess {
            random: KeyedRandom::new(seed, CHANGE_DOMAIN, u64::from(page)),
            per_day: f64::from(per_day),
            next_day: 0.0,
        };
        changes.step();
        changes
    }

    fn step(&mut self) {
        self.next_day =
            if self.per_day > 0.0 { self.next_day + self.random.wait(self.per_day) } else { f64::INFINITY };
    }

    /// First change since the last fetch, if there was one by this day.
    pub(crate) fn pending(&self, day: f64) -> Option<f64> {
        (self.next_day <= day).then_some(self.next_day)
    }

    /// Observes all changes up to this day, and returns the time of the last one.
    pub(crate) fn observe(&mut self, day: f64) -> Option<f64> {
        let mut last = None;
        while self.next_day <= day {
            last = Some(self.next_day);
            self.step();
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_their_rate_and_do_not_depend_on_the_observer() {
        let mut total = 0;
        for page in 0..2_000 {
            let mut changes = ChangeProcess::new(7, page, 0.5);
            let mut days = Vec::new();
            while let Some(day) = changes.pending(100.0) {
                days.push(day);
                changes.observe(day);
            }
            total += days.len();
            let mut observed = ChangeProcess::new(7, page, 0.5);
            observed.observe(50.0);
            assert_eq!(observed.pending(100.0), days.iter().copied().find(|day| *day > 50.0));
        }
        // 100,000 are expected, with a deviation of 316.
        assert!((99_000..101_000).contains(&total), "{total}");
        assert_eq!(ChangeProcess::new(1, 1, 0.0).pending(1e9), None);
    }
}
