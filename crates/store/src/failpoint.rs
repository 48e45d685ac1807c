//! Where can a test pull the plug? At every step named here, when built with the feature `failpoints`.
//!
//! `WEIR_FAILPOINT=NAME` stops the process as a power cut would, without any cleaning up, when that step is reached;
//! `NAME#3` when it is reached for the third time. Without the feature nothing of this is in the program.

/// A step at which a test may stop the process.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);

    let Ok(wanted) = std::env::var("WEIR_FAILPOINT") else { return };
    let (wanted, times) = wanted.split_once('#').unwrap_or((&wanted, "1"));
    if wanted == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == times.parse().unwrap_or(1) {
        std::process::abort();
    }
}

/// A step at which a test may stop the process.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn failpoint(_name: &str) {}
