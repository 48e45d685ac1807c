//! Runner of one batch: fetches and parses its pages and writes the results to the log of the batch, segment by segment. If
//! the worker dies, the next one continues after the last segment.
//!
//! While the broker or the blob store is unavailable, requests stop after some megabytes of results; nothing is lost.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use model::{PageId, SiteId};
use tokio::runtime::{Builder, Runtime};

use crate::control::handle::CrawlHandle;
use crate::dispatcher::address_policy::AddressPolicy;
use crate::error::Error;
use crate::files::journal::JournalEntry;
use crate::files::journal_replay::apply_journal;
use crate::harvester::pool::{HarvesterPool, HarvesterPoolConfig};
use crate::item::batch::Batch;
use crate::item::harvest_event::HarvestEvent;
use crate::item::harvest_item::HarvestItem;
use crate::settings::stop_mode::StopMode;
use crate::transport::blob_store::BlobStore;
use crate::transport::broker::{Broker, BrokerError, LogEntry, MAX_MESSAGE_BYTES};
use crate::transport::clock_skew::SharedClockSkew;
use crate::transport::messages::LogRecord;
use crate::transport::segment::SegmentWriter;
use crate::transport::{broker, clock_skew, messages};

/// Configuration of a batch runner.
pub(crate) struct BatchRunConfig<'h> {
    pub(crate) broker: &'h dyn Broker,
    pub(crate) blobs: &'h dyn BlobStore,
    pub(crate) worker: &'h str,
    pub(crate) batch: u64,
    /// Published message of the batch.
    pub(crate) message: &'h [u8],
    /// Control interface of this batch.
    pub(crate) handle: &'h CrawlHandle,
    pub(crate) context: crate::control::context::CrawlContext,
    /// Skew of the coordinator's clock.
    pub(crate) skew: &'h SharedClockSkew,
    /// Unique key of the lease.
    pub(crate) key: u64,
}

/// End of the work on a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchEnd {
    /// All results are in the log.
    Completed,
    /// Another worker has the batch or will get it.
    Abandoned,
}

/// Age and size at which a segment is sent.
const SEGMENT_INTERVAL: Duration = Duration::from_secs(2);
const TARGET_SEGMENT_BYTES: usize = 8 << 20;
/// Maximum pages, sites and event bytes of one log entry, which must fit into a message.
const MAX_PAGES_PER_ENTRY: usize = 20_000;
const MAX_EVENTS_BYTES: usize = MAX_MESSAGE_BYTES / 2;

/// Harvests a batch.
pub(crate) fn harvest(config: &BatchRunConfig<'_>) -> Result<BatchEnd, Error> {
    let (id, blobs) = (config.batch, config.blobs);
    let read = match config.retry(|| messages::read_offer(id, config.message, blobs)) {
        // Other workers could not decode it either: close it without a result.
        Err(BrokerError::Refused(_)) => Some(Batch { id, ..Batch::default() }),
        read => read?,
    };
    let Some(batch) = read else { return Ok(BatchEnd::Abandoned) };
    let Some(log) = config.retry(|| config.broker.read_log(id))? else { return Ok(BatchEnd::Abandoned) };
    let remaining = RemainingBatch::new(batch, &log);
    if remaining.closed {
        return Ok(BatchEnd::Completed);
    }
    let clocks_lost = !log.is_empty();
    let mut runner = BatchRunner::new(config, remaining.last_seq, &remaining.batch)?;
    if !runner.append(&LogRecord::Started { worker: config.worker.to_owned() })? {
        return Ok(BatchEnd::Abandoned);
    }
    runner.start(remaining, clocks_lost)?.run()
}

