//! Who keeps the index up to date while a crawl goes on? A thread beside it that follows its commits.
//!
//! It takes no more than a share of the time, so that most of the machine is the crawl's. What goes wrong is told and does
//! not stop the crawl: the index can be made at any time. It never opens the collection, only its commits.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crawl::{Helm, Stop};
use search::{IndexSettings, IndexSummary};
use store::Snapshot;

use crate::settings::Settings;
use crate::steering::Teller;

/// Keeps the index of one collection up to date.
pub(crate) struct IndexKeeper<'k> {
    folder: &'k Path,
    helm: &'k Helm,
    teller: &'k Teller,
    settings: IndexSettings,
    /// Of the time.
    share: f64,
}

/// How often it looks for a commit.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl<'k> IndexKeeper<'k> {
    pub(crate) fn new(
        folder: &'k Path,
        settings: &Settings,
        helm: &'k Helm,
        teller: &'k Teller,
    ) -> anyhow::Result<IndexKeeper<'k>> {
        let share = f64::from(settings.search.share_of_crawl);
        // The other cores fetch and read pages.
        let settings = IndexSettings { threads: 1, ..settings.index_settings()? };
        Ok(IndexKeeper { folder, helm, teller, settings, share })
    }

    /// Does the work of a crawl while the index follows it, and waits until it has the last commit. Nothing is told of the index
    /// if that was not possible.
    pub(crate) fn keep_during<T>(self, work: impl FnOnce() -> T) -> (T, Option<IndexSummary>) {
        let (done, is_done) = channel::<()>();
        thread::scope(|scope| {
            let keeper = scope.spawn(move || self.follow(&is_done));
            let outcome = work();
            // The keeper listens until this is gone.
            drop(done);
            (outcome, keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn follow(&self, is_done: &Receiver<()>) -> Option<IndexSummary> {
        let (mut pause, mut seen, mut complaint) = (LOOK_EVERY, None, String::new());
        while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let commit = self.helm.live().commit.map(|commit| commit.generation);
            pause = LOOK_EVERY;
            if commit == seen {
                continue;
            }
            let started = Instant::now();
            seen = commit;
            if let Err(error) = self.index() {
                // It may well be the same after each commit.
                let told =
                    std::mem::replace(&mut complaint, format!("the index is not up to date: {error:#}"));
                if told != complaint {
                    self.teller.tell(complaint.clone());
                }
            }
            pause = pause.max(started.elapsed().mul_f64(1.0 / self.share - 1.0));
        }
        self.finish()
    }

    /// Takes in what came last, unless somebody is in a hurry.
    fn finish(&self) -> Option<IndexSummary> {
        if self.helm.live().stop == Stop::AtOnce {
            self.teller
                .tell(format!("the index is not up to date; `weir index {}` goes on", self.folder.display()));
            return None;
        }
        let indexed = self.index();
        let told =
            |error: &anyhow::Error| self.teller.tell(format!("the index is not up to date: {error:#}"));
        indexed.inspect_err(told).ok()
    }

    fn index(&self) -> anyhow::Result<IndexSummary> {
        let snapshot = Snapshot::open(self.folder, None)?;
        Ok(search::index(&snapshot, &self.settings, &mut |_| {})?)
    }
}
