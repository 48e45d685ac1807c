//! Parallel map over a list of tasks, on all cores.
//!
//! Useful for tasks of 100 µs and more: threads are started for each call.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

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

/// Number of cores, cached: the system call takes longer than a small task.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
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
