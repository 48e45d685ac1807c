//! Coordinator of remote workers, which fetch in other processes or on other machines in place of a local
//! [pool of harvesters](harvest::harvester::pool).
//!
//! The thread that owns the collection publishes batches, and deletes them when everything in their logs is committed. A
//! [listener thread](crate::coordinator::log_listener) receives the logs and returns the same items as a local pool.

pub(crate) mod ingest_attempts;
pub(crate) mod log_listener;
pub(crate) mod open_logs;
mod rejection_warnings;
pub(crate) mod segment_cleaner;
#[cfg(test)]
mod simulation;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use harvest::control::context::CrawlContext;
use harvest::control::handle::CrawlHandle;
use harvest::files::work_dirs::{WorkDir, written_ms};
use harvest::item::batch::Batch;
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::LogCursor;
use harvest::settings::stop_mode::StopMode;
use harvest::transport::broker::{BrokerError, LogEntry, RETRY_INTERVAL};
use harvest::transport::messages::LogRecord;
use harvest::transport::{Transport, broker, messages};
use harvest::verification::leased_batch::LeasedBatch;
use model::{PageId, SiteId};
use store::{Collection, PageStage};
use tokio::sync::mpsc::{Receiver, channel};

use crate::coordinator::ingest_attempts::IngestAttempts;
use crate::coordinator::log_listener::{ListenerConfig, LogListener};
use crate::coordinator::open_logs::OpenLogs;
use crate::coordinator::segment_cleaner::{Obsolete, SegmentCleaner};
use crate::error::Error;
use crate::recovery;
use crate::state::crawl_state::CrawlState;
use crate::state::log_cursors;

/// Chunks of items that wait to be ingested.
const CHANNEL_CAPACITY: usize = 4;

/// Coordinator, as used by the thread that owns the collection.
pub(crate) struct Coordinator {
    pub(crate) items: Receiver<(usize, Vec<HarvestItem>)>,
    transport: Transport,
    context: CrawlContext,
    open: OpenLogs,
    workers: Arc<AtomicUsize>,
    listener: Option<JoinHandle<Result<(), Error>>>,
    /// Segments and batches that are obsolete after the next commit.
    obsolete: Vec<Obsolete>,
    cleaner: Option<SegmentCleaner>,
    attempts: IngestAttempts,
}

impl Coordinator {
    /// Starts the listener, and returns the batches that workers hold since the last process, without their finished sites.
    pub(crate) fn start(
        collection: &mut Collection,
        transport: &Transport,
        context: &CrawlContext,
        handle: &CrawlHandle,
    ) -> Result<(Coordinator, Vec<Batch>), Error> {
        check_transport(collection, transport)?;
        // Workers compare this marker: segments in another blob store would be lost.
        let run = context.clock.now_us();
        retry(context, || transport.blobs.put(messages::RUN_MARKER_BLOB, run.to_string().into_bytes()))?;
        let open = OpenLogs::default();
        let recovered = recover(collection, transport, &open, context)?;
        let (sender, items) = channel(CHANNEL_CAPACITY);
        let count = Arc::new(AtomicUsize::new(0));
        let dir = collection.dir();
        let prefix = |batch: &u64| format!("{}/", messages::blob_prefix(*batch));
        let leased: Vec<String> = open.lock().keys().map(prefix).collect();
        let is_leased = |segment: &str| leased.iter().any(|prefix| segment.starts_with(prefix));
        let attempts =
            IngestAttempts::load(dir, is_leased).map_err(|source| Error::IngestAttempts { source })?;
        let config = ListenerConfig {
            open: open.clone(),
            workers: Arc::clone(&count),
            failed_segments: attempts.failed_segments(),
            run,
            retry_interval: RETRY_INTERVAL,
        };
        let listener = LogListener::new(transport, context, handle, config, sender, dir);
        let listener = thread::Builder::new()
            .name("workers".to_owned())
            .spawn(move || listener.run())
            .map_err(Error::Thread)?;
        let workers = Coordinator {
            items,
            transport: transport.clone(),
            context: context.clone(),
            open,
            workers: count,
            listener: Some(listener),
            obsolete: Vec::new(),
            cleaner: Some(SegmentCleaner::start(transport, dir)?),
            attempts,
        };
        Ok((workers, recovered))
    }

