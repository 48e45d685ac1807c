//! Who keeps the index up to date while a crawl goes on? A thread beside it that follows its commits.
//!
//! It takes no more than a share of the time, so that most of the machine is the crawl's. What goes wrong is told and does
//! not stop the crawl: the index can be made at any time. It never opens the collection, only its commits.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
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
    /// Of the time, while the crawl goes on.
    share: f64,
}

/// How often it looks for a commit, and for somebody in a hurry.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl<'k> IndexKeeper<'k> {
    pub(crate) fn new(
        folder: &'k Path,
        settings: &Settings,
        helm: &'k Helm,
        teller: &'k Teller,
    ) -> anyhow::Result<IndexKeeper<'k>> {
        let share = f64::from(settings.search.share_of_crawl);
        Ok(IndexKeeper { folder, helm, teller, settings: settings.index_settings()?, share })
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
            // The other cores fetch and read pages. When the crawl is over all are free, and it is begun again with them.
            let is_over = || is_done.try_recv() == Err(TryRecvError::Disconnected);
            if let Err(error) = self.index(1, &|| is_over() || self.is_in_a_hurry())
                && !is_over()
            {
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

    /// Takes in what came last, unless somebody is in a hurry. Nobody else needs the machine now.
    fn finish(&self) -> Option<IndexSummary> {
        let told =
            |error: &anyhow::Error| self.teller.tell(format!("the index is not up to date: {error:#}"));
        if self.is_in_a_hurry() {
            told(&search::Error::Stopped.into());
            return None;
        }
        self.index(self.settings.threads, &|| self.is_in_a_hurry()).inspect_err(told).ok()
    }

    fn is_in_a_hurry(&self) -> bool {
        self.helm.live().stop == Stop::AtOnce
    }

    /// Brings the index up to date, unless it is to be broken off.
    fn index(&self, threads: usize, breaks_off: &dyn Fn() -> bool) -> anyhow::Result<IndexSummary> {
        let snapshot = Snapshot::open(self.folder, None)?;
        let settings = IndexSettings { threads, ..self.settings.clone() };
        let mut looked = Instant::now();
        Ok(search::index(&snapshot, &settings, &mut |_| {
            if looked.elapsed() < LOOK_EVERY {
                return ControlFlow::Continue(());
            }
            looked = Instant::now();
            if breaks_off() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?)
    }
}
