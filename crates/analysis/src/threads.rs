//! Parallel execution on scoped threads. Threads take tasks from one queue, and results are returned in the order of
//! the tasks. Threads live for one call, so the tasks of a call should take 100 µs or more together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(pub usize);

impl Threads {
    /// One thread per core of this machine.
    pub fn available() -> Threads {
        Threads(thread::available_parallelism().map_or(1, usize::from))
    }

    /// Calls `f` for each task, and returns the results in the order of the tasks.
    pub(crate) fn map<T: Send, R: Send>(self, tasks: Vec<T>, f: impl Fn(T) -> R + Sync) -> Vec<R> {
        let threads = self.0.min(tasks.len());
        if threads <= 1 {
            return tasks.into_iter().map(f).collect();
        }
        let mut results: Vec<Option<R>> = Vec::new();
        results.resize_with(tasks.len(), || None);
        let queue = Mutex::new(tasks.into_iter().zip(results.iter_mut()));
        let worker = || {
            loop {
                // A poisoned lock is safe to use: no task runs while it is held, and a panic ends the scope anyway.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((task, result)) = next else { break };
                *result = Some(f(task));
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(worker);
            }
            worker();
        });
        results.into_iter().flatten().collect()
    }

    /// Calls `f` for each task, and `on_result` with each result on the calling thread, in the order of the tasks.
    /// Stops at the first error.
    pub(crate) fn try_for_each<T: Send, R: Send, E>(
        self,
        tasks: Vec<T>,
        f: impl Fn(T) -> R + Sync,
        mut on_result: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let threads = self.0.min(tasks.len()).max(1);
        let queue = Mutex::new(tasks.into_iter().enumerate());
        let (sender, results) = mpsc::channel();
        let worker = |sender: mpsc::Sender<(usize, R)>| {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((index, task)) = next else { break };
                // The receiver is gone after an error.
                if sender.send((index, f(task))).is_err() {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                let sender = sender.clone();
                scope.spawn(|| worker(sender));
            }
            drop(sender);
            let mut early: BTreeMap<usize, R> = BTreeMap::new();
            let mut next_index = 0;
            for (index, result) in results {
                // Results that finished before an earlier task wait here.
                early.insert(index, result);
                while let Some(result) = early.remove(&next_index) {
                    on_result(result)?;
                    next_index += 1;
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_returned_in_the_order_of_the_tasks() {
        let mut seen = Vec::new();
        let work = |number: u64| {
            // The first tasks take the longest.
            (0..(1_000 - number) * 200).fold(number, |sum, _| std::hint::black_box(sum))
        };
        let on_result = |number| {
            seen.push(number);
            Ok::<(), ()>(())
        };
        Threads(4).try_for_each((0..1_000).collect(), work, on_result).unwrap();
        assert!(seen.into_iter().eq(0..1_000));
        assert_eq!(Threads(2).try_for_each(Vec::<u8>::new(), |task| task, |_| Err(())), Ok(()));
    }

    #[test]
    fn the_first_error_is_returned() {
        let mut seen = 0;
        let on_result = |number: u32| {
            seen += 1;
            if number == 7 { Err(number) } else { Ok(()) }
        };
        assert_eq!(Threads(3).try_for_each((0..1_000).collect(), |task| task, on_result), Err(7));
        assert_eq!(seen, 8);
    }
}
