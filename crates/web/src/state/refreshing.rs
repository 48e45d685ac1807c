//! Cache of one value that is refreshed at most once per interval. While a thread refreshes it, other threads get the old
//! value.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// A cached value with the minimum interval between two refreshes.
pub(crate) struct Refreshing<T> {
    interval: Duration,
    cached: Mutex<Option<Cached<T>>>,
    /// Held by the thread that refreshes the value.
    refresh_lock: Mutex<()>,
}

struct Cached<T> {
    value: Arc<T>,
    checked: Instant,
}

impl<T> Refreshing<T> {
    pub(crate) fn new(interval: Duration) -> Refreshing<T> {
        Refreshing { interval, cached: Mutex::new(None), refresh_lock: Mutex::new(()) }
    }

    /// Returns the value. If the interval is over, `refresh` gets the old value and returns it, or a newer one.
    pub(crate) fn get<E>(
        &self,
        refresh: impl FnOnce(Option<&Arc<T>>) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(cached) = self.cached().as_ref().filter(|cached| cached.checked.elapsed() < self.interval)
        {
            return Ok(Arc::clone(&cached.value));
        }
        let _guard = match self.refresh_lock.try_lock() {
            Ok(guard) => guard,
            // The refreshing thread panicked before it stored a value; this one tries again.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if let Some(cached) = self.cached().as_ref() {
                    return Ok(Arc::clone(&cached.value));
                }
                self.refresh_lock.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        let (old, is_fresh) = match self.cached().as_ref() {
            Some(cached) => (Some(Arc::clone(&cached.value)), cached.checked.elapsed() < self.interval),
            None => (None, false),
        };
        // Another thread may have refreshed the value while this one waited for the lock.
        if let Some(value) = old.as_ref().filter(|_| is_fresh) {
            return Ok(Arc::clone(value));
        }
        let value = refresh(old.as_ref())?;
        *self.cached() = Some(Cached { value: Arc::clone(&value), checked: Instant::now() });
        Ok(value)
    }

    fn cached(&self) -> MutexGuard<'_, Option<Cached<T>>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn other_threads_get_the_old_value_during_a_refresh() {
        let cache = Refreshing::new(Duration::ZERO);
        let first = cache.get(|old| Ok::<_, Infallible>(Arc::new(old.map_or(1, |old| **old + 1))));
        assert_eq!(*first.unwrap(), 1);
        let (started, wait_started) = mpsc::channel();
        let (release, wait_release) = mpsc::channel();
        let cache = &cache;
        thread::scope(|scope| {
            let slow = scope.spawn(move || {
                cache.get(|old| {
                    started.send(()).unwrap();
                    wait_release.recv().unwrap();
                    Ok::<_, Infallible>(Arc::new(**old.unwrap() + 1))
                })
            });
            wait_started.recv().unwrap();
            let other = cache.get(|_| Err::<Arc<i32>, &str>("a second refresh at the same time"));
            assert_eq!(*other.unwrap(), 1);
            release.send(()).unwrap();
            assert_eq!(*slow.join().unwrap().unwrap(), 2);
        });
    }

    #[test]
    fn the_value_is_not_refreshed_within_the_interval() {
        let cache = Refreshing::new(Duration::from_secs(3_600));
        assert!(cache.get(|_| Err::<Arc<i32>, &str>("no value yet")).is_err());
        assert_eq!(*cache.get(|_| Ok::<_, &str>(Arc::new(1))).unwrap(), 1);
        assert_eq!(*cache.get(|_| Err::<Arc<i32>, &str>("a refresh within the interval")).unwrap(), 1);
    }
}
