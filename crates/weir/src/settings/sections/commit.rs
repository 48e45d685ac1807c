//! Commit interval.

use std::time::Duration;

use super::{HOUR, SECOND};
use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Commit interval: the most work that a crash can lose.
    "commit", CommitSection {
        /// Maximum time between two commits.
        interval: Duration = 5 * SECOND, within SECOND..=HOUR;
        /// Maximum size of uncommitted pages.
        max_bytes: Size = Size(64 << 20), within Size(1_000_000)..=Size(1 << 40);
    }
}
