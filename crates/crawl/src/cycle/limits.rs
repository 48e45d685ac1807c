//! Limits and result of a crawl.

use std::time::Duration;

use harvest::control::counters::Progress;

/// Limits that end a crawl before all pages are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CrawlLimits {
    /// Maximum number of batches.
    pub batches: Option<u64>,
    /// Number of pages fetched successfully.
    pub pages: Option<u64>,
    /// Maximum duration, by the crawl's clock.
    pub duration: Option<Duration>,
    /// Whether the crawl runs until it is stopped: it waits when no page is due, and revisits pages.
    pub continuous: bool,
}

/// Result of a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlSummary {
    /// Counters at the end.
    pub progress: Progress,
    /// Duration.
    pub duration: Duration,
    /// Time at which the next page is due, in Unix milliseconds.
    pub next_due_ms: Option<u64>,
    /// Whether it ended because the remaining pages wait for the next day, by a daily request limit.
    pub daily_limit_reached: bool,
    /// Whether it ended before all due pages were fetched.
    pub stopped_early: bool,
}
