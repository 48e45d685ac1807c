//! How often is everything made to last, and how much waits in memory until then?

use std::time::Duration;

use super::{HOUR, SECOND};
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// How often everything is made to last, and how much waits in memory until then.
    "commit", CommitSection {
        /// A crash loses no more than the pages of this time.
        interval: Duration = 5 * SECOND, within SECOND..=HOUR;
        /// The same, by the size of pages.
        bytes: Size = Size(64 << 20), within Size(1_000_000)..=Size(1 << 40);
    }
}