impl BatchRunConfig<'_> {
    /// Retries an operation; `None` if it is cancelled.
    fn retry<T>(&self, operation: impl FnMut() -> Result<T, BrokerError>) -> Result<Option<T>, BrokerError> {
        let is_cancelled = || match self.handle.stop_mode() {
            StopMode::Running => false,
            // A graceful stop waits for the broker only while the lease is valid.
            StopMode::Graceful => !self.context.lease.is_valid(),
            StopMode::Immediate => true,
        };
        broker::retry_until(is_cancelled, operation)
    }
}

/// Part of a batch that earlier workers have not finished.
struct RemainingBatch {
    batch: Batch,
    events: Vec<JournalEntry>,
    /// Last entry of the log.
    last_seq: u64,
    closed: bool,
    /// Indexes of pages in the published batch.
    page_indexes: HashMap<PageId, u32>,
}

impl RemainingBatch {
    fn new(mut batch: Batch, log: &[LogEntry]) -> RemainingBatch {
        let pages = batch.sites.iter().flat_map(|site| &site.pages);
        let mut page_indexes: HashMap<PageId, u32> =
            pages.zip(0..).map(|(page, index)| (page.page, index)).collect();
        let (mut done, mut done_sites, mut all_events, mut closed) =
            (HashSet::new(), HashSet::new(), Vec::new(), false);
        for entry in log {
            // Pages of an entry that cannot be decoded are fetched again.
            let Ok(record) = LogRecord::read(&entry.message) else { continue };
            match record {
                LogRecord::Started { .. } => {}
                LogRecord::Events { mut events, ahead_ms, .. } => {
                    let to_coordinator = |time_ms| clock_skew::to_coordinator_ms(ahead_ms, time_ms);
                    events.iter_mut().for_each(|entry| entry.convert_times(to_coordinator));
                    all_events.extend(events);
                }
                LogRecord::Segment { pages, sites, .. } => {
                    done.extend(pages);
                    done_sites.extend(sites);
                }
                LogRecord::Closed { .. } => closed = true,
            }
        }
        batch.sites.retain(|site| !done_sites.contains(&site.site));
        for site in &mut batch.sites {
            site.pages.retain(|page| page_indexes.get(&page.page).is_some_and(|index| !done.contains(index)));
        }
        let remaining: HashSet<PageId> =
            batch.sites.iter().flat_map(|site| &site.pages).map(|page| page.page).collect();
        page_indexes.retain(|page, _| remaining.contains(page));
        RemainingBatch {
            batch,
            events: all_events,
            last_seq: log.last().map_or(0, |entry| entry.seq),
            closed,
            page_indexes,
        }
    }
}

/// State of a batch in work.
struct BatchRunner<'h, 'p> {
    config: &'h BatchRunConfig<'p>,
    batch: u64,
    runtime: Runtime,
    /// Last entry of the log.
    last_seq: u64,
    segment: SegmentWriter,
    segment_started: Instant,
    segments: u32,
    /// Pages that are complete with the current segment.
    pages_done: Vec<u32>,
    sites_done: Vec<SiteId>,
    events: Vec<JournalEntry>,
    /// Unfinished sites, with names and addresses.
    sites: HashMap<SiteId, (String, Option<std::net::IpAddr>)>,
    page_indexes: HashMap<PageId, u32>,
    by_url: HashMap<String, PageId>,
    lost: bool,
}

impl<'h, 'p> BatchRunner<'h, 'p> {
    fn new(
        config: &'h BatchRunConfig<'p>,
        last_seq: u64,
        batch: &Batch,
    ) -> Result<BatchRunner<'h, 'p>, Error> {
        let pages = batch.sites.iter().flat_map(|site| &site.pages);
        Ok(BatchRunner {
            config,
            batch: batch.id,
            runtime: Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?,
            last_seq,
            segment: SegmentWriter::default(),
            segment_started: Instant::now(),
            segments: 0,
            pages_done: Vec::new(),
            sites_done: Vec::new(),
            events: Vec::new(),
            sites: batch.sites.iter().map(|site| (site.site, (site.name.clone(), site.address))).collect(),
            page_indexes: HashMap::new(),
            by_url: pages.map(|page| (page.url.clone(), page.page)).collect(),
            lost: false,
        })
    }

