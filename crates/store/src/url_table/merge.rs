//! When do runs become one, and who does it? A policy looks at their sizes; a thread merges files that never change,
//! while everybody goes on; the next commit puts the result in their place.
//!
//! The result is written in the scratch folder, where no sweep looks for it, and moves in the commit that names it. A
//! merge that is under way when the process ends is lost, and nothing else.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::run::{Entry, Run, RunWriter};
use crate::error::{Context, Result};
use crate::failpoint::failpoint;
use crate::layout;
use crate::manifest::FileEntry;

/// What is to be done about the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// There are few enough.
    Wait,
    /// The smallest so many become one.
    MergeSmallest(usize),
}

/// So many runs of about one size are merged.
const FAN_IN: usize = 4;
/// A batch asks no more runs than this, unless merging falls behind.
const MAX_RUNS: usize = 8;
/// With so many runs a commit waits for the merge.
pub(super) const TOO_MANY_RUNS: usize = 2 * MAX_RUNS;

/// Decides by the sizes of the runs, in ascending order.
///
/// The smallest ones are merged up to the last that is not larger than all before it together: so an entry is copied
/// only into a run at least twice as large, and therefore at most log2(pages) times.
pub(super) fn plan(sizes: &[u64]) -> Plan {
    let mut sum = 0;
    let mut count = 0;
    for (number, &size) in sizes.iter().enumerate() {
        if size <= sum {
            count = number + 1;
        }
        sum += size;
    }
    if count >= FAN_IN {
        Plan::MergeSmallest(count)
    } else if sizes.len() > MAX_RUNS {
        Plan::MergeSmallest(count.max(sizes.len() - MAX_RUNS + 1))
    } else {
        Plan::Wait
    }
}

/// A merge that is under way in its own thread; ends with this.
#[derive(Debug)]
pub(super) struct Merge {
    inputs: Vec<Arc<Run>>,
    stop: Arc<AtomicBool>,
    /// None once it was waited for.
    thread: Option<JoinHandle<Result<Option<FileEntry>>>>,
}

impl Merge {
    /// Starts to merge runs of the collection in this folder.
    pub(super) fn start(folder: &Path, inputs: Vec<Arc<Run>>) -> Result<Merge> {
        let scratch = folder.join(layout::SCRATCH);
        fs::create_dir_all(&scratch).context("create", &scratch)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (folder, inputs, stop) = (folder.to_owned(), inputs.clone(), stop.clone());
            thread::spawn(move || merge(&folder, &inputs, &stop))
        };
        Ok(Merge { inputs, stop, thread: Some(thread) })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the result, gives it its name, and takes it into `runs` in place of those that it was made of.
    pub(super) fn finish(mut self, folder: &Path, name: &str, runs: &mut Vec<Arc<Run>>) -> Result<()> {
        let Some(entry) = self.join()? else { return Ok(()) };
        let path = folder.join(name);
        fs::rename(folder.join(&entry.name), &path).context("rename", &path)?;
        let merged = Run::open(folder, &FileEntry { name: name.to_owned(), ..entry })?;
        runs.retain(|run| !self.inputs.iter().any(|input| Arc::ptr_eq(run, input)));
        runs.push(Arc::new(merged));
        Ok(())
    }

    fn join(&mut self) -> Result<Option<FileEntry>> {
        let Some(thread) = self.thread.take() else { return Ok(None) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Nobody may write to the scratch file once its owner is gone.
impl Drop for Merge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whether it failed no longer matters.
            drop(thread.join());
        }
    }
}

/// Removes what a merge has left behind.
pub(super) fn clean_up(folder: &Path) -> Result<()> {
    let path = scratch_file(folder);
    if path.exists() { fs::remove_file(&path).context("remove", &path) } else { Ok(()) }
}

fn scratch_file(folder: &Path) -> PathBuf {
    folder.join(layout::SCRATCH).join(SCRATCH_NAME)
}

const SCRATCH_NAME: &str = "urls-run";

/// So many entries are merged at a time.
const STEP_ENTRIES: u64 = 1 << 16;

/// Merges runs step by step, each a range of hashes; nothing if told to stop.
fn merge(folder: &Path, inputs: &[Arc<Run>], stop: &AtomicBool) -> Result<Option<FileEntry>> {
    failpoint("merge of URLs: begins");
    let mut writer = RunWriter::create(folder, &format!("{}/{SCRATCH_NAME}", layout::SCRATCH))?;
    let entries: u64 = inputs.iter().map(|run| run.entries()).sum();
    let mut all: Vec<Entry> = Vec::new();
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
        // The sort finds the sorted stretches and merges them.
        all.sort();
        all.iter().try_for_each(|&entry| writer.push(entry))?;
    }
    let merged = writer.finish()?;
    failpoint("merge of URLs: ends");
    Ok(Some(merged))
}

/// Divides all hashes into so many ranges.
fn ranges(count: u64) -> impl Iterator<Item = RangeInclusive<u64>> {
    let start = move |number: u64| ((u128::from(number) << 64) / u128::from(count)) as u64;
    (0..count).map(move |number| start(number)..=start(number + 1).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_unequal_runs_stay() {
        assert_eq!(plan(&[]), Plan::Wait);
        assert_eq!(plan(&[5]), Plan::Wait);
        assert_eq!(plan(&[5, 5, 5]), Plan::Wait);
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128]), Plan::Wait);
    }

    #[test]
    fn equal_runs_become_one_and_a_larger_one_joins_when_they_match_it() {
        assert_eq!(plan(&[5, 5, 5, 5]), Plan::MergeSmallest(4));
        assert_eq!(plan(&[5, 5, 5, 5, 21]), Plan::MergeSmallest(4));
        assert_eq!(plan(&[5, 5, 5, 5, 20]), Plan::MergeSmallest(5));
    }

    #[test]
    fn too_many_runs_of_any_size_are_merged() {
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128, 256]), Plan::MergeSmallest(2));
        assert_eq!(plan(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512]), Plan::MergeSmallest(3));
    }

    #[test]
    fn commits_of_one_size_leave_few_runs_and_copy_little() {
        let (mut runs, mut copied): (Vec<u64>, u64) = (Vec::new(), 0);
        for commit in 1..=10_000 {
            runs.push(1);
            runs.sort_unstable();
            if let Plan::MergeSmallest(count) = plan(&runs) {
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
