//! One history: operations on a collection, faults, and the model that follows them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;

use store::{
    Collection, Fault, PageStoreSettings, Random, Result, RetentionPolicy, SimulatedDisk, Snapshot,
    StoreSettings, check, delete_snapshot, list_snapshots, name_snapshot,
};

use super::analysis::{Analysis, PARTS, Part};
use super::model::{Model, verify_soundness};

/// Number of operations of a history.
const MAX_OPERATIONS: usize = 40;

/// History in progress.
pub(super) struct History {
    seed: u64,
    disk: SimulatedDisk,
    dir: PathBuf,
    pub(super) random: Random,
    /// `None` while it is closed.
    collection: Option<Collection>,
    /// Content with the changes since the last commit.
    pub(super) current: Model,
    /// Content of the last acknowledged commit.
    committed: Model,
    /// Content of the commit that is in progress or has failed.
    in_progress: Option<Model>,
    /// Acknowledged snapshots.
    snapshots: BTreeMap<String, Model>,
    /// Snapshot that is being created or deleted: it may exist or not.
    uncertain_snapshot: Option<(String, Model)>,
    /// Acknowledged results of analyses.
    analyses: BTreeMap<Part, Analysis>,
    /// Part that is being written.
    uncertain_analysis: Option<(Part, Analysis)>,
    pub(super) clock_s: u32,
    /// Printed after a failure.
    steps: Vec<String>,
}

/// Operation of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    WritePages,
    UpdateSites,
    Commit,
    Compact,
    MergeIndex,
    ExpireOldCommits,
    CreateSnapshot,
    DeleteSnapshot,
    Analyze,
    Read,
    Reopen,
    PowerCut,
}

/// Operations; those that are listed more often occur more often.
const OPERATIONS: [Operation; 23] = [
    Operation::WritePages,
    Operation::WritePages,
    Operation::WritePages,
    Operation::WritePages,
    Operation::WritePages,
    Operation::UpdateSites,
    Operation::UpdateSites,
    Operation::Commit,
    Operation::Commit,
    Operation::Commit,
    Operation::Commit,
    Operation::Commit,
    Operation::Commit,
    Operation::Compact,
    Operation::MergeIndex,
    Operation::ExpireOldCommits,
    Operation::CreateSnapshot,
    Operation::DeleteSnapshot,
    Operation::Analyze,
    Operation::Analyze,
    Operation::Read,
    Operation::Reopen,
    Operation::PowerCut,
];

/// Small limits, so that files are often completed, merged, compacted and rewritten.
fn settings() -> StoreSettings {
    StoreSettings {
        page_store: PageStoreSettings {
            max_file_bytes: 12_000,
            duplicate_window: 64,
            ..PageStoreSettings::default()
        },
        max_dirty_pages: 15,
        max_dirty_sites: 3,
        url_cache_entries: 8,
    }
}

impl History {
    /// Runs a history; returns the hash of all its calls.
    pub(super) fn run(seed: u64, is_verbose: bool) -> u64 {
        let mut random = Random::new(seed);
        let disk = SimulatedDisk::new(random.next_u64());
        let mut history = History {
            seed,
            dir: disk.path().join("collection"),
            disk,
            random,
            collection: None,
            current: Model::default(),
            committed: Model::default(),
            in_progress: None,
            snapshots: BTreeMap::new(),
            uncertain_snapshot: None,
            analyses: BTreeMap::new(),
            uncertain_analysis: None,
            clock_s: 1_700_000_000,
            steps: Vec::new(),
        };
        history.create();
        for _ in 0..1 + history.random.below(MAX_OPERATIONS) {
            let operation = OPERATIONS[history.random.below(OPERATIONS.len())];
            history.step(operation);
        }
        history.plan(None);
        history.step(Operation::WritePages);
        history.step(Operation::Commit);
        history.verify();
        if is_verbose {
            history.steps.iter().for_each(|step| println!("{step}"));
        }
        history.disk.trace()
    }

    /// Creates the collection, with faults, until it succeeds.
    fn create(&mut self) {
        for attempt in 0.. {
            let fault = if attempt < 3 { self.fault(40) } else { None };
            self.plan(fault);
            match Collection::create(&self.dir, settings()) {
                Ok(collection) => {
                    self.collection = Some(collection);
                    return;
                }
                Err(error) => self.note(format!("creation failed: {error}")),
            }
            assert!(attempt < 4, "the collection cannot be created");
            if !self.disk.has_power() || self.random.one_in(4) {
                self.disk.restart();
            }
            self.plan(None);
            // A failed creation may have created it.
            if let Ok(collection) = Collection::open(&self.dir, settings()) {
                self.collection = Some(collection);
                return;
            }
        }
    }

