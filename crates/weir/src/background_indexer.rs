//! Background indexer: a thread that updates the text index after the commits of a running crawl.
//!
//! It uses at most a share of one core (`search.max_cpu_share`). An error is printed and does not stop the crawl, since
//! the index can be built at any time. It reads commits and never opens the collection for writing.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use harvest::{CrawlHandle, StopMode};
use search::{IndexSettings, IndexSummary};
use store::Snapshot;

use crate::crawl_control::StderrNotifier;
use crate::settings::Settings;

/// Updates the text index of a collection during a crawl.
pub(crate) struct BackgroundIndexer<'k> {
    dir: &'k Path,
    handle: &'k CrawlHandle,
    notifier: &'k StderrNotifier,
    settings: IndexSettings,
    /// Maximum share of the time spent on indexing, until the crawl ends.
    cpu_share: f64,
}

/// Interval at which the thread looks for a commit and for an immediate stop.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl<'k> BackgroundIndexer<'k> {
    pub(crate) fn new(
        dir: &'k Path,
        settings: &Settings,
        handle: &'k CrawlHandle,
        notifier: &'k StderrNotifier,
    ) -> anyhow::Result<BackgroundIndexer<'k>> {
        let cpu_share = f64::from(settings.search.max_cpu_share);
        Ok(BackgroundIndexer { dir, handle, notifier, settings: settings.index_settings()?, cpu_share })
    }

    /// Runs a crawl while the index is updated, then indexes the last commit. The summary is `None` if that failed.
    pub(crate) fn run_during<T>(self, work: impl FnOnce() -> T) -> (T, Option<IndexSummary>) {
        let (done, is_done) = channel::<()>();
        thread::scope(|scope| {
            let indexer = scope.spawn(move || self.follow(&is_done));
            let outcome = work();
            // The indexer runs until this sender is dropped.
            drop(done);
            (outcome, indexer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn follow(&self, is_done: &Receiver<()>) -> Option<IndexSummary> {
        let (mut pause, mut indexed, mut last_error) = (POLL_INTERVAL, None, String::new());
        while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let commit = self.handle.status().last_commit.map(|commit| commit.generation);
            pause = POLL_INTERVAL;
            if commit == indexed {
                continue;
            }
            let started = Instant::now();
            indexed = commit;
            // One thread: the other cores fetch and parse. At the end of the crawl the run is cancelled, and `finish`
            // starts it again on all cores.
            let is_over = || is_done.try_recv() == Err(TryRecvError::Disconnected);
            if let Err(error) = self.index(1, &|| is_over() || self.is_stopping_immediately())
                && !is_over()
            {
                // The same error may occur after every commit; print it once.
                let message = format!("cannot update the text index: {error:#}");
                if last_error != message {
                    self.notifier.warn(message.clone());
                    last_error = message;
                }
            }
            // With a share s, work of t is followed by a pause of t·(1/s - 1).
            pause = pause.max(started.elapsed().mul_f64(1.0 / self.cpu_share - 1.0));
        }
        self.finish()
    }

    /// Indexes the last commit on all cores, unless the crawl stops immediately.
    fn finish(&self) -> Option<IndexSummary> {
        let warn =
            |error: &anyhow::Error| self.notifier.warn(format!("cannot update the text index: {error:#}"));
        if self.is_stopping_immediately() {
            warn(&search::Error::Stopped.into());
            return None;
        }
        self.index(self.settings.threads, &|| self.is_stopping_immediately()).inspect_err(warn).ok()
    }

    fn is_stopping_immediately(&self) -> bool {
        self.handle.status().stop_mode == StopMode::Immediate
    }

    /// Updates the index, unless it is cancelled.
    fn index(&self, threads: usize, is_cancelled: &dyn Fn() -> bool) -> anyhow::Result<IndexSummary> {
        let snapshot = Snapshot::open(self.dir, None)?;
        let settings = IndexSettings { threads, ..self.settings.clone() };
        let mut polled = Instant::now();
        Ok(search::index(&snapshot, &settings, &mut |_| {
            if polled.elapsed() < POLL_INTERVAL {
                return ControlFlow::Continue(());
            }
            polled = Instant::now();
            if is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?)
    }
}
