//! Pool of gatherer threads that keeps the order of pages: the submitter gets a receiver for the result of each job and
//! reads the receivers in the order of submission.

use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};

use crate::gatherer::Gatherer;
use crate::item::fetched_page::FetchedPage;
use crate::item::gathered_page::GatheredPage;
use crate::settings::gather_settings::GatherSettings;

/// Size and number of pages at which a job is submitted.
const JOB_BYTES: usize = 1 << 20;
const JOB_PAGES: usize = 64;
/// Maximum number of jobs whose results are not received yet.
pub const MAX_JOBS_IN_FLIGHT: usize = 32;

/// Receiver of the parsed pages of a job.
pub type PendingPages = Receiver<Vec<GatheredPage>>;

/// Pages to parse, and the sender for the result.
struct GatherJob {
    pages: Vec<FetchedPage>,
    reply: SyncSender<Vec<GatheredPage>>,
}

/// Queue of jobs for the gatherers.
pub struct GatherQueue(Mutex<Receiver<GatherJob>>);

/// Collects pages into jobs.
pub struct GatherBatcher {
    jobs: SyncSender<GatherJob>,
    pages: Vec<FetchedPage>,
    bytes: usize,
}

/// The receiving side has ended after an error.
pub struct PipelineClosed;

impl<T> From<SendError<T>> for PipelineClosed {
    fn from(_: SendError<T>) -> PipelineClosed {
        PipelineClosed
    }
}

/// Creates a batcher and its queue.
pub fn queue() -> (GatherBatcher, GatherQueue) {
    let (sender, receiver) = sync_channel(threads());
    (GatherBatcher { jobs: sender, pages: Vec::new(), bytes: 0 }, GatherQueue(Mutex::new(receiver)))
}

/// Starts one gatherer per core; they end when the batcher is dropped.
pub fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    jobs: &'env GatherQueue,
    settings: &'env GatherSettings,
) {
    for _ in 0..threads() {
        scope.spawn(|| gather(&jobs.0, settings));
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

fn gather(jobs: &Mutex<Receiver<GatherJob>>, settings: &GatherSettings) {
    let mut gatherer = Gatherer::new(settings);
    loop {
        // The lock is held while waiting for a job, not while parsing.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let gathered = job.pages.iter().map(|page| gatherer.gather(page)).collect();
        // After an error the receiver is gone.
        let _ = job.reply.send(gathered);
    }
}

impl GatherBatcher {
    /// Adds a page; returns true if the job should be submitted.
    pub fn add(&mut self, page: FetchedPage) -> bool {
        self.bytes += page.body.len();
        self.pages.push(page);
        self.bytes >= JOB_BYTES || self.pages.len() >= JOB_PAGES
    }

    /// Submits the pages that were added.
    pub fn submit(&mut self) -> Result<PendingPages, PipelineClosed> {
        let (reply, pending) = sync_channel(1);
        self.bytes = 0;
        self.jobs.send(GatherJob { pages: std::mem::take(&mut self.pages), reply })?;
        Ok(pending)
    }
}
