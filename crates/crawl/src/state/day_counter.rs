//! Counter of the page requests of a UTC day.
//!
//! Requests are counted when pages are queued, and released when a page returns without a request. So that a restart does not
//! start at zero, and yet not every batch needs a commit, requests are reserved ahead and the reservation is committed: after a
//! crash, up to a twentieth of the limit may be counted without having been made.

use serde::{Deserialize, Serialize};

/// Length of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;
/// Share of the daily limit that is reserved at once: 1/20.
const RESERVED_SHARE: u32 = 20;

/// Page requests of one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DayCounter {
    /// Days since 1970.
    day: u64,
    requests: u64,
    /// Requests that may have been made if the crawl crashes; only while one runs.
    reserved: Option<u64>,
}

/// Days since 1970.
pub(crate) fn day_number(now_ms: u64) -> u64 {
    now_ms / DAY_MS
}

impl DayCounter {
    /// Requests counted on the day of `now_ms`.
    pub(crate) fn requests(&self, now_ms: u64) -> u64 {
        if self.day == day_number(now_ms) { self.requests } else { 0 }
    }

    /// Counts requests that are about to be made.
    pub(crate) fn count(&mut self, now_ms: u64, pages: usize) {
        let requests = self.requests(now_ms);
        if self.day != day_number(now_ms) {
            self.reserved = None;
        }
        self.day = day_number(now_ms);
        self.requests = requests + pages as u64;
    }

    /// Releases requests that were counted today and not made.
    pub(crate) fn release(&mut self, now_ms: u64, pages: usize) {
        if self.day == day_number(now_ms) {
            self.requests = self.requests.saturating_sub(pages as u64);
        }
    }

    /// Reserves requests ahead of those counted, up to the daily limit; true if the reservation changed and must be committed
    /// before the requests are made.
    pub(crate) fn reserve(&mut self, max_requests: u32) -> bool {
        if self.reserved.is_some_and(|reserved| self.requests <= reserved) {
            return false;
        }
        let ahead = self.requests + u64::from(max_requests / RESERVED_SHARE);
        self.reserved = Some(ahead.min(u64::from(max_requests)).max(self.requests));
        true
    }

    /// Counts the requests that a crashed crawl had reserved.
    pub(crate) fn recover_reserved(&mut self) {
        if let Some(reserved) = self.reserved.take() {
            self.requests = self.requests.max(reserved);
        }
    }

    /// Removes the reservation at the regular end of a crawl, when all requests are counted.
    pub(crate) fn finish(&mut self) {
        self.reserved = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_day() {
        let mut counter = DayCounter::default();
        let noon = 3 * DAY_MS + DAY_MS / 2;
        counter.count(noon, 5);
        counter.count(noon + 1, 2);
        counter.release(noon + 2, 3);
        assert_eq!((counter.requests(noon), counter.requests(noon + DAY_MS)), (4, 0));
        // A page that returns a day later was not counted that day.
        counter.release(noon + DAY_MS, 1);
        assert_eq!(counter.requests(noon), 4);
        counter.count(noon + DAY_MS, 1);
        assert_eq!(counter.requests(noon + DAY_MS), 1);
    }

    #[test]
    fn reserved_requests_count_after_a_crash() {
        let mut counter = DayCounter::default();
        counter.count(1, 3);
        assert!(counter.reserve(100), "the first reservation must be committed");
        counter.count(2, 5);
        assert!(!counter.reserve(100), "eight are reserved");
        let mut crashed = counter;
        crashed.recover_reserved();
        assert_eq!(crashed.requests(3), 8);
        counter.count(3, 90);
        assert!(counter.reserve(100));
        counter.finish();
        counter.recover_reserved();
        assert_eq!(counter.requests(4), 98);
        // A new day starts without a reservation, and no more than its limit is reserved.
        assert!(counter.reserve(100));
        counter.count(DAY_MS, 1);
        assert!(counter.reserve(1));
        counter.recover_reserved();
        assert_eq!(counter.requests(DAY_MS), 1);
    }
}
