//! Listener thread of the coordinator: polls the logs of batches, reads segments from the blob store and forwards their items. A
//! chunk holds all items of one log entry and ends with its cursor, so that both are committed together. The same thread sends
//! control messages and receives reports.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use harvest::control::context::CrawlContext;
use harvest::control::handle::CrawlHandle;
use harvest::control::live_status::LiveWorker;
use harvest::files::work_dirs::WorkDir;
use harvest::item::batch::Batch;
use harvest::item::harvest_event::HarvestEvent;
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::{LogCursor, LogEnd};
use harvest::settings::stop_mode::StopMode;
use harvest::transport::broker::{BrokerError, LogEntry, RETRY_INTERVAL, none_if_unavailable};
use harvest::transport::clock_skew;
use harvest::transport::clock_skew::ClockSkew;
use harvest::transport::messages::{ControlMessage, LogRecord, PROTOCOL, WorkerReport};
use harvest::transport::segment::{MAX_SEGMENT_BYTES, read_segment};
use harvest::transport::{Transport, messages};
use model::UrlRules;
use tokio::sync::mpsc::Sender;

use crate::coordinator::open_logs::{ListenerShared, OpenLogs};
use crate::error::Error;

/// Interval of the main loop.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Interval at which an unchanged control message is repeated; it carries the coordinator's clock.
const CONTROL_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a report after which a worker is removed from the status.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// Attempts to read a segment that is missing, since the blob store may be eventually consistent.
const MAX_SEGMENT_ATTEMPTS: u32 = 10;

