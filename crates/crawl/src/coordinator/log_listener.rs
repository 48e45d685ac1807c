//! Listener thread of the coordinator: polls the logs of batches, reads segments from the blob store and forwards their items. A
//! chunk holds all items of one log entry and ends with its cursor, so that both are committed together. The same thread sends
//! control messages and receives reports.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use harvest::control::context::CrawlContext;
use harvest::control::handle::CrawlHandle;
use harvest::control::live_status::LiveWorker;
use harvest::files::work_dirs::WorkDir;
use harvest::item::harvest_event::HarvestEvent;
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::{LogCursor, LogEnd};
use harvest::settings::stop_mode::StopMode;
use harvest::transport::broker::{BrokerError, LogEntry, RETRY_INTERVAL, none_if_unavailable};
use harvest::transport::clock_skew;
use harvest::transport::clock_skew::ClockSkew;
use harvest::transport::messages::{ControlMessage, LogRecord, PROTOCOL, WorkerReport, plain_worker_name};
use harvest::transport::segment::{MAX_SEGMENT_BYTES, read_segment};
use harvest::transport::{Transport, messages};
use harvest::verification::leased_batch::{LeasedBatch, VerificationContext, VerifiedItems};
use harvest::verification::rejections::Rejections;
use model::SiteId;
use tokio::sync::mpsc::Sender;

use crate::coordinator::open_logs::OpenLogs;
use crate::coordinator::rejection_warnings::RejectionWarnings;
use crate::error::Error;
use crate::quarantine;

/// Interval of the main loop.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Interval at which an unchanged control message is repeated; it carries the coordinator's clock.
const CONTROL_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a report after which a worker is removed from the status.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts to read a segment that is missing, since the blob store may be eventually consistent.
const MAX_SEGMENT_ATTEMPTS: u32 = 10;
/// Maximum number of workers with a status of their own.
const MAX_WORKERS: usize = 10_000;

/// Configuration of the listener.
pub(crate) struct ListenerConfig {
    /// Logs to poll, shared with the thread that owns the collection.
    pub(crate) open: OpenLogs,
    /// Number of workers that reported recently, for that thread.
    pub(crate) workers: Arc<AtomicUsize>,
    /// Segments that earlier processes could not ingest.
    pub(crate) failed_segments: HashSet<String>,
    /// Unique id of this run.
    pub(crate) run: u64,
    /// Time between two attempts to fetch a segment.
    pub(crate) retry_interval: Duration,
}

/// State of the listener thread.
pub(crate) struct LogListener {
    transport: Transport,
    context: CrawlContext,
    handle: CrawlHandle,
    config: ListenerConfig,
    items: Sender<(usize, Vec<HarvestItem>)>,
    dir: PathBuf,
    /// Clock skew of each worker.
    skews: HashMap<String, ClockSkew>,
    workers: BTreeMap<String, (Instant, LiveWorker)>,
    last_control: Option<(Instant, ControlMessage)>,
    rejection_warnings: RejectionWarnings,
    /// Time of the last report or log entry, and of the last log entry; both reset when the crawl stops.
    last_contact: Instant,
    last_log_entry: Instant,
    stopping: bool,
}

impl LogListener {
    pub(crate) fn new(
        transport: &Transport,
        context: &CrawlContext,
        handle: &CrawlHandle,
        config: ListenerConfig,
        items: Sender<(usize, Vec<HarvestItem>)>,
        dir: &Path,
    ) -> LogListener {
        LogListener {
            transport: transport.clone(),
            context: context.clone(),
            handle: handle.clone(),
            config,
            items,
            dir: dir.to_owned(),
            skews: HashMap::new(),
            workers: BTreeMap::new(),
            last_control: None,
            rejection_warnings: RejectionWarnings::default(),
            last_contact: Instant::now(),
            last_log_entry: Instant::now(),
            stopping: false,
        }
    }

