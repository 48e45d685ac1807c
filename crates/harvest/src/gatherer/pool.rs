//! Pool of gatherer threads that keeps the order of pages: the submitter gets a receiver for the result of each job and
//! reads the receivers in the order of submission.

use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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
/// Maximum size of the bodies in these jobs; one job may exceed it, alone.
const MAX_BYTES_IN_FLIGHT: usize = 64 << 20;

/// Parsed pages of a job, when they are ready.
pub struct PendingPages {
    result: Receiver<Vec<GatheredPage>>,
    bytes: usize,
    in_flight: Arc<BytesInFlight>,
}

impl PendingPages {
    /// Waits for the pages; empty if the parser has panicked.
    pub fn recv(self) -> Vec<GatheredPage> {
        self.result.recv().unwrap_or_default()
    }
}

/// After an error the results are not received, but dropped.
impl Drop for PendingPages {
    fn drop(&mut self) {
        self.in_flight.release(self.bytes);
    }
}

/// Size of the bodies in jobs that are submitted and not received.
#[derive(Debug, Default)]
struct BytesInFlight {
    bytes: Mutex<usize>,
    released: Condvar,
}

impl BytesInFlight {
    /// Waits until the bytes fit, or no others are in flight.
    fn acquire(&self, bytes: usize) {
        let in_flight = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |in_flight: &mut usize| *in_flight > 0 && *in_flight + bytes > MAX_BYTES_IN_FLIGHT;
        let waited = self.released.wait_while(in_flight, is_full);
        *waited.unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    fn release(&self, bytes: usize) {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.released.notify_all();
    }
}

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
    in_flight: Arc<BytesInFlight>,
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
    let batcher = GatherBatcher { jobs: sender, pages: Vec::new(), bytes: 0, in_flight: Arc::default() };
    (batcher, GatherQueue(Mutex::new(receiver)))
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
        // Each body is dropped when its record is encoded.
        let gathered = job.pages.into_iter().map(|page| gatherer.gather(&page)).collect();
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

    /// Submits the pages that were added, when the bodies in flight leave room for them. Another thread must receive the
    /// pending pages of earlier jobs meanwhile.
    pub fn submit(&mut self) -> Result<PendingPages, PipelineClosed> {
        let (reply, result) = sync_channel(1);
        let bytes = std::mem::take(&mut self.bytes);
        self.in_flight.acquire(bytes);
        let pending = PendingPages { result, bytes, in_flight: Arc::clone(&self.in_flight) };
        self.jobs.send(GatherJob { pages: std::mem::take(&mut self.pages), reply })?;
        Ok(pending)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn bodies_in_flight_are_limited_and_a_larger_job_is_in_flight_alone() {
        let in_flight = BytesInFlight::default();
        in_flight.acquire(MAX_BYTES_IN_FLIGHT + 1);
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                in_flight.acquire(1);
                let _ = sender.send(());
            });
            assert!(receiver.try_recv().is_err());
            in_flight.release(MAX_BYTES_IN_FLIGHT + 1);
            receiver.recv().unwrap();
        });
        in_flight.acquire(MAX_BYTES_IN_FLIGHT - 1);
        assert_eq!(*in_flight.bytes.lock().unwrap(), MAX_BYTES_IN_FLIGHT);
    }
}
