//! How do several gatherers read at once, and yet in order? A queue of promises: whoever has pages to be read hands them
//! to whoever is free, and keeps the place where the answer will be.

use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use crate::fetched::Fetched;
use crate::gathered::Gathered;
use crate::gatherer::{GatherSettings, Gatherer};

/// A job is handed over when it has so many bytes, or so many pages.
const JOB_BYTES: usize = 1 << 20;
const JOB_PAGES: usize = 64;
/// Jobs that are under way or wait to be taken in.
pub(crate) const JOBS_UNDER_WAY: usize = 32;

/// Where the pages of a job will be when they have been read.
pub(crate) type Promise = Receiver<Vec<Gathered>>;

/// Pages to be read, and where the answer goes.
struct Job {
    pages: Vec<Fetched>,
    answer: SyncSender<Vec<Gathered>>,
}

/// Where gatherers find their jobs.
pub(crate) struct Jobs(Mutex<Receiver<Job>>);

/// Collects pages for jobs.
pub(crate) struct Dealer {
    jobs: SyncSender<Job>,
    pages: Vec<Fetched>,
    bytes: usize,
}

/// Nobody reads any more: the one who takes pages in has given up.
pub(crate) struct Stopped;

impl<T> From<SendError<T>> for Stopped {
    fn from(_: SendError<T>) -> Stopped {
        Stopped
    }
}

/// A dealer, and where its gatherers find their jobs.
pub(crate) fn deal() -> (Dealer, Jobs) {
    let (sender, receiver) = sync_channel(threads());
    (Dealer { jobs: sender, pages: Vec::new(), bytes: 0 }, Jobs(Mutex::new(receiver)))
}

/// Starts as many gatherers as there are cores; they end with their dealer.
pub(crate) fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    jobs: &'env Jobs,
    settings: &'env GatherSettings,
) {
    for _ in 0..threads() {
        scope.spawn(|| gather(&jobs.0, settings));
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

fn gather(jobs: &Mutex<Receiver<Job>>, settings: &GatherSettings) {
    let mut gatherer = Gatherer::new(settings);
    loop {
        // The lock is held while waiting, not while working.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let gathered = job.pages.iter().map(|page| gatherer.read(page)).collect();
        // Nobody waits for it any more after an error.
        let _ = job.answer.send(gathered);
    }
}

impl Dealer {
    /// Takes a page; true if it is time to hand over.
    pub(crate) fn add(&mut self, page: Fetched) -> bool {
        self.bytes += page.body.len();
        self.pages.push(page);
        self.bytes >= JOB_BYTES || self.pages.len() >= JOB_PAGES
    }

    /// Hands over what was taken.
    pub(crate) fn hand_over(&mut self) -> Result<Promise, Stopped> {
        let (answer, promise) = sync_channel(1);
        self.bytes = 0;
        self.jobs.send(Job { pages: std::mem::take(&mut self.pages), answer })?;
        Ok(promise)
    }
}
