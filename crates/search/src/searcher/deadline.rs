//! How long may a query take? Whoever goes through many words or pages looks at the clock now and then, and stops when time is up;
//! the answer tells that it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The end of a query's time.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    /// Never, if it is too far off to be told.
    at: Option<Instant>,
    was_missed: Arc<AtomicBool>,
}

impl Deadline {
    /// So long from now on.
    pub(super) fn after(limit: Duration) -> Deadline {
        Deadline { at: Instant::now().checked_add(limit), was_missed: Arc::default() }
    }

    /// Whether time is up: then who asks stops.
    pub(super) fn is_over(&self) -> bool {
        let is_over = self.was_missed() || self.at.is_some_and(|at| Instant::now() >= at);
        if is_over {
            self.was_missed.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// Whether somebody had to stop.
    pub(super) fn was_missed(&self) -> bool {
        self.was_missed.load(Ordering::Relaxed)
    }
}
