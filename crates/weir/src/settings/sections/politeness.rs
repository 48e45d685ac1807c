//! Delays, retries and back-off.

use std::time::Duration;

use super::{DAY, HOUR, MINUTE, SECOND};
use crate::settings::section::section;

section! {
    /// Delays, retries and back-off. One request at a time per site and per IP address; a delay runs from the end of
    /// a response to the next request.
    "politeness", PolitenessSection {
        /// Delay between two requests to a site.
        delay: Duration = 15 * SECOND, within Duration::ZERO..=DAY, wire "harvester/wait/normal", reload yes;
        /// Delay between two requests to a large site, shorter so that the site can be covered.
        large_site_delay: Duration = 5 * SECOND, within Duration::ZERO..=DAY, reload yes;
        /// Number of known pages above which a site is large.
        large_site_pages: u32 = 100, reload yes;
        /// Delay between two requests to an IP address, all of its sites together; "none" = the delay of
        /// the site. A shorter delay suits servers that host thousands of small sites.
        ip_delay: Option<Duration> = None, within None..=Some(DAY), reload yes;
        /// Upper bound for Crawl-delay in robots.txt.
        max_crawl_delay: Duration = MINUTE, within Duration::ZERO..=DAY, reload yes;
        /// Lifetime of a cached robots.txt.
        robots_ttl: Duration = DAY, within MINUTE..=(30 * DAY), reload yes;
        /// Delay before an unreachable robots.txt is fetched again; until then no page of the site is requested.
        robots_retry_delay: Duration = HOUR, within SECOND..=(30 * DAY), reload yes;
        /// First back-off of a site after a failure, doubled per consecutive failure. Up to 25 % is added at random,
        /// so that sites that failed together are not retried together.
        back_off: Duration = 30 * SECOND, within Duration::ZERO..=DAY, reload yes;
        /// Upper bound of the back-off of a site.
        max_back_off: Duration = DAY, within Duration::ZERO..=(30 * DAY), reload yes;
        /// Upper bound for Retry-After.
        max_retry_after: Duration = DAY, within Duration::ZERO..=(30 * DAY), reload yes;
        /// Number of consecutive failures after which a site is moved to a later batch.
        max_site_failures: u16 = 5, within 1..=10_000, reload yes;
        /// A site whose next request must wait longer than this is moved to a later batch.
        max_delay_in_batch: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY), reload yes;
        /// Maximum number of attempts per page.
        max_attempts: u16 = 3, within 1..=1_000, reload yes;
        /// Delay before the first retry of a page, multiplied by four for each further retry.
        retry_delay: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY), reload yes;
        /// Upper bound of the retry delay of a page.
        max_retry_delay: Duration = DAY, within Duration::ZERO..=(365 * DAY), reload yes;
    }
}
