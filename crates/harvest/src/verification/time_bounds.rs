//! Bounds on the times that a worker may report.

use crate::settings::clock::seconds;
use crate::settings::crawl_settings::CrawlSettings;

/// Maximum difference between the clocks of two machines. Larger than any time zone, so that only a clock without a
/// battery, or a lie, exceeds it.
const MAX_CLOCK_DIFFERENCE_MS: u64 = 86_400_000;

/// Maximum lifetime of an address: that of an address in the settings, and a day.
const MAX_ADDRESS_LIFETIME_MS: u64 = 366 * 86_400_000;

/// Bounds on the times that a worker may report, by the clock of this process.
#[derive(Debug, Clone, Copy)]
pub struct TimeBounds {
    earliest_ms: u64,
    latest_ms: u64,
    /// Latest end of a cooldown or back-off.
    latest_wait_ms: u64,
    max_delay_ms: u64,
    latest_expiry_ms: u64,
}

impl TimeBounds {
    /// Bounds for a batch that was leased at `leased_ms`, in Unix milliseconds.
    pub fn new(settings: &CrawlSettings, leased_ms: u64, now_ms: u64) -> TimeBounds {
        let (retry, politeness) = (&settings.retry, &settings.politeness);
        let overrides = settings.site_overrides.iter().filter_map(|site| site.delay_ms);
        let delays = [
            retry.max_back_off_ms,
            retry.max_retry_after_ms,
            retry.unresponsive_site_back_off_ms,
            politeness.max_crawl_delay_ms,
            politeness.site_delay_ms,
            politeness.large_site_delay_ms,
            politeness.address_delay_ms.unwrap_or(0),
        ];
        // Back-offs are extended at random by up to a quarter.
        let max_delay_ms = delays.into_iter().chain(overrides).max().unwrap_or(0).saturating_mul(2);
        let latest_ms = now_ms.saturating_add(MAX_CLOCK_DIFFERENCE_MS);
        TimeBounds {
            earliest_ms: leased_ms.saturating_sub(MAX_CLOCK_DIFFERENCE_MS),
            latest_ms,
            latest_wait_ms: latest_ms.saturating_add(max_delay_ms),
            max_delay_ms,
            latest_expiry_ms: latest_ms.saturating_add(MAX_ADDRESS_LIFETIME_MS.max(max_delay_ms)),
        }
    }

    /// Whether something can have happened at this time, in Unix milliseconds, while the batch was leased.
    pub fn contains(&self, time_ms: u64) -> bool {
        (self.earliest_ms..=self.latest_ms).contains(&time_ms)
    }

    /// Whether something can have happened at this time, in Unix seconds, before or while the batch was leased.
    pub fn is_past(&self, time_s: u32) -> bool {
        time_s <= seconds(self.latest_ms)
    }

    /// Whether a cooldown can end at this time, in Unix milliseconds.
    pub fn allows_wait(&self, until_ms: u64) -> bool {
        until_ms <= self.latest_wait_ms
    }

    /// Whether a delay can have this length.
    pub fn allows_delay(&self, delay_ms: u64) -> bool {
        delay_ms <= self.max_delay_ms
    }

    /// Whether an address can expire at this time, in Unix seconds.
    pub fn allows_expiry(&self, time_s: u32) -> bool {
        time_s <= seconds(self.latest_expiry_ms)
    }
}
