//! Limit of the warnings about rejected items, so that one worker does not displace all other warnings.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Period after which the warnings are counted anew.
const PERIOD: Duration = Duration::from_secs(60);
/// Maximum number of warnings per period about one worker, and about all, since a worker chooses its name. The status
/// keeps 100 warnings of all kinds.
const MAX_PER_WORKER: usize = 10;
const MAX_OF_ALL: usize = 40;

/// Warnings of the current period.
#[derive(Debug, Default)]
pub(crate) struct RejectionWarnings {
    started: Option<Instant>,
    by_worker: HashMap<String, usize>,
}

impl RejectionWarnings {
    /// Number of warnings about a worker that are allowed now.
    pub(crate) fn room(&mut self, worker: &str, now: Instant) -> usize {
        if self.started.is_none_or(|started| now.duration_since(started) >= PERIOD) {
            self.started = Some(now);
            self.by_worker.clear();
        }
        let (of_worker, of_all) =
            (self.by_worker.get(worker).copied().unwrap_or(0), self.by_worker.values().sum::<usize>());
        MAX_PER_WORKER.saturating_sub(of_worker).min(MAX_OF_ALL.saturating_sub(of_all))
    }

    /// Counts warnings about a worker.
    pub(crate) fn count(&mut self, worker: String, warnings: usize) {
        if warnings > 0 {
            *self.by_worker.entry(worker).or_default() += warnings;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_worker_and_many_names_have_a_limited_number_of_warnings_per_period() {
        let (mut warnings, now) = (RejectionWarnings::default(), Instant::now());
        let mut warn = |worker: &str, now: Instant| {
            let shown = warnings.room(worker, now).min(8);
            warnings.count(worker.to_owned(), shown);
            shown
        };
        assert_eq!([warn("a", now), warn("a", now), warn("a", now), warn("b", now)], [8, 2, 0, 8]);
        let others: usize = (0..100).map(|number| warn(&number.to_string(), now)).sum();
        assert_eq!(others, MAX_OF_ALL - 18);
        assert_eq!(warn("a", now + PERIOD), 8);
    }
}
