//! Minimum revisit intervals.

use std::time::Duration;

use super::DAY;
use crate::settings::section::section;

section! {
    /// Minimum time before a page is fetched again.
    "revisit", RevisitSection {
        /// After a success or a redirect (HTTP 2xx, 3xx).
        min_interval_ok: Duration = 180 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
        /// After a client error (HTTP 4xx).
        min_interval_client_error: Duration = 365 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
        /// After a server error (HTTP 5xx) or no response, when all attempts have failed.
        min_interval_failed: Duration = 30 * DAY, within Duration::ZERO..=(3_650 * DAY), wire "manager/minperiod", reload yes;
    }
}