    /// Starts the threads.
    fn start(mut self, remaining: RemainingBatch, clocks_lost: bool) -> Result<RunningBatch<'h, 'p>, Error> {
        let RemainingBatch { mut batch, events, page_indexes, .. } = remaining;
        self.page_indexes = page_indexes;
        // The coordinator reads these events from the log, so that the return value is not needed.
        apply_journal(&mut batch, &events);
        let skew = self.config.skew.get();
        batch.address_cooldowns.iter_mut().for_each(|(_, until_ms)| *until_ms = skew.to_local_ms(*until_ms));
        batch.host_cooldowns.iter_mut().for_each(|(_, until_ms)| *until_ms = skew.to_local_ms(*until_ms));
        batch
            .sites
            .iter_mut()
            .for_each(|site| site.earliest_request_ms = skew.to_local_ms(site.earliest_request_ms));
        let (address_cooldowns, host_cooldowns) =
            (mem::take(&mut batch.address_cooldowns), mem::take(&mut batch.host_cooldowns));
        let pool = HarvesterPool::start(HarvesterPoolConfig {
            context: &self.config.context,
            // Events that must survive a crash are written to the log of the batch.
            journal: None,
            committed: &[Arc::default()],
            clocks_lost,
            address_cooldowns,
            host_cooldowns,
            address_policy: AddressPolicy::for_leased(std::slice::from_ref(&batch)),
            gathers: true,
        })?;
        self.config.context.counters.pages_queued.fetch_add(batch.pages() as u64, Ordering::Relaxed);
        pool.submit(batch);
        Ok(RunningBatch { runner: self, pool })
    }

    fn accept_items(&mut self, items: Vec<HarvestItem>) -> Result<(), Error> {
        if self.segment.is_empty() {
            self.segment_started = Instant::now();
        }
        for item in items {
            match item {
                HarvestItem::Gathered(mut page) => {
                    if let Some(Err(error)) = page.record.take_if(|record| record.is_err()) {
                        return Err(error.into());
                    }
                    let id = self.by_url.get(page.url().as_str());
                    if let Some(index) = id.and_then(|id| self.page_indexes.remove(id)) {
                        self.pages_done.push(index);
                        self.segment.push_page(index, &page);
                    }
                }
                HarvestItem::Event(event) => self.accept_event(&event),
                // The harvesters of a worker have gatherers, and logs are only on the coordinator's side.
                HarvestItem::Fetched(..) | HarvestItem::Cursor(_) => {}
            }
        }
        Ok(())
    }

    /// Drops items of an abandoned batch; their pages are not queued any more.
    fn drop_items(&mut self, items: &[HarvestItem]) {
        for item in items {
            let id = match item {
                HarvestItem::Gathered(page) => self.by_url.get(page.url().as_str()).copied(),
                HarvestItem::Event(
                    HarvestEvent::PageSkipped { page, .. } | HarvestEvent::PageReturned { page, .. },
                ) => Some(*page),
                _ => None,
            };
            if let Some(id) = id {
                self.page_indexes.remove(&id);
            }
        }
    }

    fn accept_event(&mut self, event: &HarvestEvent) {
        let look_up = |site| self.sites.get(&site).and_then(|(name, at)| Some((name.as_str(), (*at)?)));
        self.events.extend(JournalEntry::from_event(event, look_up));
        match event {
            HarvestEvent::PageSkipped { page, .. } | HarvestEvent::PageReturned { page, .. } => {
                self.pages_done.extend(self.page_indexes.remove(page));
            }
            HarvestEvent::SiteDone(result) => {
                self.sites.remove(&result.site);
                self.sites_done.push(result.site);
            }
            _ => {}
        }
        self.segment.push_event(event);
    }

