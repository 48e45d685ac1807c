//! Limits that make the result of a search incomplete.

use std::fmt;
use std::time::Duration;

/// Maximum number of terms that a wildcard expands to in one field.
pub(super) const MAX_EXPANDED_TERMS: usize = 512;
/// Maximum number of terms of a field that are scanned for one wildcard.
pub(super) const MAX_SCANNED_TERMS: usize = 4_000_000;

/// Limit that a search has hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitHit {
    /// A wildcard matches more terms than were searched.
    WildcardExpansion,
    /// The index has more terms than were scanned for a wildcard.
    WildcardScan,
    /// The search was stopped by its timeout.
    Timeout(Duration),
}

impl LimitHit {
    /// Name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitHit::WildcardExpansion => "wildcard-expansion",
            LimitHit::WildcardScan => "wildcard-scan",
            LimitHit::Timeout(_) => "timeout",
        }
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitHit::WildcardExpansion => write!(
                out,
                "wildcard matches too many words; only the {MAX_EXPANDED_TERMS} most frequent were searched"
            ),
            LimitHit::WildcardScan => {
                write!(out, "wildcard search stopped after {} million words", MAX_SCANNED_TERMS / 1_000_000)
            }
            LimitHit::Timeout(timeout) => {
                write!(out, "query stopped after {} s; results are incomplete", timeout.as_secs_f64())
            }
        }
    }
}
