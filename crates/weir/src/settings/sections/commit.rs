//! How often is everything made to last, and how much waits in memory until then?

use std::time::Duration;

use super::{HOUR, SECOND};
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// How often everything is made to last, and how much waits in memory until then.
    "commit", CommitSection {
        /// A crash loses no more than the pages of this time.
        interval: Duration = 5 * SECOND, within SECOND..=HOUR, applies at_once;
        /// How much may have been fetched and not be stored yet; when it is reached, fetching waits.
        waiting: Size = Size(64_000_000), within Size(1_000_000)..=Size(1 << 40);
    }
}
