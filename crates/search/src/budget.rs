//! How much text may be on its way to the index? Whoever brings more waits until some of it has arrived.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that may be under way.
#[derive(Debug)]
pub(crate) struct Budget {
    limit_bytes: usize,
    taken_bytes: Mutex<usize>,
    returned: Condvar,
}

/// Bytes that are taken as long as this lives.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// So many bytes.
    pub(crate) fn new(limit_bytes: usize) -> Arc<Budget> {
        Arc::new(Budget { limit_bytes, taken_bytes: Mutex::new(0), returned: Condvar::new() })
    }

    /// Takes some, waiting for others to return theirs. Who wants more than there is waits for all of it.
    pub(crate) fn take(self: &Arc<Budget>, bytes: usize) -> Share {
        let mut taken = self.lock();
        while *taken > 0 && *taken + bytes > self.limit_bytes {
            taken = self.returned.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += bytes;
        Share { budget: Arc::clone(self), bytes }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.lock() -= self.bytes;
        self.budget.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_is_under_way_than_allowed() {
        let budget = Budget::new(100);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (budget, now, most) = (&budget, &now, &most);
                scope.spawn(move || {
                    for number in 0..500 {
                        let bytes = 1 + (number * 7 + worker * 13) % 60;
                        let share = budget.take(bytes);
                        most.fetch_max(now.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                        now.fetch_sub(bytes, Ordering::SeqCst);
                        drop(share);
                    }
                });
            }
        });
        assert!((1..=100).contains(&most.into_inner()));
        drop(budget.take(1_000));
        assert_eq!(*budget.lock(), 0, "one that is too large passes alone");
    }
}