    /// Publishes a batch, whose log is already part of a commit.
    pub(crate) fn publish(&mut self, collection: &Collection, batch: &Batch) -> Result<(), Error> {
        // An earlier collection of the same name may have used this id.
        retry(&self.context, || self.transport.broker.delete_batch(batch.id))?;
        batch.write(&WorkDir::Leased.path(collection.dir(), batch.id))?;
        // Before it is published, so that no entry of its log is ignored.
        self.open.insert(LeasedBatch::new(batch.clone(), self.context.clock.now_ms()), 0);
        publish(&self.transport, batch, &self.context)
    }

    /// Records that the items of log entries are going to be ingested.
    pub(crate) fn begin_ingest(&mut self, cursors: &[LogCursor]) -> Result<(), Error> {
        let segments = cursors.iter().filter_map(|cursor| cursor.segment.as_deref());
        self.attempts.begin(segments).map_err(|source| Error::IngestAttempts { source })
    }

    /// Whether there are suspects: segments of which one ended an earlier process. Each of them is ingested alone.
    pub(crate) fn has_suspects(&self) -> bool {
        self.attempts.has_suspects()
    }

    /// Records that the items announced with `begin_ingest` were not ingested because of this error, unless they may have caused it.
    pub(crate) fn cancel_ingest(&mut self, error: &store::Error) {
        if !matches!(error, store::Error::Corrupt { .. }) {
            // If this fails, the other error is reported; a file that is cut is ignored.
            let _ = self.attempts.cancel();
        }
    }

    /// Records that the items announced with `begin_ingest` are ingested.
    pub(crate) fn end_ingest(&mut self) -> Result<(), Error> {
        self.attempts.end().map_err(|source| Error::IngestAttempts { source })
    }

    /// Records that the items of a log entry are ingested.
    pub(crate) fn record_cursor(&mut self, cursor: LogCursor) {
        self.obsolete.extend(cursor.segment.map(Obsolete::Segment));
        self.obsolete.extend(cursor.end.map(|_| Obsolete::Batch(cursor.batch)));
    }

    /// Deletes segments and batches that are obsolete after a commit.
    pub(crate) fn committed(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let Some(cleaner) = &self.cleaner else { return Ok(()) };
        self.obsolete.drain(..).for_each(|obsolete| cleaner.delete(obsolete));
        let deleted: Vec<u64> = cleaner.deleted_batches().collect();
        if !deleted.is_empty() {
            CrawlState::update(collection, |state| {
                deleted.into_iter().for_each(|batch| log_cursors::remove_log(state, batch));
            })?;
        }
        Ok(())
    }

    /// Waits until all obsolete data is deleted, after the last commit.
    pub(crate) fn clean_up(&mut self) -> Result<(), Error> {
        self.cleaner.take().map_or(Ok(()), SegmentCleaner::join)
    }

    /// Number of workers that reported recently.
    pub(crate) fn workers(&self) -> usize {
        self.workers.load(Relaxed)
    }

    pub(crate) fn has_failed_thread(&self) -> bool {
        self.listener.as_ref().is_some_and(JoinHandle::is_finished)
            || self.cleaner.as_ref().is_some_and(SegmentCleaner::has_failed)
    }