    /// Writes events that must survive a crash to the log at once. The next segment contains them, too.
    fn send_events(&mut self) -> Result<(), Error> {
        let (mut events, mut length) = (Vec::new(), 0);
        for entry in mem::take(&mut self.events) {
            let entry_length = entry.encoded_len();
            // After a crash, the next worker fetches a robots.txt that is too long for a message again.
            if entry_length > MAX_EVENTS_BYTES {
                continue;
            }
            if length + entry_length > MAX_EVENTS_BYTES {
                self.append_events(mem::take(&mut events))?;
                length = 0;
            }
            length += entry_length;
            events.push(entry);
        }
        self.append_events(events)
    }

    fn append_events(&mut self, events: Vec<JournalEntry>) -> Result<(), Error> {
        if !events.is_empty() {
            let (worker, ahead_ms) = (self.config.worker.to_owned(), self.config.skew.get().ahead_ms());
            self.append(&LogRecord::Events { worker, ahead_ms, events })?;
        }
        Ok(())
    }

    fn send_if_full(&mut self) -> Result<(), Error> {
        let is_full = self.segment.bytes() >= TARGET_SEGMENT_BYTES
            || self.pages_done.len() >= MAX_PAGES_PER_ENTRY
            || self.sites_done.len() >= MAX_PAGES_PER_ENTRY;
        if is_full { self.send_segment() } else { Ok(()) }
    }

    /// Stores the segment and appends it to the log.
    fn send_segment(&mut self) -> Result<(), Error> {
        if self.segment.is_empty() || self.lost {
            return Ok(());
        }
        self.segments += 1;
        let name = messages::segment_blob_name(self.batch, self.config.key, self.segments);
        let failed = |source| Error::Io { operation: "compress", path: name.clone().into(), source };
        let bytes = self.segment.finish().map_err(failed)?;
        let config = self.config;
        if config.retry(|| config.blobs.put(&name, bytes.clone()))?.is_none() {
            self.lost = true;
            return Ok(());
        }
        let line = LogRecord::Segment {
            worker: config.worker.to_owned(),
            ahead_ms: config.skew.get().ahead_ms(),
            key: config.key,
            number: self.segments,
            pages: mem::take(&mut self.pages_done),
            sites: mem::take(&mut self.sites_done),
        };
        self.append(&line)?;
        Ok(())
    }

    /// Appends to the log. Returns false if another worker has written to it.
    fn append(&mut self, record: &LogRecord) -> Result<bool, Error> {
        let (message, config) = (record.write()?, self.config);
        let appended = match self.lost {
            true => None,
            false => {
                config.retry(|| config.broker.append_log(self.batch, self.last_seq, &message))?.flatten()
            }
        };
        match appended {
            Some(seq) => self.last_seq = seq,
            None => self.abandon(),
        }
        Ok(appended.is_some())
    }

    fn abandon(&mut self) {
        self.lost = true;
        self.config.context.lease.revoke();
        self.config.handle.stop(StopMode::Immediate);
    }
}

/// Batch with the threads that fetch it.
struct RunningBatch<'h, 'p> {
    runner: BatchRunner<'h, 'p>,
    pool: HarvesterPool,
}

impl RunningBatch<'_, '_> {
    fn run(mut self) -> Result<BatchEnd, Error> {
        let outcome = self.receive();
        // Stop and join all threads, also after an error.
        self.runner.config.handle.stop(if outcome.is_ok() {
            StopMode::Graceful
        } else {
            StopMode::Immediate
        });
        while let Some((_, items)) = self.runner.runtime.block_on(self.pool.items.recv()) {
            if outcome.is_ok() && !self.runner.lost {
                self.runner.accept_items(items)?;
                self.runner.send_if_full()?;
            } else {
                self.runner.drop_items(&items);
            }
        }
        self.pool.join()?;
        let context = &self.runner.config.context;
        context.counters.pages_queued.fetch_sub(self.runner.page_indexes.len() as u64, Ordering::Relaxed);
        outcome?;
        self.runner.close()
    }

