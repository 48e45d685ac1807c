//! How do the cores share the work? They take tasks from one queue; results come back in the order of the tasks.
//!
//! Useful for tasks of some 100 µs and more: threads live for one call.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// Does `work` for every task, on all cores.
pub(crate) fn map<T: Send, R: Send>(tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let workers = cores().min(tasks.len());
    let queue = Mutex::new(tasks.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let worker = || {
        loop {
            // The lock is not held while the task is done.
            let next = lock(&queue).next();
            let Some((number, task)) = next else { break };
            let result = work(task);
            lock(&done).push((number, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(worker);
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Asking the system takes longer than a small task.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// A panic elsewhere ends the scope anyway.
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
