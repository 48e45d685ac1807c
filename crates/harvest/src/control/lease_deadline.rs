//! Deadline of the lease of a batch: a worker that was suspended or disconnected for longer than its lease must not send
//! requests, because another worker can have the batch.
//!
//! It uses the boot-time clock, which also advances while the machine sleeps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Deadline of a lease; none by default.
#[derive(Debug)]
pub(crate) struct LeaseDeadline {
    /// No request starts after this time, in milliseconds of boot time.
    last_start_ms: AtomicU64,
    /// Requests in flight are aborted at this time.
    end_ms: AtomicU64,
}

/// No request starts in the last quarter of a lease, so that its result can be delivered before the lease expires.
const MARGIN_SHARE: u32 = 4;
const NO_DEADLINE: u64 = u64::MAX;

/// Time since the boot of the machine.
pub(crate) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

impl Default for LeaseDeadline {
    fn default() -> LeaseDeadline {
        LeaseDeadline { last_start_ms: AtomicU64::new(NO_DEADLINE), end_ms: AtomicU64::new(NO_DEADLINE) }
    }
}

impl LeaseDeadline {
    /// Sets the lease to a duration from `from` on; `None` for a lease without end.
    pub(crate) fn extend(&self, from: Duration, duration: Option<Duration>) {
        let until = |part: Duration| (from + part).as_millis() as u64;
        let ends = duration.map(|duration| (until(duration - duration / MARGIN_SHARE), until(duration)));
        let (last_begin_ms, end_ms) = ends.unwrap_or((NO_DEADLINE, NO_DEADLINE));
        self.last_start_ms.store(last_begin_ms, Relaxed);
        self.end_ms.store(end_ms, Relaxed);
    }

    /// Ends the lease: another worker has the batch.
    pub(crate) fn revoke(&self) {
        self.last_start_ms.store(0, Relaxed);
        self.end_ms.store(0, Relaxed);
    }

    /// Time after which no request may start.
    pub(crate) fn last_start(&self) -> Option<Instant> {
        instant(self.last_start_ms.load(Relaxed))
    }

    /// Whether a request may start.
    pub(crate) fn is_valid(&self) -> bool {
        let last_begin_ms = self.last_start_ms.load(Relaxed);
        last_begin_ms == NO_DEADLINE || now().as_millis() < u128::from(last_begin_ms)
    }

    /// Waits until requests in flight must be aborted.
    pub(crate) async fn expired(&self) {
        loop {
            match instant(self.end_ms.load(Relaxed)) {
                None => std::future::pending().await,
                Some(end) if end <= Instant::now() => return,
                // The lease can be extended while this sleeps: check again.
                Some(end) => tokio::time::sleep_until(end.into()).await,
            }
        }
    }
}

/// Converts boot time to an [`Instant`]; the past becomes now.
fn instant(time_ms: u64) -> Option<Instant> {
    let now = Instant::now();
    (time_ms != NO_DEADLINE).then(|| now + Duration::from_millis(time_ms).saturating_sub(self::now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_request_starts_in_the_last_quarter_of_a_lease() {
        let lease = LeaseDeadline::default();
        assert!(lease.is_valid() && lease.last_start().is_none());
        let began = Instant::now();
        lease.extend(now(), Some(Duration::from_secs(40)));
        assert!(lease.is_valid());
        let left = lease.last_start().unwrap() - began;
        assert!(left.abs_diff(Duration::from_secs(30)) < Duration::from_millis(100), "{left:?}");
        lease.extend(now(), Some(Duration::ZERO));
        assert!(!lease.is_valid());
        lease.extend(now(), None);
        assert!(lease.is_valid());
        lease.revoke();
        assert!(!lease.is_valid());
    }

    #[tokio::test]
    async fn requests_in_flight_may_run_until_the_lease_expires() {
        let lease = LeaseDeadline::default();
        lease.revoke();
        lease.expired().await;
        let began = Instant::now();
        lease.extend(now(), Some(Duration::from_millis(50)));
        lease.expired().await;
        assert!(began.elapsed() >= Duration::from_millis(48), "{:?}", began.elapsed());
    }
}
