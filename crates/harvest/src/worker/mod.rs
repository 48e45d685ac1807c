//! Worker: fetches and parses pages for a coordinator in another process, often on another machine.
//!
//! At its start it knows only its broker and blob store: settings come with control messages, the state of sites with their
//! batches. So workers can start and end at any time. Each batch has its own runner with its own threads
//! and clocks: an address is claimed by one batch at a time, so that two runners never contact the same address.

mod batch_runner;
mod report;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::control::counters::Progress;
use crate::control::handle::CrawlHandle;
use crate::control::lease_deadline;
use crate::control::lease_deadline::LeaseDeadline;
use crate::error::Error;
use crate::settings::clock::CrawlClock;
use crate::settings::crawl_settings::{CrawlSettings, LookupLimits};
use crate::settings::stop_mode::StopMode;
use crate::transport::blob_store::BlobStore;
use crate::transport::broker::{Broker, BrokerError, Lease, none_if_unavailable, retry_until};
use crate::transport::clock_skew::SharedClockSkew;
use crate::transport::messages;
use crate::transport::messages::{ControlMessage, PROTOCOL, WorkerReport};
use crate::worker::batch_runner::{BatchEnd, BatchRunConfig};

/// Configuration of a worker.
pub struct WorkerConfig<'w> {
    /// Broker for batches and their logs.
    pub broker: &'w dyn Broker,
    /// Blob store for segments.
    pub blobs: &'w dyn BlobStore,
    /// Unique name of the worker.
    pub name: &'w str,
    /// Maximum number of concurrent batches.
    pub max_batches: usize,
    /// Parses the settings in a control message.
    pub parse_settings: &'w (dyn Fn(&str) -> Result<CrawlSettings, String> + Sync),
}

/// Summary of the work of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerSummary {
    /// Number of batches that were completed.
    pub batches_done: u64,
    /// Number of batches whose lease was lost.
    pub leases_lost: u64,
    /// Counters at the end.
    pub progress: Progress,
    /// Duration.
    pub duration: Duration,
}

/// Interval for polling control messages, leases and finished batches.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Time without any control message after which a worker gives up.
const COORDINATOR_TIMEOUT: Duration = Duration::from_secs(30);
/// A lease is renewed after a third of its duration, so that one failed attempt does not lose it.
const RENEW_FRACTION: u32 = 3;

/// Runs a worker until the crawl has finished or the handle stops it.
pub fn work(config: &WorkerConfig<'_>, handle: &CrawlHandle) -> Result<WorkerSummary, Error> {
    let started = Instant::now();
    let (skew, clock) = (SharedClockSkew::default(), CrawlClock::start());
    let run = clock.now_us();
    let Some(control) = wait_for_coordinator(config, handle, clock, run, &skew)? else {
        return Ok(WorkerSummary {
            batches_done: 0,
            leases_lost: 0,
            progress: handle.progress(),
            duration: started.elapsed(),
        });
    };
    check_blob_store(config, handle, &control)?;
    let settings = read_settings(config, &control)?;
    handle.replace_settings(settings);
    let (ended, ends) = channel();
    thread::scope(|scope| {
        let mut worker = Worker {
            config,
            handle,
            scope,
            clock,
            run,
            skew: &skew,
            control,
            active: HashMap::new(),
            ended,
            ends,
            batches: 0,
            lost: 0,
            last_report: None,
            next_key: 0,
        };
        let outcome = worker.run();
        // Stop and join all batch threads, also after an error.
        handle.stop(if outcome.is_ok() { StopMode::Graceful } else { StopMode::Immediate });
        let ended = worker.end();
        outcome.and(ended)?;
        let Worker { batches, lost, .. } = worker;
        Ok(WorkerSummary {
            batches_done: batches,
            leases_lost: lost,
            progress: handle.progress(),
            duration: started.elapsed(),
        })
    })
}

