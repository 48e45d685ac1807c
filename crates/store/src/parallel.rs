//! Work on several threads: a map over a list of tasks, two functions at once, one on every core, and one in the
//! background.
//!
//! Useful for tasks of 100 µs and more: threads are started for each call. On a simulated disk, the calling thread does
//! everything itself, one after the other.

use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use crate::disk;
use crate::error::Result;

/// Applies `work` to every task; returns the results in the order of the tasks.
pub(crate) fn map<T: Send, R: Send>(tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let workers = cores().min(tasks.len());
    let queue = Mutex::new(tasks.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let worker = || {
        loop {
            // Taken in its own statement, so that the lock is released before the task runs.
            let next = lock(&queue).next();
            let Some((index, task)) = next else { break };
            let result = work(task);
            lock(&done).push((index, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(worker);
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs `first` on another thread and `second` on this one; returns both results.
pub(crate) fn join<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if disk::is_single_threaded() {
        return (first(), second());
    }
    thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
    })
}

/// Runs `worker` once on each core; returns all results, also after an error.
pub(crate) fn on_all_cores<R: Send>(worker: impl Fn() -> Result<R> + Sync) -> Result<Vec<R>> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..cores()).map(|_| scope.spawn(&worker)).collect();
        let own = worker();
        let others =
            others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others.collect::<Vec<_>>()).collect()
    })
}

/// Work on a background thread.
pub(crate) enum Task<T> {
    Running(JoinHandle<T>),
    /// Work that [`Task::join`] does itself.
    Deferred(Box<dyn FnOnce() -> T + Send + Sync>),
}

impl<T: Send + 'static> Task<T> {
    pub(crate) fn start(work: impl FnOnce() -> T + Send + Sync + 'static) -> Task<T> {
        if disk::is_single_threaded() {
            Task::Deferred(Box::new(work))
        } else {
            Task::Running(thread::spawn(work))
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Task::Running(thread) => thread.is_finished(),
            Task::Deferred(_) => true,
        }
    }

    /// Waits for the result; continues a panic.
    pub(crate) fn join(self) -> T {
        match self {
            Task::Running(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Task::Deferred(work) => work(),
        }
    }

    /// Waits for the end of the thread; ignores the result.
    pub(crate) fn wait(self) {
        if let Task::Running(thread) = self {
            drop(thread.join());
        }
    }
}

/// Number of cores, cached: the system call takes longer than a small task.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    if disk::is_single_threaded() {
        return 1;
    }
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Locks a mutex; poisoning is ignored, because a panic of another thread ends the scope anyway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        let squares = map((0..10_000_u64).collect(), |number| number * number);
        assert!(squares.into_iter().eq((0..10_000).map(|number| number * number)));
        assert!(map(Vec::<u8>::new(), |byte| byte).is_empty());
    }
}
