//! Stop mode of a crawl.

use serde::{Deserialize, Serialize};

/// Requested stop of a crawl; ordered, so that a stronger request replaces a weaker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum StopMode {
    /// No stop requested.
    #[default]
    #[serde(rename = "none")]
    Running,
    /// Waits for requests in flight and commits everything.
    Graceful,
    /// Drops requests in flight and pages that are not parsed yet; commits what was ingested.
    Immediate,
}