    /// Carries out an operation, with a fault in one of three.
    fn step(&mut self, operation: Operation) {
        let fault = if self.random.one_in(3) { self.fault(250) } else { None };
        self.note(format!("{operation:?} with {fault:?}"));
        self.plan(fault);
        let Some(mut collection) = self.collection.take() else { return self.reopen() };
        let outcome = self.carry_out(operation, &mut collection);
        match outcome {
            // An operation that only reads may ignore the loss of power.
            Ok(()) if !self.disk.has_power() => self.recover(collection),
            Ok(()) if !matches!(operation, Operation::Reopen | Operation::PowerCut) => {
                self.collection = Some(collection);
                self.settle();
            }
            Ok(()) => {
                drop(collection);
                if operation == Operation::PowerCut {
                    self.disk.restart();
                }
                self.reopen();
            }
            Err(error) => {
                self.note(format!("failed: {error}"));
                match operation {
                    Operation::Analyze if self.disk.has_power() && self.random.one_in(2) => {
                        self.repeat_analysis();
                        self.collection = Some(collection);
                    }
                    // Nothing was acknowledged, so it may exist now and not later: a power cut decides.
                    Operation::CreateSnapshot | Operation::DeleteSnapshot | Operation::Analyze => {
                        drop(collection);
                        self.disk.restart();
                        self.reopen();
                    }
                    _ => self.recover(collection),
                }
            }
        }
    }

    /// Repeats an analysis that has failed, while the collection is open.
    fn repeat_analysis(&mut self) {
        self.plan(None);
        if let Some((part, analysis)) = self.uncertain_analysis.take() {
            part.write(&self.dir, analysis).unwrap();
            self.analyses.insert(part, analysis);
        }
    }

    /// Continues after an error.
    fn recover(&mut self, mut collection: Collection) {
        // A collection that has failed refuses to commit, or has lost nothing.
        if self.disk.has_power() && self.random.one_in(4) {
            self.plan(None);
            let outcome = collection.commit(0).map(|manifest| manifest.generation);
            self.note(format!("commit after an error: {outcome:?}"));
            assert!(outcome.is_err() || self.in_progress.is_none(), "a failed commit was repeated");
            let found = store::find_snapshot(&self.dir, None).unwrap().generation;
            if self.in_progress.is_none() && found != self.committed.generation {
                // The changes before the error are not known to the model.
                drop(collection);
                return self.forget();
            }
        }
        drop(collection);
        if !self.disk.has_power() || self.random.one_in(3) {
            self.disk.restart();
        }
        self.reopen();
    }

    /// Ends the history: its content is unknown, but it must be sound.
    fn forget(&mut self) {
        self.plan(None);
        verify_soundness(&self.dir);
        std::mem::take(&mut self.steps);
        let seed = self.random.next_u64();
        self.disk = SimulatedDisk::new(seed);
        self.dir = self.disk.path().join("collection");
        (self.current, self.committed, self.in_progress) = Default::default();
        (self.uncertain_snapshot, self.uncertain_analysis) = (None, None);
        self.snapshots.clear();
        self.analyses.clear();
        self.create();
    }

    /// Opens the collection, with a fault in one of four, and compares it with the model.
    fn reopen(&mut self) {
        let fault = if self.random.one_in(4) { self.fault(120) } else { None };
        self.plan(fault);
        for attempt in 0..4 {
            // Readers come before the writer, too.
            if attempt > 0 && self.random.one_in(8) {
                self.settle();
                self.verify();
            }
            match Collection::open(&self.dir, settings()) {
                Ok(collection) => {
                    let generation = collection.manifest().unwrap().generation;
                    self.note(format!("open at generation {generation}"));
                    self.collection = Some(collection);
                    self.settle();
                    self.current = self.committed.clone();
                    self.verify();
                    return;
                }
                Err(error) => {
                    self.note(format!("opening with {fault:?} failed: {error}"));
                    assert!(fault.is_some() && attempt == 0, "cannot open: {error}");
                }
            }
            self.plan(None);
            if !self.disk.has_power() || self.random.one_in(3) {
                self.disk.restart();
            }
        }
    }

    /// Decides what has become of a commit, a snapshot and an analysis that were in progress.
    fn settle(&mut self) {
        self.plan(None);
        if !self.disk.has_power() {
            return;
        }
        let found = store::find_snapshot(&self.dir, None).unwrap().generation;
        if let Some(model) = self.in_progress.take_if(|model| model.generation == found) {
            self.committed = model;
        }
        self.in_progress = None;
        assert_eq!(found, self.committed.generation, "the last acknowledged commit");
        let has = |name: &str| {
            let listed = list_snapshots(&self.dir).unwrap();
            listed.iter().any(|entry| entry.name.as_deref() == Some(name))
        };
        if let Some((name, model)) = self.uncertain_snapshot.take()
            && has(&name)
        {
            self.snapshots.insert(name, model);
        }
        if let Some((part, analysis)) = self.uncertain_analysis.take() {
            let before = self.analyses.remove(&part);
            if part.is_stored(&self.dir, Some(analysis)) {
                self.analyses.insert(part, analysis);
            } else if part.is_stored(&self.dir, before) {
                self.analyses.extend(before.map(|before| (part, before)));
            } else {
                // A table is deleted before it is replaced.
                assert!(part == Part::Table && part.is_stored(&self.dir, None), "{part:?} is damaged");
            }
        }
    }

