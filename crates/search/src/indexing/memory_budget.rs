//! Budget for the text on its way to the index writer; acquiring more blocks until some is released.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Limit on bytes in use.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit_bytes: usize,
    used_bytes: Mutex<usize>,
    released: Condvar,
}

/// Permit for some bytes, released on drop.
#[derive(Debug)]
pub(crate) struct MemoryPermit {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    pub(crate) fn new(limit_bytes: usize) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget { limit_bytes, used_bytes: Mutex::new(0), released: Condvar::new() })
    }

    /// Blocks until the bytes are available. A request above the limit waits until nothing is in use, and then passes alone.
    pub(crate) fn acquire(self: &Arc<MemoryBudget>, bytes: usize) -> MemoryPermit {
        let mut used = self.lock();
        while *used > 0 && *used + bytes > self.limit_bytes {
            used = self.released.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        MemoryPermit { budget: Arc::clone(self), bytes }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        *self.budget.lock() -= self.bytes;
        self.budget.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn no_more_than_the_limit_is_in_use() {
        let budget = MemoryBudget::new(100);
        let (now, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (budget, now, peak) = (&budget, &now, &peak);
                scope.spawn(move || {
                    for number in 0..500 {
                        let bytes = 1 + (number * 7 + worker * 13) % 60;
                        let permit = budget.acquire(bytes);
                        peak.fetch_max(now.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                        now.fetch_sub(bytes, Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert!((1..=100).contains(&peak.into_inner()));
        drop(budget.acquire(1_000));
        assert_eq!(*budget.lock(), 0, "a request above the limit passes alone");
    }
}
