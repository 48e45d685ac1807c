//! Wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// The current Unix time in milliseconds.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
