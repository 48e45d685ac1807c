//! Merging of runs: a policy chooses them by size, a background thread merges them, and the next commit replaces them.
//!
//! The result is written to the scratch directory, where it is not deleted as unreferenced, and is moved in the commit that
//! references it. If the process ends during a merge, only the merge is lost.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::run::{Run, RunEntry, RunWriter};
use crate::disk;
use crate::error::{Context, Result};
use crate::failpoint::failpoint;
use crate::layout;
use crate::manifest::FileEntry;
use crate::parallel::Task;

/// Decision of the merge policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeDecision {
    /// No merge is due.
    Wait,
    /// Merge this number of the smallest runs.
    MergeSmallest(usize),
}

/// Minimum number of runs of similar size for a merge.
const FAN_IN: usize = 4;
/// Maximum number of runs, unless merging falls behind.
const MAX_RUNS: usize = 8;
/// Number of runs at which a commit waits for the merge.
pub(super) const TOO_MANY_RUNS: usize = 2 * MAX_RUNS;

/// Decides by the sizes of the runs, in ascending order.
///
/// Merges the smallest runs up to the last that is not larger than the sum of all before it. An entry is thus copied only
/// into a run at least twice as large, and so at most log2(pages) times.
pub(super) fn plan(sizes: &[u64]) -> MergeDecision {
    let mut sum = 0;
    let mut count = 0;
    for (index, &size) in sizes.iter().enumerate() {
        if size <= sum {
            count = index + 1;
        }
        sum += size;
    }
    if count >= FAN_IN {
        MergeDecision::MergeSmallest(count)
    } else if sizes.len() > MAX_RUNS {
        MergeDecision::MergeSmallest(count.max(sizes.len() - MAX_RUNS + 1))
    } else {
        MergeDecision::Wait
    }
}

/// Merge in progress on its own thread; stopped on drop.
pub(super) struct Merge {
    inputs: Vec<Arc<Run>>,
    stop: Arc<AtomicBool>,
    /// `None` after it was joined.
    task: Option<Task<Result<Option<FileEntry>>>>,
}

impl Merge {
    /// Starts to merge runs.
    pub(super) fn start(dir: &Path, inputs: Vec<Arc<Run>>) -> Result<Merge> {
        let scratch = dir.join(layout::SCRATCH);
        disk::create_dir_all(&scratch).context("create", &scratch)?;
        let stop = Arc::new(AtomicBool::new(false));
        let task = {
            let (dir, inputs, stop) = (dir.to_owned(), inputs.clone(), stop.clone());
            Task::start(move || merge(&dir, &inputs, &stop))
        };
        Ok(Merge { inputs, stop, task: Some(task) })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(Task::is_finished)
    }

    /// Waits for the result, renames it, and replaces the merged runs in `runs` by it.
    pub(super) fn finish(mut self, dir: &Path, name: &str, runs: &mut Vec<Arc<Run>>) -> Result<()> {
        let Some(entry) = self.join()? else { return Ok(()) };
        let path = dir.join(name);
        disk::rename(&dir.join(&entry.name), &path).context("rename", &path)?;
        let merged = Run::open(dir, &FileEntry { name: name.to_owned(), ..entry })?;
        runs.retain(|run| !self.inputs.iter().any(|input| Arc::ptr_eq(run, input)));
        runs.push(Arc::new(merged));
        Ok(())
    }

    fn join(&mut self) -> Result<Option<FileEntry>> {
        self.task.take().map_or(Ok(None), Task::join)
    }
}

/// Stops the thread: it must not write to the scratch file after its owner is gone.
impl Drop for Merge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(task) = self.task.take() {
            // An error no longer matters.
            task.wait();
        }
    }
}

/// Deletes the leftover of an interrupted merge.
pub(super) fn clean_up(dir: &Path) -> Result<()> {
    let path = scratch_file(dir);
    if disk::exists(&path).context("read", &path)? {
        disk::remove_file(&path).context("remove", &path)
    } else {
        Ok(())
    }
}

fn scratch_file(dir: &Path) -> PathBuf {
    dir.join(layout::SCRATCH).join(SCRATCH_NAME)
}

const SCRATCH_NAME: &str = "urls-run";

/// Number of entries merged at a time, on average.
const STEP_ENTRIES: u64 = 1 << 16;

/// Merges runs in steps, each a range of hashes; `None` if it was stopped.
fn merge(dir: &Path, inputs: &[Arc<Run>], stop: &AtomicBool) -> Result<Option<FileEntry>> {
    failpoint("merge of URLs: begins");
    let mut writer = RunWriter::create(dir, &format!("{}/{SCRATCH_NAME}", layout::SCRATCH))?;
    let entries: u64 = inputs.iter().map(|run| run.entries()).sum();
    let mut all: Vec<RunEntry> = Vec::new();
    let mut some = Vec::new();
    for hashes in ranges(entries / STEP_ENTRIES + 1) {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        all.clear();
        for run in inputs {
            run.read_range(&hashes, &mut some)?;
            all.extend_from_slice(&some);
        }
        // The stable sort detects the sorted runs and merges them.
        all.sort();
        all.iter().try_for_each(|&entry| writer.push(entry))?;
    }
    let merged = writer.finish()?;
    failpoint("merge of URLs: ends");
    Ok(Some(merged))
}

/// Divides all hashes into `count` ranges.
fn ranges(count: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let start = move |index: u64| ((u128::from(index) << 64) / u128::from(count)) as u64;
    (0..count).map(move |index| start(index)..=start(index + 1).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_unequal_runs_are_not_merged() {
        assert_eq!(plan(&[]), MergeDecision::Wait);
        assert_eq!(plan(&[5]), MergeDecision::Wait);
        assert_eq!(plan(&[5, 5, 5]), MergeDecision::Wait);
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128]), MergeDecision::Wait);
    }

    #[test]
    fn equal_runs_are_merged_and_a_larger_one_when_they_match_it() {
        assert_eq!(plan(&[5, 5, 5, 5]), MergeDecision::MergeSmallest(4));
        assert_eq!(plan(&[5, 5, 5, 5, 21]), MergeDecision::MergeSmallest(4));
        assert_eq!(plan(&[5, 5, 5, 5, 20]), MergeDecision::MergeSmallest(5));
    }

    #[test]
    fn too_many_runs_of_any_size_are_merged() {
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128, 256]), MergeDecision::MergeSmallest(2));
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512]), MergeDecision::MergeSmallest(3));
    }

    #[test]
    fn commits_of_equal_size_leave_few_runs_and_copy_little() {
        let (mut runs, mut copied): (Vec<u64>, u64) = (Vec::new(), 0);
        for commit in 1..=10_000 {
            runs.push(1);
            runs.sort_unstable();
            if let MergeDecision::MergeSmallest(count) = plan(&runs) {
                let merged = runs.drain(..count).sum();
                copied += merged;
                runs.push(merged);
            }
            assert!(runs.len() <= MAX_RUNS + 1, "{runs:?}");
            assert!(copied <= commit * 12, "{copied} entries copied after {commit} commits");
        }
    }

    #[test]
    fn ranges_meet_without_overlap() {
        for count in [1, 2, 3, 7, 1000] {
            let mut next = 0_u64;
            for range in ranges(count) {
                assert_eq!(*range.start(), next);
                next = range.end().wrapping_add(1);
            }
            assert_eq!(next, 0);
        }
    }
}
