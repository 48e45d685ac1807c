//! Rate limits of sites, with eight bytes of state per site.

use std::sync::atomic::{AtomicU64, Ordering};

/// Rate limits of all sites. Times are milliseconds since the start of the server.
#[derive(Debug)]
pub(crate) struct RateLimits {
    /// Time of the last accepted request in the low half, end of a ban in the high half.
    clocks: Box<[AtomicU64]>,
    interval_ms: u64,
    retry_after_s: u64,
}

impl RateLimits {
    pub(crate) fn new(sites: usize, interval_ms: u64, retry_after_s: u64) -> RateLimits {
        let clocks = (0..sites).map(|_| AtomicU64::new(0)).collect();
        RateLimits { clocks, interval_ms, retry_after_s }
    }

    /// Accepts a request to a site, or returns the number of seconds until the next attempt. A repeated early request
    /// does not extend the ban.
    pub(crate) fn check(&self, site: u32, now_ms: u64) -> Result<(), u64> {
        let Some(clock) = self.clocks.get(site as usize) else { return Ok(()) };
        // 0 means never; 32 bits of milliseconds are seven weeks.
        let now = now_ms.min(u64::from(u32::MAX) - 1) + 1;
        let mut verdict = Ok(());
        let _ = clock.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            let (last, banned_until) = (state & 0xffff_ffff, state >> 32);
            if now < banned_until {
                verdict = Err((banned_until - now).div_ceil(1000));
                None
            } else if last > 0 && now < last + self.interval_ms {
                verdict = Err(self.retry_after_s);
                let until = (now + self.retry_after_s * 1000).min(u64::from(u32::MAX));
                Some(until << 32 | last)
            } else {
                verdict = Ok(());
                Some(banned_until << 32 | now)
            }
        });
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_come_too_fast_are_rejected_until_the_ban_ends() {
        let limits = RateLimits::new(2, 100, 2);
        assert_eq!(limits.check(0, 0), Ok(()));
        assert_eq!(limits.check(1, 0), Ok(()), "sites do not mix");
        assert_eq!(limits.check(0, 50), Err(2));
        assert_eq!(limits.check(0, 500), Err(2), "still banned, 1.55 s left");
        assert_eq!(limits.check(0, 1_900), Err(1));
        assert_eq!(limits.check(0, 2_050), Ok(()));
        assert_eq!(limits.check(0, 2_150), Ok(()), "patient enough");
        assert_eq!(limits.check(9, 0), Ok(()), "a site that does not exist has no limit");
    }
}