    /// Receives items until all sites are done or the batch is stopped.
    fn receive(&mut self) -> Result<(), Error> {
        let runner = &mut self.runner;
        while !runner.sites.is_empty()
            && !runner.lost
            && runner.config.handle.stop_mode() == StopMode::Running
        {
            let items = &mut self.pool.items;
            let next = async { tokio::time::timeout(SEGMENT_INTERVAL / 4, items.recv()).await };
            match runner.runtime.block_on(next) {
                Ok(Some((_, items))) => runner.accept_items(items)?,
                Ok(None) => return Ok(()),
                Err(_) => {}
            }
            runner.send_events()?;
            if runner.segment_started.elapsed() >= SEGMENT_INTERVAL {
                runner.send_segment()?;
            }
            runner.send_if_full()?;
            if self.pool.has_failed_thread() {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl BatchRunner<'_, '_> {
    /// Sends the remaining results and closes the log. After dropped requests the last contact with their sites is unknown:
    /// the batch is left to a worker that starts with a full delay.
    fn close(mut self) -> Result<BatchEnd, Error> {
        if self.lost || self.config.handle.stop_mode() == StopMode::Immediate {
            return Ok(BatchEnd::Abandoned);
        }
        let unfetched: Vec<PageId> = self.page_indexes.keys().copied().collect();
        for page in unfetched {
            self.accept_event(&HarvestEvent::PageReturned { page, reason: None });
            self.send_if_full()?;
        }
        self.send_segment()?;
        let closed = LogRecord::Closed { worker: Some(self.config.worker.to_owned()) };
        Ok(if self.append(&closed)? { BatchEnd::Completed } else { BatchEnd::Abandoned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::batch::test_site;
    use crate::item::robots_response::RobotsResponse;

    fn entry(seq: u64, message: &[u8]) -> LogEntry {
        LogEntry { batch: 7, seq, message: message.to_vec() }
    }

    #[test]
    fn the_next_worker_continues_after_the_last_segment_and_skips_undecodable_entries() {
        let batch = Batch { id: 7, sites: vec![test_site()], ..Batch::default() };
        let contacted = HarvestEvent::HostContacted {
            name: "http://b.example".to_owned(),
            address: Some([192, 0, 2, 2].into()),
            ended_ms: 9_000,
            until_ms: 70_000,
        };
        let robots = RobotsResponse { fetched_s: 99, status: 404, text: Vec::new() };
        let robots = HarvestEvent::RobotsFetched { site: SiteId(3), response: robots };
        let look_up = |_| Some(("http://a.example", [192, 0, 2, 1].into()));
        let events = [&contacted, &robots]
            .into_iter()
            .filter_map(|event| JournalEntry::from_event(event, look_up))
            .collect();
        let events = LogRecord::Events { worker: "dead".to_owned(), ahead_ms: Some(60_000), events };
        let done = LogRecord::Segment {
            worker: "dead".to_owned(),
            ahead_ms: None,
            key: 1,
            number: 1,
            pages: vec![0],
            sites: vec![],
        };
        let log = [entry(1, &events.write().unwrap()), entry(2, b""), entry(5, &done.write().unwrap())];
        let RemainingBatch { mut batch, events, last_seq, closed, page_indexes } =
            RemainingBatch::new(batch, &log);
        assert_eq!((last_seq, closed, batch.pages(), page_indexes.len()), (5, false, 1, 1));
        apply_journal(&mut batch, &events);
        // The clock of the dead worker was up to a minute ahead.
        assert_eq!(batch.host_cooldowns, [("http://b.example".to_owned(), 12_000)]);
        assert_eq!(batch.address_cooldowns, [([192, 0, 2, 2].into(), 12_000)]);
        assert_eq!(
            batch.sites[0].robots.as_ref().map(|robots| (robots.status, robots.fetched_s)),
            Some((404, 41))
        );
    }
}
