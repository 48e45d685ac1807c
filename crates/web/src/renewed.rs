//! What is open for all who ask, and opened anew when there is something newer? While one does that, others go on with what there
//! was.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// Something that is looked after no more often than every so often.
pub(crate) struct Renewed<T> {
    every: Duration,
    known: Mutex<Option<Known<T>>>,
    /// One looks after it at a time.
    looking: Mutex<()>,
}

struct Known<T> {
    value: Arc<T>,
    looked: Instant,
}

impl<T> Renewed<T> {
    pub(crate) fn new(every: Duration) -> Renewed<T> {
        Renewed { every, known: Mutex::new(None), looking: Mutex::new(()) }
    }

    /// What there is. If it is time, `renew` gets what there was, and gives what there is from now on: the same, or something newer.
    pub(crate) fn get<E>(
        &self,
        renew: impl FnOnce(Option<&Arc<T>>) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(known) = self.known().as_ref().filter(|known| known.looked.elapsed() < self.every) {
            return Ok(Arc::clone(&known.value));
        }
        let _looking = match self.looking.try_lock() {
            Ok(looking) => looking,
            // After a panic it is tried again.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if let Some(known) = self.known().as_ref() {
                    return Ok(Arc::clone(&known.value));
                }
                self.looking.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        let (old, is_fresh) = match self.known().as_ref() {
            Some(known) => (Some(Arc::clone(&known.value)), known.looked.elapsed() < self.every),
            None => (None, false),
        };
        // Who had to wait may find it done.
        if let Some(value) = old.as_ref().filter(|_| is_fresh) {
            return Ok(Arc::clone(value));
        }
        let value = renew(old.as_ref())?;
        *self.known() = Some(Known { value: Arc::clone(&value), looked: Instant::now() });
        Ok(value)
    }

    fn known(&self) -> MutexGuard<'_, Option<Known<T>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn while_one_opens_anew_others_go_on_with_what_there_was() {
        let renewed = Renewed::new(Duration::ZERO);
        let first = renewed.get(|old| Ok::<_, Infallible>(Arc::new(old.map_or(1, |old| **old + 1))));
        assert_eq!(*first.unwrap(), 1);
        let (began, begins) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        let renewed = &renewed;
        thread::scope(|scope| {
            let slow = scope.spawn(move || {
                renewed.get(|old| {
                    began.send(()).unwrap();
                    goes_on.recv().unwrap();
                    Ok::<_, Infallible>(Arc::new(**old.unwrap() + 1))
                })
            });
            begins.recv().unwrap();
            let other = renewed.get(|_| Err::<Arc<i32>, &str>("somebody looks already"));
            assert_eq!(*other.unwrap(), 1);
            go_on.send(()).unwrap();
            assert_eq!(*slow.join().unwrap().unwrap(), 2);
        });
    }

    #[test]
    fn it_is_not_looked_after_too_often() {
        let renewed = Renewed::new(Duration::from_secs(3_600));
        assert!(renewed.get(|_| Err::<Arc<i32>, &str>("not there")).is_err());
        assert_eq!(*renewed.get(|_| Ok::<_, &str>(Arc::new(1))).unwrap(), 1);
        assert_eq!(*renewed.get(|_| Err::<Arc<i32>, &str>("nobody asks")).unwrap(), 1);
    }
}