    /// Compares everything with the model.
    fn verify(&mut self) {
        self.plan(None);
        self.committed.verify(&self.dir, None);
        for (name, model) in &self.snapshots {
            model.verify(&self.dir, Some(name));
        }
        let listed = list_snapshots(&self.dir).unwrap();
        let names: Vec<&str> = listed.iter().filter_map(|entry| entry.name.as_deref()).collect();
        assert_eq!(names.len(), self.snapshots.len(), "{names:?}");
        for part in PARTS {
            let expected = self.analyses.get(&part).copied();
            assert!(part.is_stored(&self.dir, expected), "{part:?} is not {expected:?}");
        }
        verify_soundness(&self.dir);
    }

    fn carry_out(&mut self, operation: Operation, collection: &mut Collection) -> Result<()> {
        match operation {
            Operation::WritePages => self.write_pages(collection),
            Operation::UpdateSites => self.update_sites(collection),
            Operation::Commit => self.commit(collection),
            Operation::Compact => collection.compact(RetentionPolicy::Latest).map(|_| ()),
            Operation::MergeIndex => match collection.page_store.start_merge() {
                Some(merge) => merge.run().and_then(|merged| collection.page_store.finish_merge(merged)),
                None => Ok(()),
            },
            Operation::ExpireOldCommits => collection.expire_old_commits(),
            Operation::CreateSnapshot => self.create_snapshot(),
            Operation::DeleteSnapshot => self.delete_snapshot(),
            Operation::Analyze => {
                let part = PARTS[self.random.below(PARTS.len())];
                let analysis = (self.committed.generation, self.random.below(100_000) as u32);
                self.uncertain_analysis = Some((part, analysis));
                part.write(&self.dir, analysis)?;
                self.uncertain_analysis = None;
                self.analyses.insert(part, analysis);
                Ok(())
            }
            Operation::Read => {
                // A fault may be an error, or a finding of the check; nothing else.
                let _ = check(&self.dir, None, |_| {});
                let _ = Snapshot::open(&self.dir, None);
                Ok(())
            }
            Operation::Reopen | Operation::PowerCut => Ok(()),
        }
    }

    fn commit(&mut self, collection: &mut Collection) -> Result<()> {
        self.current.application_state = self.random.next_u64() >> 1;
        collection.application_state = self.current.application_state.into();
        let next = Model { generation: self.committed.generation + 1, ..self.current.clone() };
        self.in_progress = Some(next.clone());
        let generation = collection.commit(i64::from(self.clock_s) * 1_000)?.generation;
        assert_eq!(generation, next.generation);
        self.in_progress = None;
        (self.current, self.committed) = (next.clone(), next);
        Ok(())
    }

    fn create_snapshot(&mut self) -> Result<()> {
        let name = format!("snapshot {}", self.random.below(1_000));
        let is_named = self.snapshots.values().any(|model| model.generation == self.committed.generation);
        if is_named || self.snapshots.contains_key(&name) {
            return Ok(());
        }
        self.uncertain_snapshot = Some((name.clone(), self.committed.clone()));
        name_snapshot(&self.dir, &name, None)?;
        self.uncertain_snapshot = None;
        self.snapshots.insert(name, self.committed.clone());
        Ok(())
    }

    fn delete_snapshot(&mut self) -> Result<()> {
        let Some((name, model)) = self.snapshots.pop_first() else { return Ok(()) };
        self.uncertain_snapshot = Some((name.clone(), model));
        delete_snapshot(&self.dir, &name)?;
        self.uncertain_snapshot = None;
        Ok(())
    }

    /// Chooses a fault within a number of calls.
    fn fault(&mut self, calls: usize) -> Option<(u64, Fault)> {
        let fault = match self.random.below(12) {
            0 | 1 => Fault::Eio,
            2 => Fault::NoSpace(1),
            3 => Fault::NoSpace(1 + self.random.below(50) as u32),
            4 => Fault::Interrupted,
            5 => Fault::Short,
            6 => Fault::TornWrite,
            7 => Fault::FailedSync,
            _ => Fault::PowerCut,
        };
        // Small numbers are more frequent: most operations have few calls.
        let limit = self.random.below(calls) + 1;
        Some((1 + self.random.below(limit) as u64, fault))
    }

    fn plan(&mut self, fault: Option<(u64, Fault)>) {
        self.disk.plan(fault);
    }

    fn note(&mut self, step: String) {
        self.steps.push(step);
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("history {}:", self.seed);
            self.steps.iter().for_each(|step| println!("    {step}"));
        }
    }
}
