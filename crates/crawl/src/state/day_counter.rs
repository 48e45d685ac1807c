//! Counter of the page requests of a UTC day.
//!
//! Requests are counted when their results are ingested, on the day on which they ended. So that a restart after a crash does not
//! lose those since the last commit, requests are reserved ahead and the reservation is committed: after a crash, all reserved
//! ones count as made.

use serde::{Deserialize, Serialize};

/// Length of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;
/// Share of the daily limit that may be in open batches, and that is reserved beyond them: 1/20.
const WINDOW_SHARE: u32 = 20;
/// Minimum number of pages in open batches.
const MIN_WINDOW: u32 = 100;

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

/// Maximum number of pages in open batches with this daily limit: it bounds the error of the count after a crash.
pub(crate) fn max_open_pages(max_requests: u32) -> u64 {
    u64::from((max_requests / WINDOW_SHARE).max(MIN_WINDOW))
}

impl DayCounter {
    /// Requests counted on the day of `now_ms`.
    pub(crate) fn requests(&self, now_ms: u64) -> u64 {
        if self.day == day_number(now_ms) { self.requests } else { 0 }
    }

    /// Counts requests that ended at `ended_ms`; those of earlier days than the current one are no longer of interest.
    pub(crate) fn count(&mut self, ended_ms: u64, requests: u64) {
        self.begin_day(ended_ms);
        if self.day == day_number(ended_ms) {
            self.requests += requests;
        }
    }

    /// Reserves requests so that all pages of open batches are covered; true if the reservation changed and must be committed
    /// before the requests are made.
    pub(crate) fn reserve(&mut self, now_ms: u64, open_pages: u64, max_requests: u32) -> bool {
        self.begin_day(now_ms);
        let needed = self.requests + open_pages;
        if self.reserved.is_some_and(|reserved| needed <= reserved) {
            return false;
        }
        let ahead = needed + u64::from(max_requests / WINDOW_SHARE);
        self.reserved = Some(ahead.min(u64::from(max_requests)).max(needed));
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

    fn begin_day(&mut self, now_ms: u64) {
        if self.day < day_number(now_ms) {
            *self = DayCounter { day: day_number(now_ms), requests: 0, reserved: None };
        }
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
        assert_eq!((counter.requests(noon), counter.requests(noon + DAY_MS)), (7, 0));
        counter.count(noon + DAY_MS, 1);
        // A result of the day before is ingested late.
        counter.count(noon + 2, 1);
        assert_eq!(counter.requests(noon + DAY_MS), 1);
    }

    #[test]
    fn reserved_requests_count_after_a_crash() {
        let mut counter = DayCounter::default();
        counter.count(1, 3);
        assert!(counter.reserve(1, 10, 100), "the first reservation must be committed");
        counter.count(2, 5);
        assert!(!counter.reserve(2, 10, 100), "18 are reserved");
        let mut crashed = counter;
        crashed.recover_reserved();
        assert_eq!(crashed.requests(3), 18);
        counter.count(3, 90);
        assert!(counter.reserve(3, 2, 100));
        counter.finish();
        counter.recover_reserved();
        assert_eq!(counter.requests(4), 98);
        // A new day starts without a reservation, and no more than its limit is reserved.
        assert!(counter.reserve(DAY_MS, 1, 1));
        counter.recover_reserved();
        assert_eq!(counter.requests(DAY_MS), 1);
    }
}