/// State of the listener thread.
pub(crate) struct LogListener {
    transport: Transport,
    context: CrawlContext,
    handle: CrawlHandle,
    open: OpenLogs,
    worker_count: Arc<AtomicUsize>,
    items: Sender<(usize, Vec<HarvestItem>)>,
    dir: PathBuf,
    rules: UrlRules,
    /// Clock skew of each worker.
    skews: HashMap<String, ClockSkew>,
    workers: BTreeMap<String, (Instant, LiveWorker)>,
    last_control: Option<(Instant, ControlMessage)>,
    /// Unique id of this run.
    run: u64,
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
        shared: ListenerShared,
        items: Sender<(usize, Vec<HarvestItem>)>,
        dir: &Path,
        run: u64,
    ) -> LogListener {
        LogListener {
            transport: transport.clone(),
            context: context.clone(),
            handle: handle.clone(),
            open: shared.open,
            worker_count: shared.workers,
            items,
            dir: dir.to_owned(),
            rules: context.settings().gathering.rules.clone(),
            skews: HashMap::new(),
            workers: BTreeMap::new(),
            last_control: None,
            run,
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
                if self.open.lock().is_empty() || self.worker_timeout_expired(stop) {
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
            run: self.run,
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
            let skew = self.skews.entry(report.worker.clone()).or_default();
            skew.observe(report.run, now_ms, report.now_ms);
            if report.is_last {
                self.workers.remove(&report.worker);
            } else {
                let worker = (Instant::now(), LiveWorker::from_report(&report, now_ms));
                if self.workers.insert(report.worker.clone(), worker).is_none() {
                    // A new worker waits for a control message sent after its first report.
                    self.last_control = None;
                }
            }
        }
        let before = self.workers.len();
        self.workers.retain(|_, (last_report, _)| last_report.elapsed() < SILENCE_TIMEOUT);
        self.skews.retain(|worker, _| self.workers.contains_key(worker));
        self.worker_count.store(self.workers.len(), Relaxed);
        if !reports.is_empty() || self.workers.len() < before {
            let all: Vec<LiveWorker> = self.workers.values().map(|(_, worker)| worker.clone()).collect();
            let in_flight = all.iter().map(|worker| worker.requests_in_flight).sum();
            self.context.counters.requests_in_flight.store(in_flight, Relaxed);
            self.handle.shared_status().update(|status| status.workers = all);
        }
        Ok(())
    }

    /// Forwards the items of a log entry; false if the receiver is gone.
    fn accept(&mut self, entry: &LogEntry) -> Result<bool, Error> {
        let LogEntry { batch, seq, .. } = *entry;
        let before = match self.open.lock().get_mut(&batch) {
            Some(last) if seq > *last => std::mem::replace(last, seq),
            Some(_) => return Ok(true),
            None => return self.ignore(batch),
        };
        let mut cursor = LogCursor { batch, seq, segment: None, end: None };
        let mut chunk = match LogRecord::read(&entry.message) {
            // An unreadable entry is ignored; its pages are returned when the log is closed.
            Ok(LogRecord::Started { .. }) | Err(_) => Vec::new(),
            Ok(LogRecord::Events { worker, ahead_ms, events }) => {
                let items = events.into_iter().map(|entry| HarvestItem::Event(entry.into_event())).collect();
                self.convert_times(&worker, ahead_ms, items)
            }
            Ok(LogRecord::Segment { worker, ahead_ms, key, number, pages, .. }) => {
                let name = messages::segment_blob_name(batch, key, number);
                let items = self.fetch(&name)?;
                cursor.segment = Some(name);
                let items = items.map_or_else(|| self.missing_segment(batch, &pages), Ok)?;
                items.iter().for_each(|item| self.context.counters.count_item(item));
                self.convert_times(&worker, ahead_ms, items)
            }
            Ok(LogRecord::Closed { .. }) => {
                self.open.lock().remove(&batch);
                cursor.end = Some(if before == 0 { LogEnd::NeverLeased } else { LogEnd::Leased });
                Vec::new()
            }
        };
        chunk.push(HarvestItem::Cursor(cursor));
        Ok(self.items.blocking_send((0, chunk)).is_ok())
    }

    /// Converts the times of a worker to this machine's clock. For a worker without a report since the start, its own estimate of
    /// the skew is used.
    fn convert_times(
        &self,
        worker: &str,
        ahead_ms: Option<i64>,
        mut items: Vec<HarvestItem>,
    ) -> Vec<HarvestItem> {
        let skew = self.skews.get(worker);
        let to_local_ms = |time_ms| {
            skew.map_or_else(
                || clock_skew::to_coordinator_ms(ahead_ms, time_ms),
                |skew| skew.to_local_ms(time_ms),
            )
        };
        for item in &mut items {
            if let HarvestItem::Event(event) = item {
                event.convert_times(to_local_ms);
            }
        }
        items
    }

    /// Handles an entry of a batch that is not leased: a finished batch is deleted after its commit, an unknown one at once.
    fn ignore(&self, batch: u64) -> Result<bool, Error> {
        if !WorkDir::Leased.path(&self.dir, batch).exists() {
            none_if_unavailable(self.transport.broker.delete_batch(batch))?;
        }
        Ok(true)
    }

    /// Reads a segment; `None` if it is missing or corrupt.
    fn fetch(&mut self, name: &str) -> Result<Option<Vec<HarvestItem>>, Error> {
        let mut attempts = 0;
        loop {
            let failure = match self.transport.blobs.get(name, MAX_SEGMENT_BYTES) {
                Ok(Some(bytes)) => return Ok(read_segment(&bytes, &self.rules).ok()),
                Ok(None) if attempts >= MAX_SEGMENT_ATTEMPTS => return Ok(None),
                Ok(None) => {
                    attempts += 1;
                    None
                }
                Err(error @ BrokerError::Refused(_)) => return Err(error.into()),
                Err(error @ BrokerError::Unavailable { .. }) => Some(error),
            };
            // A stopping crawl does not wait for a server: the next run ingests the segment.
            if let Some(error) = failure.filter(|_| self.context.stop_mode() != StopMode::Running) {
                return Err(error.into());
            }
            self.poll()?;
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Returns the pages of a missing segment as not fetched.
    fn missing_segment(&self, batch: u64, indexes: &[u32]) -> Result<Vec<HarvestItem>, Error> {
        let batch = Batch::read(&WorkDir::Leased.path(&self.dir, batch))?;
        let pages: Vec<_> = batch.sites.iter().flat_map(|site| &site.pages).collect();
        let missing = indexes.iter().filter_map(|index| pages.get(*index as usize));
        Ok(missing
            .map(|page| HarvestItem::Event(HarvestEvent::PageReturned { page: page.page, reason: None }))
            .collect())
    }

    /// Closes the logs of batches that no worker has leased.
    fn withdraw_offers(&self) -> Result<(), Error> {
        let never_leased: Vec<u64> =
            self.open.lock().iter().filter(|(_, seq)| **seq == 0).map(|(batch, _)| *batch).collect();
        never_leased.into_iter().try_for_each(|batch| self.close(batch, 0))
    }

    /// Closes all logs after the worker timeout, so that a late worker cannot append any more.
    fn close_logs(&mut self) -> Result<(), Error> {
        let open: Vec<u64> = self.open.lock().keys().copied().collect();
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