    /// Runs until the crawl is stopped and all logs are closed, or the receiver of the items is gone.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        loop {
            let stop = self.poll()?;
            if stop != StopMode::Running {
                if !std::mem::replace(&mut self.stopping, true) {
                    (self.last_contact, self.last_log_entry) = (Instant::now(), Instant::now());
                }
                self.withdraw_offers()?;
                if self.config.open.lock().is_empty() || self.worker_timeout_expired(stop) {
                    return self.send_final_control();
                }
            }
            let Some(entries) = none_if_unavailable(self.transport.broker.poll_logs(POLL_INTERVAL))? else {
                if stop != StopMode::Running {
                    // The broker is unavailable; the next run ingests the rest.
                    return Ok(());
                }
                thread::sleep(RETRY_INTERVAL);
                continue;
            };
            if !entries.is_empty() {
                (self.last_contact, self.last_log_entry) = (Instant::now(), Instant::now());
            }
            for entry in entries {
                if !self.accept(&entry)? {
                    return Ok(());
                }
            }
            if stop != StopMode::Running && self.last_contact.elapsed() >= self.transport.worker_timeout {
                self.close_logs()?;
            }
        }
    }

    /// Sends the control message and receives reports; returns the stop mode.
    fn poll(&mut self) -> Result<StopMode, Error> {
        let stop = self.context.stop_mode();
        self.send_control(stop)?;
        self.receive_reports()?;
        Ok(stop)
    }

    /// Whether to end although logs are open; the next run ingests the rest.
    fn worker_timeout_expired(&self, stop: StopMode) -> bool {
        stop == StopMode::Immediate
            || self.stopping && self.last_log_entry.elapsed() >= self.transport.worker_timeout * 2
    }

    /// Sends the control message if it has changed, and periodically, since it carries the clock.
    fn send_control(&mut self, stop: StopMode) -> Result<(), Error> {
        let settings = self.context.settings();
        let workers = self.workers.len().max(1) as f64;
        let control = ControlMessage {
            protocol: PROTOCOL,
            run: self.config.run,
            now_ms: self.context.clock.now_ms(),
            stop_mode: stop,
            paused: self.handle.is_paused(),
            max_requests_per_second: settings.max_requests_per_second / workers,
            settings: (self.transport.settings)(),
        };
        let is_changed = self.last_control.as_ref().is_none_or(|(time, last)| {
            let now_ms = last.now_ms;
            time.elapsed() >= CONTROL_INTERVAL || ControlMessage { now_ms, ..control.clone() } != *last
        });
        if is_changed {
            let message = serde_json::to_vec(&control).unwrap_or_default();
            // If it is lost, the next one follows soon.
            none_if_unavailable(self.transport.broker.publish_control(&message))?;
            self.last_control = Some((Instant::now(), control));
        }
        Ok(())
    }

    /// Sends the last control message, which ends the workers.
    fn send_final_control(&mut self) -> Result<(), Error> {
        self.last_control = None;
        let stop = self.context.stop_mode().max(StopMode::Graceful);
        self.send_control(stop)
    }

    fn receive_reports(&mut self) -> Result<(), Error> {
        let reports = none_if_unavailable(self.transport.broker.drain_reports())?.unwrap_or_default();
        let now_ms = self.context.clock.now_ms();
        if !reports.is_empty() {
            self.last_contact = Instant::now();
        }
        for report in &reports {
            // An unreadable report is from another version; that worker reports the mismatch itself.
            let Ok(report) = serde_json::from_slice::<WorkerReport>(report) else { continue };
            let name = plain_worker_name(&report.worker);
            // Every worker has a skew, and for a moment also those that report their end.
            if self.skews.len() >= MAX_WORKERS && !self.skews.contains_key(&name) {
                continue;
            }
            let skew = self.skews.entry(name.clone()).or_default();
            skew.observe(report.run, now_ms, report.now_ms);
            if report.is_last {
                self.workers.remove(&name);
            } else {
                let worker = (Instant::now(), LiveWorker::from_report(&report, now_ms));
                if self.workers.insert(name, worker).is_none() {
                    // A new worker waits for a control message sent after its first report.
                    self.last_control = None;
                }
            }
        }
        let before = self.workers.len();
        self.workers.retain(|_, (last_report, _)| last_report.elapsed() < SILENCE_TIMEOUT);
        self.skews.retain(|worker, _| self.workers.contains_key(worker));
        self.config.workers.store(self.workers.len(), Relaxed);
        if !reports.is_empty() || self.workers.len() < before {
            let all: Vec<LiveWorker> = self.workers.values().map(|(_, worker)| worker.clone()).collect();
            let in_flight =
                all.iter().fold(0, |sum: u64, worker| sum.saturating_add(worker.requests_in_flight));
            self.context.counters.requests_in_flight.store(in_flight, Relaxed);
            self.handle.shared_status().update(|status| status.workers = all);
        }
        Ok(())
    }

    /// Forwards the items of a log entry; false if the receiver is gone.
    pub(super) fn accept(&mut self, entry: &LogEntry) -> Result<bool, Error> {
        let LogEntry { batch, seq, .. } = *entry;
        let (before, leased) = match self.config.open.lock().get_mut(&batch) {
            Some(log) if seq > log.last_seq => (std::mem::replace(&mut log.last_seq, seq), log.leased.take()),
            Some(_) => return Ok(true),
            None => return self.ignore(batch),
        };
        let Some(mut leased) = leased else { return Ok(true) };
        let mut cursor = LogCursor { batch, seq, finished_sites: Vec::new(), segment: None, end: None };
        let (worker, verified) = match LogRecord::read(&entry.message) {
            Ok(LogRecord::Started { worker }) => (worker, VerifiedItems::default()),
            Ok(LogRecord::Events { worker, ahead_ms, events }) => {
                let mut verified = VerifiedItems::default();
                self.with_clock_of(&worker, ahead_ms, |context| {
                    let events = events.into_iter().map(harvest::files::journal::JournalEntry::into_event);
                    events.for_each(|event| leased.accept_event(event, context, &mut verified));
                });
                (worker, verified)
            }
            Ok(LogRecord::Segment { worker, ahead_ms, key, number, pages, .. }) => {
                let name = messages::segment_blob_name(batch, key, number);
                let verified = self.read_segment(&name, (&worker, ahead_ms), &mut leased, &pages)?;
                cursor.segment = Some(name);
                verified.items.iter().for_each(|item| self.context.counters.count_item(item));
                (worker, verified)
            }
            Ok(LogRecord::Closed { worker }) => {
                self.config.open.lock().remove(&batch);
                cursor.end = Some(if before == 0 { LogEnd::NeverLeased } else { LogEnd::Leased });
                (worker.unwrap_or_default(), VerifiedItems::default())
            }
            // Its pages are returned when the log is closed.
            Err(error) => {
                let mut verified = VerifiedItems::default();
                verified.rejections.add("entry of the log", error);
                ("unknown".to_owned(), verified)
            }
        };
        self.config.open.put_back(leased);
        self.report_rejections(&worker, batch, &verified.rejections);
        let mut chunk = verified.items;
        cursor.finished_sites = finished_sites(&chunk);
        chunk.push(HarvestItem::Cursor(cursor));
        Ok(self.items.blocking_send((0, chunk)).is_ok())
    }

    /// Counts dropped items and writes them to the log.
    fn report_rejections(&mut self, worker: &str, batch: u64, rejections: &Rejections) {
        self.context.counters.rejected_items.fetch_add(rejections.count, Relaxed);
        let (status, worker) = (self.handle.shared_status(), plain_worker_name(worker));
        if rejections.count == 0 {
            return;
        }
        let room = self.rejection_warnings.room(&worker, Instant::now());
        let shown = rejections.causes.len().min(room);
        for cause in rejections.causes.iter().take(shown) {
            status.warn(format!("cannot accept an item of worker `{worker}` in batch {batch}: {cause}"));
        }
        let others = rejections.count - shown as u64;
        if others > 0 && room > 0 {
            status.warn(format!("cannot accept {others} more items of worker `{worker}` in batch {batch}"));
        }
        self.rejection_warnings.count(worker, shown);
    }

    /// Calls a function with the clock of a worker. For a worker without a report since the start, its own estimate of the
    /// skew is used.
    fn with_clock_of<R>(
        &self,
        worker: &str,
        ahead_ms: Option<i64>,
        call: impl FnOnce(&VerificationContext<'_>) -> R,
    ) -> R {
        let skew = self.skews.get(&plain_worker_name(worker));
        let to_local_ms = |time_ms| {
            skew.map_or_else(
                || clock_skew::to_coordinator_ms(ahead_ms, time_ms),
                |skew| skew.to_local_ms(time_ms),
            )
        };
        let (settings, now_ms) = (self.context.settings(), self.context.clock.now_ms());
        call(&VerificationContext { settings: &settings, now_ms, to_local_ms: &to_local_ms })
    }

    /// Reads and verifies a segment. If that fails, it goes to the quarantine, and its pages, those with the indexes
    /// `pages`, are returned.
    fn read_segment(
        &mut self,
        name: &str,
        (worker, ahead_ms): (&str, Option<i64>),
        leased: &mut LeasedBatch,
        pages: &[u32],
    ) -> Result<VerifiedItems, Error> {
        let (content, cause) = match self.fetch(name)? {
            Err(cause) => (None, cause),
            Ok(content) if self.config.failed_segments.contains(name) => {
                (Some(content), "the crawl ended twice while it ingested the segment".to_owned())
            }
            Ok(content) => {
                let read = |context: &VerificationContext<'_>| read_segment(&content, leased, context);
                match self.with_clock_of(worker, ahead_ms, read) {
                    Ok(verified) => return Ok(verified),
                    Err(error) => (Some(content), error.to_string()),
                }
            }
        };
        let described = format!("{cause} (worker `{}`)", plain_worker_name(worker));
        // The segment is deleted from the blob store later, so it must have been kept.
        let kept = quarantine::keep_segment(&self.dir, name, content.as_deref(), &described)
            .map_err(|source| Error::Quarantine { item: format!("segment {name}"), source })?;
        let mut verified = VerifiedItems::default();
        let cause = format_args!("{cause}; see {}", kept.display());
        verified.rejections.add(format_args!("segment {name}"), cause);
        verified.items = pages.iter().filter_map(|index| leased.return_page(*index)).collect();
        Ok(verified)
    }

    /// Handles an entry of a batch that is not leased: a finished batch is deleted after its commit, an unknown one at once.
    fn ignore(&self, batch: u64) -> Result<bool, Error> {
        if !WorkDir::Leased.path(&self.dir, batch).exists() {
            none_if_unavailable(self.transport.broker.delete_batch(batch))?;
        }
        Ok(true)
    }

    /// Fetches a segment; or the cause why it does not exist or is too long.
    fn fetch(&mut self, name: &str) -> Result<Result<Vec<u8>, String>, Error> {
        let mut attempts = 0;
        loop {
            let failure = match self.transport.blobs.get(name, MAX_SEGMENT_BYTES) {
                Ok(Some(bytes)) => return Ok(Ok(bytes)),
                Ok(None) if attempts >= MAX_SEGMENT_ATTEMPTS => {
                    return Ok(Err("the segment is not in the blob store".to_owned()));
                }
                Ok(None) => {
                    attempts += 1;
                    None
                }
                Err(error @ BrokerError::BlobTooLarge { .. }) => return Ok(Err(error.to_string())),
                Err(error @ BrokerError::Refused(_)) => return Err(error.into()),
                Err(error @ BrokerError::Unavailable { .. }) => Some(error),
            };
            // A stopping crawl does not wait for a server: the next run ingests the segment.
            if let Some(error) = failure.filter(|_| self.context.stop_mode() != StopMode::Running) {
                return Err(error.into());
            }
            self.poll()?;
            thread::sleep(self.config.retry_interval);
        }
    }

    /// Closes the logs of batches that no worker has leased.
    fn withdraw_offers(&self) -> Result<(), Error> {
        let never_leased: Vec<u64> = self
            .config
            .open
            .lock()
            .iter()
            .filter(|(_, log)| log.last_seq == 0)
            .map(|(batch, _)| *batch)
            .collect();
        never_leased.into_iter().try_for_each(|batch| self.close(batch, 0))
    }

    /// Closes all logs after the worker timeout, so that a late worker cannot append any more.
    fn close_logs(&mut self) -> Result<(), Error> {
        let open: Vec<u64> = self.config.open.lock().keys().copied().collect();
        for batch in open {
            let Some(log) = none_if_unavailable(self.transport.broker.read_log(batch))? else {
                return Ok(());
            };
            self.close(batch, log.last().map_or(0, |entry| entry.seq))?;
        }
        self.last_contact = Instant::now();
        Ok(())
    }

    /// Closes a log after entry `last`, unless it has newer entries.
    fn close(&self, batch: u64, last: u64) -> Result<(), Error> {
        let closed = LogRecord::Closed { worker: None }.write()?;
        // If a worker appended in between, the append fails, and its entry is received.
        none_if_unavailable(self.transport.broker.append_log(batch, last, &closed))?;
        Ok(())
    }
}

