//! May a worker still ask? A batch is lent for a while, and for another while each time that the broker says so. A worker that
//! was held up for longer (stopped, cut off, asleep) does not ask anybody any more: by then the batch may be somebody else's.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Until when a batch is lent; for ever, unless somebody says otherwise.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    began: Instant,
    /// Counted from there.
    end_ms: AtomicU64,
}

/// Before the end of a lease nothing begins any more: whoever begins should be heard before the next one is.
const MARGIN_SHARE: u32 = 4;
const FOR_EVER: u64 = u64::MAX;

impl Default for LeaseClock {
    fn default() -> LeaseClock {
        LeaseClock { began: Instant::now(), end_ms: AtomicU64::new(FOR_EVER) }
    }
}

impl LeaseClock {
    /// It is lent for so long from then on, by the clock of the one who lends it.
    pub(crate) fn lend(&self, from: Instant, duration: Option<Duration>) {
        let end_ms = duration.map_or(FOR_EVER, |duration| {
            let own = duration - duration / MARGIN_SHARE;
            (from + own).saturating_duration_since(self.began).as_millis() as u64
        });
        self.end_ms.store(end_ms, Relaxed);
    }

    /// It is another's now.
    pub(crate) fn lose(&self) {
        self.end_ms.store(0, Relaxed);
    }

    /// When it ends.
    pub(crate) fn end(&self) -> Option<Instant> {
        let end_ms = self.end_ms.load(Relaxed);
        (end_ms != FOR_EVER).then(|| self.began + Duration::from_millis(end_ms))
    }

    pub(crate) fn holds(&self) -> bool {
        self.end().is_none_or(|end| Instant::now() < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_before_its_lender_thinks_so() {
        let lease = LeaseClock::default();
        assert!(lease.holds());
        let now = Instant::now();
        lease.lend(now, Some(Duration::from_secs(40)));
        assert!(lease.holds());
        let left = lease.end().unwrap() - now;
        assert!(left.abs_diff(Duration::from_secs(30)) < Duration::from_millis(2), "{left:?}");
        lease.lend(now, Some(Duration::ZERO));
        assert!(!lease.holds());
        lease.lend(now, None);
        assert!(lease.holds());
        lease.lose();
        assert!(!lease.holds());
    }
}