    /// Joins the listener, after everything was stopped and the channel is empty.
    pub(crate) fn join(&mut self) -> Result<(), Error> {
        if let Some(listener) = self.listener.take() {
            listener.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        self.cleaner.take_if(|cleaner| cleaner.has_failed()).map_or(Ok(()), SegmentCleaner::join)
    }
}

fn publish(transport: &Transport, batch: &Batch, context: &CrawlContext) -> Result<(), Error> {
    retry(context, || {
        let message = messages::write_offer(batch, &*transport.blobs)?;
        transport.broker.publish_batch(batch.id, &message)
    })
}

/// Retries an operation until it succeeds or the crawl is stopped; the next run publishes what this one could not.
fn retry(context: &CrawlContext, operation: impl FnMut() -> Result<(), BrokerError>) -> Result<(), Error> {
    broker::retry_until(|| context.stop_mode() != StopMode::Running, operation)?;
    Ok(())
}

/// Checks that no workers of another broker hold batches: they cannot be revoked from here and would keep fetching.
fn check_transport(collection: &mut Collection, transport: &Transport) -> Result<(), Error> {
    let dir = collection.dir().to_owned();
    let is_leased = |batch: u64| WorkDir::Leased.path(&dir, batch).exists();
    let mut state = CrawlState::load(collection)?;
    let is_other = log_cursors::set_transport(&mut state, &transport.broker.id());
    if is_other && log_cursors::leased_batches(&state).any(is_leased) {
        let cause = format!(
            "batches of this collection are leased through another broker: use the same --workers or --broker as before; if all those \
             workers have ended, delete {} and start again",
            dir.join("leased").display()
        );
        return Err(BrokerError::Refused(cause).into());
    }
    Ok(state.save(collection)?)
}

/// Recovers the batches that workers hold, and publishes those again that may not have been published.
fn recover(
    collection: &mut Collection,
    transport: &Transport,
    open: &OpenLogs,
    context: &CrawlContext,
) -> Result<Vec<Batch>, Error> {
    let dir = collection.dir().to_owned();
    let leased: Vec<u64> = log_cursors::leased_batches(&CrawlState::load(collection)?).collect();
    if !leased.is_empty() && !dir.join("leased").exists() {
        // The directory was deleted by hand; the time of the last request to any site is unknown.
        recovery::cool_down_all_sites(collection, &context.settings(), context.clock.now_ms())?;
    }
    let mut recovered = Vec::new();
    for id in leased {
        let path = WorkDir::Leased.path(&dir, id);
        let state = CrawlState::load(collection)?;
        let committed = log_cursors::committed_seq(&state, id).unwrap_or(0);
        // Entries also state finished sites, which are for other workers: those of a rejected segment are not finished here.
        let finished_sites: HashSet<SiteId> = log_cursors::finished_sites(&state, id).collect();
        let log = if path.exists() { transport.broker.read_log(id)? } else { Vec::new() };
        let is_end =
            |entry: &LogEntry| matches!(LogRecord::read(&entry.message), Ok(LogRecord::Closed { .. }));
        let is_closed = log.iter().any(|entry| entry.seq <= committed && is_end(entry));
        // A log that ends before the committed cursor belongs to another collection or was lost: its requests are unknown.
        let is_lost = path.exists() && log.last().map_or(0, |entry| entry.seq) < committed;
        if is_lost {
            recovery::cool_down_all_sites(collection, &context.settings(), context.clock.now_ms())?;
        }
        if is_closed || is_lost || !path.exists() {
            if segment_cleaner::delete_batch(&dir, transport, id)? {
                CrawlState::update(collection, |state| log_cursors::remove_log(state, id))?;
            }
            continue;
        }
        let mut batch = Batch::read(&path)?;
        open.insert(leased_before(collection, &path, &batch, &finished_sites, context)?, committed);
        if log.is_empty() {
            // It may never have been published.
            publish(transport, &batch, context)?;
        }
        batch.sites.retain(|site| !finished_sites.contains(&site.site));
        recovered.push(batch);
    }
    Ok(recovered)
}

/// Batch that was leased by an earlier process. The pages that are still queued have no result.
fn leased_before(
    collection: &Collection,
    path: &Path,
    batch: &Batch,
    finished_sites: &HashSet<SiteId>,
    context: &CrawlContext,
) -> Result<LeasedBatch, Error> {
    let mut pages: Vec<PageId> = Vec::with_capacity(batch.pages());
    for site in batch.sites.iter().filter(|site| !finished_sites.contains(&site.site)) {
        pages.extend(site.pages.iter().map(|page| page.page));
    }
    pages.sort_unstable();
    pages.dedup();
    let records = collection.page_state.reader().get_many(&pages)?;
    let open: HashSet<PageId> = pages
        .into_iter()
        .zip(records)
        .filter(|(_, record)| record.stage == PageStage::Queued)
        .map(|(page, _)| page)
        .collect();
    let mut leased = LeasedBatch::new(batch.clone(), written_ms(path, context.clock.now_ms()));
    leased.restore(|page| open.contains(&page), |site| finished_sites.contains(&site));
    Ok(leased)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use harvest::item::log_cursor::LogEnd;
    use harvest::{CrawlSettings, DirBlobStore, DirBroker};

    use super::*;
    use crate::test_collection::{NOON_MS, TestCollection};

    /// Coordinator without a listener.
    fn coordinator(test: &TestCollection, transport: &Transport) -> Coordinator {
        Coordinator {
            items: channel(1).1,
            transport: transport.clone(),
            context: CrawlHandle::new(CrawlSettings::default()).context(None),
            open: OpenLogs::default(),
            workers: Arc::default(),
            listener: None,
            obsolete: Vec::new(),
            cleaner: Some(SegmentCleaner::start(transport, test.dir.path()).unwrap()),
            attempts: IngestAttempts::load(test.dir.path(), |_| true).unwrap(),
        }
    }

    fn transport(test: &TestCollection) -> Transport {
        let dir = test.dir.path().join("workers");
        Transport {
            broker: Arc::new(DirBroker::open_coordinator(&dir).unwrap()),
            blobs: Arc::new(DirBlobStore::open(&dir.join("blobs")).unwrap()),
            settings: Arc::new(String::new),
            worker_timeout: Duration::ZERO,
        }
    }

    fn cursor_of(batch: u64, seq: u64, finished_sites: &[SiteId]) -> LogCursor {
        LogCursor { batch, seq, finished_sites: finished_sites.to_vec(), segment: None, end: None }
    }

    #[test]
    fn only_a_site_whose_result_was_accepted_is_finished_after_a_restart() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let (transport, context) =
            (transport(&test), CrawlHandle::new(CrawlSettings::default()).context(None));
        let sites = vec![simulation::batch_site((0, vec![0]))];
        let batch = Batch { id: 7, sites, ..Batch::default() };
        batch.write(&WorkDir::Leased.path(test.dir.path(), 7)).unwrap();
        publish(&transport, &batch, &context).unwrap();
        let (worker, sites) = ("w".to_owned(), vec![SiteId(0)]);
        let claim = LogRecord::Segment { worker, ahead_ms: None, key: 1, number: 1, pages: vec![0], sites };
        assert_eq!(transport.broker.append_log(7, 0, &claim.write().unwrap()).unwrap(), Some(1));
        for accepted in [&[][..], &[SiteId(0)]] {
            let cursor = cursor_of(7, 1, accepted);
            CrawlState::update(&mut test.collection, |state| log_cursors::record(state, &cursor)).unwrap();
            let open = OpenLogs::default();
            let recovered = recover(&mut test.collection, &transport, &open, &context).unwrap();
            assert_eq!(recovered.len(), 1);
            assert_eq!(recovered[0].sites.len(), 1 - accepted.len());
        }
    }

