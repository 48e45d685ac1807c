//! Revisit intervals of pages, and poll intervals of robots.txt, sitemaps and feeds.

use std::time::Duration;

use super::{DAY, HOUR};
use crate::settings::section::section;

section! {
    /// Minimum time before a page is fetched again, and bounds of the time between two polls of robots.txt, sitemaps and feeds.
    "revisit", RevisitSection {
        /// After a success or a redirect (HTTP 2xx, 3xx).
        min_interval_ok: Duration = 180 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
        /// After a client error (HTTP 4xx).
        min_interval_client_error: Duration = 365 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
        /// After a server error (HTTP 5xx) or no response, when all attempts have failed.
        min_interval_failed: Duration = 30 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
        /// Minimum interval between two polls of robots.txt, sitemaps and feeds. A poll that yields new URLs or changes
        /// halves the interval, another one doubles it.
        min_poll_interval: Duration = DAY, within HOUR..=(365 * DAY), reload yes;
        /// Maximum interval between two polls.
        max_poll_interval: Duration = 30 * DAY, within HOUR..=(3_650 * DAY), reload yes;
    }
}
