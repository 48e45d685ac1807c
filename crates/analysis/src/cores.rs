//! How many cores take part, and how do they share the work? Tasks are taken from one queue, results come back in the
//! order of the tasks. Threads live for one call, so tasks should take some 100 µs and more together.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// So many threads work at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores(pub usize);

impl Cores {
    /// Those of this machine.
    pub fn all() -> Cores {
        Cores(thread::available_parallelism().map_or(1, usize::from))
    }

    /// Does `work` for every task.
    pub(crate) fn map<T: Send, R: Send>(self, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let threads = self.0.min(tasks.len());
        if threads <= 1 {
            return tasks.into_iter().map(work).collect();
        }
        let mut results: Vec<Option<R>> = Vec::new();
        results.resize_with(tasks.len(), || None);
        let queue = Mutex::new(tasks.into_iter().zip(results.iter_mut()));
        let worker = || {
            loop {
                // A panic elsewhere ends the scope anyway; the lock is not held while the task is done.
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((task, result)) = next else { break };
                *result = Some(work(task));
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
}