    #[test]
    fn segments_and_finished_batches_are_deleted_only_after_the_commit_that_ingests_them() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let transport = transport(&test);
        let segment = messages::segment_blob_name(7, 1, 1);
        let cursor =
            LogCursor { segment: Some(segment.clone()), end: Some(LogEnd::Leased), ..cursor_of(7, 1, &[]) };
        let ingest = |coordinator: &mut Coordinator, cursor: &LogCursor| {
            transport.blobs.put(&segment, b"pages".to_vec()).unwrap();
            coordinator.record_cursor(cursor.clone());
        };
        // A process that dies before the commit deletes nothing.
        let mut before = coordinator(&test, &transport);
        ingest(&mut before, &cursor);
        before.clean_up().unwrap();
        assert!(transport.blobs.get(&segment, 100).unwrap().is_some());

        let mut after = coordinator(&test, &transport);
        ingest(&mut after, &cursor);
        CrawlState::update(&mut test.collection, |state| log_cursors::record(state, &cursor)).unwrap();
        test.collection.commit(NOON_MS as i64).unwrap();
        after.committed(&mut test.collection).unwrap();
        after.clean_up().unwrap();
        assert_eq!(transport.blobs.get(&segment, 100).unwrap(), None);
    }

    #[test]
    fn batches_of_another_broker_must_end_before_the_broker_is_changed() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let transport = transport(&test);
        let mut state = CrawlState::default();
        log_cursors::set_transport(&mut state, "another broker");
        log_cursors::start_log(&mut state, 7);
        state.save(&mut test.collection).unwrap();
        let leased = WorkDir::Leased.path(test.dir.path(), 7);
        Batch { id: 7, ..Batch::default() }.write(&leased).unwrap();
        let error = check_transport(&mut test.collection, &transport).unwrap_err().to_string();
        assert!(error.contains("leased through another broker") && error.contains("leased"), "{error}");
        WorkDir::Leased.remove(test.dir.path(), 7).unwrap();
        check_transport(&mut test.collection, &transport).unwrap();
    }
}