/// Waits for a running coordinator: one that sends a control message after this worker has reported. An older message can be
/// that of a crawl that has ended, and says nothing about the coordinator's clock.
fn wait_for_coordinator(
    config: &WorkerConfig<'_>,
    handle: &CrawlHandle,
    clock: CrawlClock,
    run: u64,
    skew: &SharedClockSkew,
) -> Result<Option<ControlMessage>, Error> {
    let started = Instant::now();
    let (mut old, mut last_report) = (None, None::<Instant>);
    while handle.stop_mode() == StopMode::Running
        && (old.is_some() || started.elapsed() < COORDINATOR_TIMEOUT)
    {
        match poll_control(config)? {
            ControlPoll::Message(control) => {
                let time = (control.run, control.now_ms);
                if *old.get_or_insert(time) != time {
                    skew.observe(control.run, clock.now_ms(), control.now_ms);
                    if control.stop_mode == StopMode::Running {
                        return Ok(Some(control));
                    }
                }
            }
            // There was a coordinator, and it has ended.
            ControlPoll::NoCoordinator if old.is_some() => return Ok(None),
            ControlPoll::NoCoordinator | ControlPoll::Unavailable => {}
        }
        if last_report.is_none_or(|time| time.elapsed() >= REPORT_INTERVAL) {
            last_report = Some(Instant::now());
            let report = WorkerReport::new(config.name, run, clock.now_ms(), &handle.progress(), Vec::new());
            send_report(config, &report)?;
        }
        thread::sleep(POLL_INTERVAL / 5);
    }
    Ok(None)
}

fn send_report(config: &WorkerConfig<'_>, report: &WorkerReport) -> Result<(), Error> {
    let message = serde_json::to_vec(report).unwrap_or_default();
    none_if_unavailable(config.broker.send_report(config.name, &message))?;
    Ok(())
}

/// Result of polling for a control message.
enum ControlPoll {
    Message(ControlMessage),
    /// There is no coordinator.
    NoCoordinator,
    /// The broker is unavailable.
    Unavailable,
}

fn poll_control(config: &WorkerConfig<'_>) -> Result<ControlPoll, Error> {
    let message = match none_if_unavailable(config.broker.latest_control())? {
        Some(Some(message)) => message,
        Some(None) => return Ok(ControlPoll::NoCoordinator),
        None => return Ok(ControlPoll::Unavailable),
    };
    #[derive(serde::Deserialize)]
    struct Version {
        protocol: u32,
    }
    let invalid = |error: serde_json::Error| {
        Error::from(BrokerError::Refused(format!("cannot decode the control message: {error}")))
    };
    let Version { protocol } = serde_json::from_slice(&message).map_err(invalid)?;
    if protocol != PROTOCOL {
        let message = format!(
            "the coordinator uses protocol version {protocol} and this worker version {PROTOCOL}: run the same version of \
             weir on all machines"
        );
        return Err(BrokerError::Refused(message).into());
    }
    Ok(ControlPoll::Message(serde_json::from_slice(&message).map_err(invalid)?))
}

/// Checks that worker and coordinator use the same blob store: segments in another one would never be found.
fn check_blob_store(
    config: &WorkerConfig<'_>,
    handle: &CrawlHandle,
    control: &ControlMessage,
) -> Result<(), Error> {
    const MAX_MARKER_BYTES: u64 = 64;
    let is_cancelled = || handle.stop_mode() != StopMode::Running;
    let marker = retry_until(is_cancelled, || config.blobs.get(messages::RUN_MARKER_BLOB, MAX_MARKER_BYTES))?;
    match marker {
        Some(Some(run)) if run == control.run.to_string().as_bytes() => Ok(()),
        // Cancelled.
        None => Ok(()),
        Some(_) => Err(BrokerError::Refused(
            "this worker uses another blob store than the crawl: use the same --store for both".to_owned(),
        )
        .into()),
    }
}

fn read_settings(config: &WorkerConfig<'_>, control: &ControlMessage) -> Result<CrawlSettings, Error> {
    let settings = (config.parse_settings)(&control.settings).map_err(|cause| {
        Error::from(BrokerError::Refused(format!("cannot use the settings of the crawl: {cause}")))
    })?;
    let parts = config.max_batches.max(1);
    let max_connections = settings.max_connections.div_ceil(parts);
    let max_per_second = settings.lookups.max_per_second.div_ceil(parts as u32);
    Ok(CrawlSettings {
        max_connections,
        lookups: LookupLimits { max_per_second, ..settings.lookups },
        max_requests_per_second: control.max_requests_per_second,
        ..settings
    })
}

