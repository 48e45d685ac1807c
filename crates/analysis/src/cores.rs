//! How many cores take part, and how do they share the work? Tasks are taken from one queue, results come back in the
//! order of the tasks. Threads live for one call, so tasks should take some 100 µs and more together.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
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

    /// Does `work` for every task and hands the results to `each`, in the order of the tasks, on the calling thread. The
    /// first error ends it.
    pub(crate) fn try_for_each<T: Send, R: Send, E>(
        self,
        tasks: Vec<T>,
        work: impl Fn(T) -> R + Sync,
        mut each: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let threads = self.0.min(tasks.len()).max(1);
        let queue = Mutex::new(tasks.into_iter().enumerate());
        let (sender, results) = mpsc::channel();
        let worker = |sender: mpsc::Sender<(usize, R)>| {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, task)) = next else { break };
                // Nobody listens any more after an error.
                if sender.send((number, work(task))).is_err() {
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
            let mut wanted = 0;
            for (number, result) in results {
                early.insert(number, result);
                while let Some(result) = early.remove(&wanted) {
                    each(result)?;
                    wanted += 1;
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
    fn results_come_in_the_order_of_the_tasks() {
        let mut seen = Vec::new();
        let work = |number: u64| {
            // The first tasks take longest.
            (0..(1_000 - number) * 200).fold(number, |sum, _| std::hint::black_box(sum))
        };
        let each = |number| {
            seen.push(number);
            Ok::<(), ()>(())
        };
        Cores(4).try_for_each((0..1_000).collect(), work, each).unwrap();
        assert!(seen.into_iter().eq(0..1_000));
        assert_eq!(Cores(2).try_for_each(Vec::<u8>::new(), |task| task, |_| Err(())), Ok(()));
    }

    #[test]
    fn the_first_error_is_the_result() {
        let mut seen = 0;
        let each = |number: u32| {
            seen += 1;
            if number == 7 { Err(number) } else { Ok(()) }
        };
        assert_eq!(Cores(3).try_for_each((0..1_000).collect(), |task| task, each), Err(7));
        assert_eq!(seen, 8);
    }
}
