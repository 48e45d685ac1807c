//! What time is it? Unix time that never goes back, so that nobody who sets the computer's clock makes the crawl impolite.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The time of one crawl: that of the system when the crawl began, and what has passed since.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
    began_us: u64,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { began: Instant::now(), began_us: now.as_micros() as u64 }
    }

    /// The last full millisecond: before anything that begins now.
    pub(crate) fn now_ms(self) -> u64 {
        self.now_us() / 1_000
    }

    /// The next full millisecond: after everything that ended now. A wait that is counted from here is never short.
    pub(crate) fn passed_ms(self) -> u64 {
        self.now_us().div_ceil(1_000)
    }

    pub(crate) fn now_s(self) -> u32 {
        seconds(self.now_ms())
    }

    /// When a time will be.
    pub(crate) fn instant(self, time_ms: u64) -> Instant {
        let later_us = (time_ms * 1_000).saturating_sub(self.began_us);
        self.began + std::time::Duration::from_micros(later_us)
    }

    fn now_us(self) -> u64 {
        self.began_us + self.began.elapsed().as_micros() as u64
    }
}

/// Milliseconds as states keep times: in seconds, in 32 bits.
pub(crate) fn seconds(time_ms: u64) -> u32 {
    u32::try_from(time_ms / 1_000).unwrap_or(u32::MAX)
}