/// State of the main thread of a worker.
struct Worker<'s, 'e, 'w> {
    config: &'e WorkerConfig<'w>,
    handle: &'e CrawlHandle,
    scope: &'s Scope<'s, 'e>,
    clock: CrawlClock,
    /// Id of this run.
    run: u64,
    skew: &'e SharedClockSkew,
    control: ControlMessage,
    active: HashMap<u64, ActiveBatch<'s>>,
    ended: Sender<()>,
    ends: Receiver<()>,
    batches: u64,
    lost: u64,
    last_report: Option<Instant>,
    next_key: u64,
}

/// Batch that a runner works on.
struct ActiveBatch<'s> {
    handle: CrawlHandle,
    lease: Box<dyn Lease>,
    deadline: Arc<LeaseDeadline>,
    /// Time of the last renewal, in boot time.
    renewed: Duration,
    thread: ScopedJoinHandle<'s, Result<BatchEnd, Error>>,
}

impl<'s, 'e> Worker<'s, 'e, '_> {
    fn run(&mut self) -> Result<(), Error> {
        while self.handle.stop_mode() == StopMode::Running {
            self.apply_control()?;
            if self.control.stop_mode != StopMode::Running {
                self.handle.stop(self.control.stop_mode);
                break;
            }
            self.renew_leases()?;
            self.join_finished()?;
            self.report(false)?;
            if self.active.len() >= self.config.max_batches || self.control.paused {
                self.wait();
                continue;
            }
            // The lease starts after this time, so that it never ends later than the broker assumes.
            let requested = lease_deadline::now();
            match none_if_unavailable(self.config.broker.acquire_lease(self.config.name, POLL_INTERVAL))? {
                Some(Some(lease)) => self.start_batch(lease, requested),
                Some(None) => {}
                None => self.wait(),
            }
        }
        Ok(())
    }

    /// Waits until a batch ends, at most for the polling interval.
    fn wait(&self) {
        // `join_finished` finds out which one.
        let _ = self.ends.recv_timeout(POLL_INTERVAL);
    }

    /// Polls and applies the latest control message.
    fn apply_control(&mut self) -> Result<(), Error> {
        let control = match poll_control(self.config)? {
            ControlPoll::Message(control) => control,
            // A coordinator on this machine that has died needs no more pages.
            ControlPoll::NoCoordinator => {
                ControlMessage { stop_mode: StopMode::Graceful, ..self.control.clone() }
            }
            ControlPoll::Unavailable => return Ok(()),
        };
        if (control.run, control.now_ms) != (self.control.run, self.control.now_ms) {
            self.skew.observe(control.run, self.clock.now_ms(), control.now_ms);
        }
        let has_new_settings = control.settings != self.control.settings
            || control.max_requests_per_second != self.control.max_requests_per_second;
        let changed_pause = control.paused != self.control.paused;
        self.control = control;
        if has_new_settings {
            let settings = read_settings(self.config, &self.control)?;
            self.active.values().for_each(|active| active.handle.update_settings(settings.clone()));
            self.handle.update_settings(settings);
        }
        if changed_pause {
            self.active.values().for_each(|active| active.handle.set_paused(self.control.paused));
            self.handle.set_paused(self.control.paused);
        }
        Ok(())
    }

    /// Starts a runner for a leased batch.
    fn start_batch(&mut self, lease: Box<dyn Lease>, requested: Duration) {
        let batch = lease.batch();
        let handle = self.handle.child();
        handle.set_paused(self.control.paused);
        let context = handle.context(None);
        let deadline = Arc::clone(&context.lease);
        deadline.extend(requested, lease.duration());
        self.next_key += 1;
        let key = self.clock.now_us() << 8 | self.next_key & 0xff;
        let (config, skew, ended) = (self.config, self.skew, self.ended.clone());
        let (batch_handle, message) = (handle.clone(), lease.message().to_vec());
        let thread = self.scope.spawn(move || {
            let outcome = batch_runner::harvest(&BatchRunConfig {
                broker: config.broker,
                blobs: config.blobs,
                worker: config.name,
                batch,
                message: &message,
                handle: &batch_handle,
                context,
                skew,
                key,
            });
            // The receiver is gone only when the worker has ended.
            let _ = ended.send(());
            outcome
        });
        // A worker that was suspended until its lease expired can get its own batch again.
        if let Some(old) = self.active.remove(&batch) {
            old.deadline.revoke();
            old.handle.stop(StopMode::Immediate);
            self.handle.forget_responders();
            self.lost += 1;
        }
        self.active.insert(batch, ActiveBatch { handle, lease, deadline, renewed: requested, thread });
    }

    /// Renews the leases that are due.
    fn renew_leases(&mut self) -> Result<(), Error> {
        for active in self.active.values_mut() {
            let Some(duration) = active.lease.duration() else { continue };
            let requested = lease_deadline::now();
            if requested.saturating_sub(active.renewed) < duration / RENEW_FRACTION {
                continue;
            }
            match none_if_unavailable(active.lease.renew())? {
                Some(true) => {
                    let lapsed = !active.deadline.is_valid();
                    active.deadline.extend(requested, active.lease.duration());
                    active.renewed = requested;
                    if lapsed {
                        // No other worker had the batch: requests may start again. The update wakes the threads.
                        active.handle.set_paused(self.control.paused);
                    }
                }
                Some(false) => {
                    active.deadline.revoke();
                    active.handle.stop(StopMode::Immediate);
                    active.handle.forget_responders();
                }
                // The broker is unavailable for the other leases, too.
                None => break,
            }
        }
        Ok(())
    }

    /// Joins the threads of batches that have ended.
    fn join_finished(&mut self) -> Result<(), Error> {
        while self.ends.try_recv().is_ok() {}
        let finished: Vec<u64> = self
            .active
            .iter()
            .filter(|(_, active)| active.thread.is_finished())
            .map(|(batch, _)| *batch)
            .collect();
        finished.into_iter().try_for_each(|batch| self.finish(batch))
    }

    fn finish(&mut self, batch: u64) -> Result<(), Error> {
        let Some(active) = self.active.remove(&batch) else { return Ok(()) };
        let outcome = active.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.handle.forget_responders();
        match outcome? {
            BatchEnd::Abandoned => self.lost += 1,
            BatchEnd::Completed => {
                self.batches += 1;
                // If the broker is unavailable, the next worker finds the log closed.
                none_if_unavailable(active.lease.complete())?;
            }
        }
        Ok(())
    }

    fn report(&mut self, is_last: bool) -> Result<(), Error> {
        if !is_last && self.last_report.is_some_and(|time| time.elapsed() < REPORT_INTERVAL) {
            return Ok(());
        }
        self.last_report = Some(Instant::now());
        let mut batches: Vec<u64> = self.active.keys().copied().collect();
        batches.sort_unstable();
        let (progress, now_ms) = (self.handle.progress(), self.clock.now_ms());
        let report = WorkerReport::new(self.config.name, self.run, now_ms, &progress, batches);
        send_report(self.config, &WorkerReport { is_last, ..report })
    }

    /// Stops and joins all batches.
    fn end(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while !self.active.is_empty() {
            // The coordinator can request an immediate stop in the meantime.
            outcome = outcome.and(self.apply_control());
            let mode = if outcome.is_err() {
                StopMode::Immediate
            } else {
                self.handle.stop_mode().max(self.control.stop_mode)
            };
            self.active.values().for_each(|active| active.handle.stop(mode));
            let (renewed, joined) = (self.renew_leases(), self.join_finished());
            outcome = outcome.and(renewed).and(joined).and(self.report(false));
            self.wait();
        }
        outcome.and(self.report(true))
    }
}

#[cfg(test)]
mod tests;