/// Sites whose results are among the items of a log entry.
fn finished_sites(items: &[HarvestItem]) -> Vec<SiteId> {
    let finished = |item: &HarvestItem| match item {
        HarvestItem::Event(HarvestEvent::SiteDone(result)) => Some(result.site),
        _ => None,
    };
    items.iter().filter_map(finished).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use harvest::item::batch::Batch;
    use harvest::{CrawlSettings, DirBlobStore, DirBroker};
    use tokio::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::coordinator::simulation::batch_site;

    fn listener(dir: &Path, open: &OpenLogs) -> (LogListener, Receiver<(usize, Vec<HarvestItem>)>) {
        let transport = Transport {
            broker: Arc::new(DirBroker::open_coordinator(&dir.join("workers")).unwrap()),
            blobs: Arc::new(DirBlobStore::open(&dir.join("workers/blobs")).unwrap()),
            settings: Arc::new(String::new),
            worker_timeout: Duration::ZERO,
        };
        let config = ListenerConfig {
            open: open.clone(),
            workers: Arc::default(),
            failed_segments: HashSet::new(),
            run: 1,
            retry_interval: Duration::ZERO,
        };
        let (handle, (sender, items)) = (CrawlHandle::new(CrawlSettings::default()), channel(10));
        (LogListener::new(&transport, &handle.context(None), &handle, config, sender, dir), items)
    }

    #[test]
    fn a_segment_that_cannot_be_kept_ends_the_listener_before_its_cursor_is_forwarded() {
        let (temp, open) = (tempfile::tempdir().unwrap(), OpenLogs::default());
        let (mut listener, mut items) = listener(temp.path(), &open);
        let batch = Batch { id: 7, sites: vec![batch_site((0, vec![0]))], ..Batch::default() };
        open.insert(LeasedBatch::new(batch, listener.context.clock.now_ms()), 0);
        listener.transport.blobs.put(&messages::segment_blob_name(7, 1, 1), b"corrupt".to_vec()).unwrap();
        // Nothing can be written to a directory of this name.
        fs::write(temp.path().join("quarantine"), b"").unwrap();
        let (worker, pages, sites) = ("w".to_owned(), vec![0], Vec::new());
        let record = LogRecord::Segment { worker, ahead_ms: None, key: 1, number: 1, pages, sites };
        let entry = LogEntry { batch: 7, seq: 1, message: record.write().unwrap() };
        let error = listener.accept(&entry).unwrap_err();
        assert!(matches!(error, Error::Quarantine { .. }), "{error}");
        assert!(items.try_recv().is_err());
    }

    #[test]
    fn a_worker_that_has_ended_leaves_nothing_and_the_batches_of_a_report_are_limited() {
        let (temp, open) = (tempfile::tempdir().unwrap(), OpenLogs::default());
        let (mut listener, _items) = listener(temp.path(), &open);
        let mut report = |worker: &str, is_last: bool| {
            let report = WorkerReport {
                worker: worker.to_owned(),
                run: 1,
                now_ms: 1,
                batches: (0..5_000).collect(),
                pages_fetched: 0,
                bytes_received: 0,
                requests: 0,
                requests_in_flight: 0,
                failed_fetches: 0,
                active_sites: 0,
                memory_bytes: None,
                local_fault: None,
                is_last,
            };
            let message = serde_json::to_vec(&report).unwrap();
            // Each in a file of its own, so that none is taken for the one before.
            listener.transport.broker.send_report(&format!("{worker}-{is_last}"), &message).unwrap();
            listener.receive_reports().unwrap();
            let batches = listener.workers.values().map(|(_, worker)| worker.batches.len()).sum();
            (listener.skews.len(), batches)
        };
        assert_eq!(report("a", false), (1, 1_000));
        assert_eq!(report("b", true), (1, 1_000));
        assert_eq!(report("a", true), (0, 0));
    }
}
