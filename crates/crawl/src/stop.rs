//! How is a crawl ended before it is done?

use serde::{Deserialize, Serialize};

/// How soon it should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Stop {
    /// When it is done.
    #[default]
    No,
    /// Requests under way are waited for; everything is committed.
    InOrder,
    /// Requests under way are dropped, and pages that were not read yet; what was taken in is committed.
    AtOnce,
}
