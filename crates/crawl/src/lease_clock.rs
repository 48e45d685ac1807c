//! May a worker still ask? A batch is lent for a while, and for another while each time that the broker says so. A worker that
//! was held up for longer (stopped, cut off, asleep) does not ask anybody any more: by then the batch may be somebody else's.
//!
//! Time is counted from the start of the machine, and goes on while that sleeps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Until when a batch is lent; for ever, unless somebody says otherwise.
#[derive(Debug)]
pub(crate) struct LeaseClock {
    /// Nothing begins any more, in milliseconds.
    last_begin_ms: AtomicU64,
    /// Nothing goes on any more.
    end_ms: AtomicU64,
}

/// Before the end of a lease nothing begins any more: whoever begins should be heard before the next one is.
const MARGIN_SHARE: u32 = 4;
const FOR_EVER: u64 = u64::MAX;

/// How long the machine has been there.
pub(crate) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

impl Default for LeaseClock {
    fn default() -> LeaseClock {
        LeaseClock { last_begin_ms: AtomicU64::new(FOR_EVER), end_ms: AtomicU64::new(FOR_EVER) }
    }
}

impl LeaseClock {
    /// It is lent for so long from then on, by the clock of the one who lends it.
    pub(crate) fn lend(&self, from: Duration, duration: Option<Duration>) {
        let until = |part: Duration| (from + part).as_millis() as u64;
        let ends = duration.map(|duration| (until(duration - duration / MARGIN_SHARE), until(duration)));
        let (last_begin_ms, end_ms) = ends.unwrap_or((FOR_EVER, FOR_EVER));
        self.last_begin_ms.store(last_begin_ms, Relaxed);
        self.end_ms.store(end_ms, Relaxed);
    }

    /// It is another's now.
    pub(crate) fn lose(&self) {
        self.last_begin_ms.store(0, Relaxed);
        self.end_ms.store(0, Relaxed);
    }

    /// Until when something may begin.
    pub(crate) fn last_begin(&self) -> Option<Instant> {
        instant(self.last_begin_ms.load(Relaxed))
    }

    pub(crate) fn holds(&self) -> bool {
        let last_begin_ms = self.last_begin_ms.load(Relaxed);
        last_begin_ms == FOR_EVER || now().as_millis() < u128::from(last_begin_ms)
    }

    /// Comes back when whatever is under way must not go on.
    pub(crate) async fn over(&self) {
        loop {
            match instant(self.end_ms.load(Relaxed)) {
                None => std::future::pending().await,
                Some(end) if end <= Instant::now() => return,
                // By then it may have been lent for longer.
                Some(end) => tokio::time::sleep_until(end.into()).await,
            }
        }
    }
}

/// When a time will be, or was.
fn instant(time_ms: u64) -> Option<Instant> {
    let now = Instant::now();
    (time_ms != FOR_EVER).then(|| now + Duration::from_millis(time_ms).saturating_sub(self::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_before_its_lender_thinks_so() {
        let lease = LeaseClock::default();
        assert!(lease.holds() && lease.last_begin().is_none());
        let began = Instant::now();
        lease.lend(now(), Some(Duration::from_secs(40)));
        assert!(lease.holds());
        let left = lease.last_begin().unwrap() - began;
        assert!(left.abs_diff(Duration::from_secs(30)) < Duration::from_millis(100), "{left:?}");
        lease.lend(now(), Some(Duration::ZERO));
        assert!(!lease.holds());
        lease.lend(now(), None);
        assert!(lease.holds());
        lease.lose();
        assert!(!lease.holds());
    }

    #[tokio::test]
    async fn what_is_under_way_goes_on_until_the_end_and_no_longer() {
        let lease = LeaseClock::default();
        lease.lose();
        lease.over().await;
        let began = Instant::now();
        lease.lend(now(), Some(Duration::from_millis(50)));
        lease.over().await;
        assert!(began.elapsed() >= Duration::from_millis(48), "{:?}", began.elapsed());
    }
}
