//! When do pages change? Each as a Poisson process of its own, which is the same whoever watches.

use crate::chance::Chance;

/// The changes of one page, as they come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Changes {
    chance: Chance,
    per_day: f64,
    /// The first change that nobody has seen yet; infinite if there is none.
    next_day: f64,
}

/// What chance is asked about here.
const CHANGES: u64 = 2;

impl Changes {
    pub(crate) fn new(seed: u64, page: u32, per_day: f32) -> Changes {
        let mut changes = Changes {
            chance: Chance::new(seed, CHANGES, u64::from(page)),
            per_day: f64::from(per_day),
            next_day: 0.0,
        };
        changes.step();
        changes
    }

    fn step(&mut self) {
        self.next_day =
            if self.per_day > 0.0 { self.next_day + self.chance.wait(self.per_day) } else { f64::INFINITY };
    }

    /// The first change since the last visit, if there was one by this day.
    pub(crate) fn pending(&self, day: f64) -> Option<f64> {
        (self.next_day <= day).then_some(self.next_day)
    }

    /// A visit sees all changes up to this day; tells when the last of them was.
    pub(crate) fn see(&mut self, day: f64) -> Option<f64> {
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
    fn changes_come_at_their_rate_whoever_watches() {
        let mut total = 0;
        for page in 0..2_000 {
            let mut changes = Changes::new(7, page, 0.5);
            let mut days = Vec::new();
            while let Some(day) = changes.pending(100.0) {
                days.push(day);
                changes.see(day);
            }
            total += days.len();
            let mut watched = Changes::new(7, page, 0.5);
            watched.see(50.0);
            assert_eq!(watched.pending(100.0), days.iter().copied().find(|day| *day > 50.0));
        }
        // 100,000 are expected, with a deviation of 316.
        assert!((99_000..101_000).contains(&total), "{total}");
        assert_eq!(Changes::new(1, 1, 0.0).pending(1e9), None);
    }
}
