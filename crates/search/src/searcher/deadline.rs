//! Deadline of a search. Long loops check it regularly, and stop after it or when the search is cancelled; the result reports that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use store::Cancellation;

/// Deadline of a search.
#[derive(Debug, Clone)]
pub(super) struct Deadline {
    /// `None` if the timeout is too long for an [`Instant`].
    at: Option<Instant>,
    was_missed: Arc<AtomicBool>,
    cancellation: Cancellation,
}

impl Deadline {
    pub(super) fn after(timeout: Duration, cancellation: &Cancellation) -> Deadline {
        let at = Instant::now().checked_add(timeout);
        Deadline { at, was_missed: Arc::default(), cancellation: cancellation.clone() }
    }

    /// Whether the deadline has passed; the caller then has to stop.
    pub(super) fn is_expired(&self) -> bool {
        let is_expired = self.was_missed()
            || self.cancellation.is_cancelled()
            || self.at.is_some_and(|at| Instant::now() >= at);
        if is_expired {
            self.was_missed.store(true, Ordering::Relaxed);
        }
        is_expired
    }

    /// Whether a caller had to stop.
    pub(super) fn was_missed(&self) -> bool {
        self.was_missed.load(Ordering::Relaxed)
    }
}
