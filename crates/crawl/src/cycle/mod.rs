//! The crawl loop, in which manager, harvesters, gatherers and seeder run concurrently.
//!
//! ```text
//!            batches                    sites, by address
//!  manager ----------> dispatcher ----------------------> harvesters, one per core
//!     ^                    |                                  | each parses its pages (gatherer)
//!     |    states          |  unresolvable sites              |
//!  collection <----------- seeder <---------------------------'
//!                                    chunks of pages and events, bounded
//! ```
//!
//! The calling thread owns the collection: it ingests pages and events, commits every few seconds, and creates the next batch
//! while the last one is still being fetched. Idle threads wait for a channel or a timer; no thread waits for a lock.
//!
//! A crash loses only what was received since the last commit: queued pages are released at the next start, and
//! [journals](harvest::files::journal) hold the delays that servers requested in the meantime.

pub(crate) mod backend;
mod judgement;
mod leasing;
pub(crate) mod limits;
mod schedule;
pub(crate) mod site_stats;
pub(crate) mod status_sampler;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use harvest::control::context::CrawlContext;
use harvest::control::handle::CrawlHandle;
use harvest::dispatcher::batch_resolver::ResolvedAddresses;
use harvest::item::batch::Batch;
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::LogCursor;
use harvest::settings::crawl_settings::CrawlSettings;
use harvest::settings::stop_mode::StopMode;
use harvest::transport::Transport;
use model::SiteId;
use store::Collection;
use tokio::runtime::{Builder, Runtime};

use self::leasing::{MIN_BATCH_PAGES, start_coordinator};
use self::schedule::{DUE_SCAN_INTERVAL, LoopSchedule, MIN_BATCH_INTERVAL};
use crate::claims::outstanding_claims;
use crate::claims::outstanding_claims::OutstandingClaims;
use crate::cycle::backend::{FetchBackend, LocalBackend};
use crate::cycle::limits::{CrawlLimits, CrawlSummary};
use crate::cycle::status_sampler::StatusSampler;
use crate::error::Error;
use crate::ingest::table_rows::describe_sites;
use crate::manager::{DueTime, Manager, domain_budget};
use crate::recovery;
use crate::seeder::Seeder;
use crate::state::crawl_state::CrawlState;
use crate::state::log_cursors;
use crate::state::stages::requeue_unowned;

/// Crawls with harvesters in this process, until no page is due, a limit is reached or the crawl is stopped.
pub fn crawl(
    collection: &mut Collection,
    handle: &CrawlHandle,
    limits: CrawlLimits,
) -> Result<CrawlSummary, Error> {
    run(collection, handle, limits, None)
}

/// Crawls with remote workers, which fetch and parse the pages.
pub fn crawl_by_workers(
    collection: &mut Collection,
    handle: &CrawlHandle,
    limits: CrawlLimits,
    transport: &Transport,
) -> Result<CrawlSummary, Error> {
    run(collection, handle, limits, Some(transport))
}

fn run(
    collection: &mut Collection,
    handle: &CrawlHandle,
    limits: CrawlLimits,
    transport: Option<&Transport>,
) -> Result<CrawlSummary, Error> {
    let mut crawl_loop = CrawlLoop::start(collection, handle, limits, transport)?;
    let outcome = crawl_loop.run(collection);
    let stopped = crawl_loop.summary().stopped_early;
    // Join all threads, also after an error.
    handle.stop(if outcome.is_ok() { StopMode::Graceful } else { StopMode::Immediate });
    let ended = crawl_loop.finish(collection, outcome.is_ok());
    handle.shared_status().update(|status| status.finished = true);
    outcome.and(ended.map(|summary| CrawlSummary { stopped_early: stopped, ..summary }))
}

/// Items are ingested when the pages have this many bytes, or this many items are pending, or nothing else is to do.
const INGEST_BYTES: u64 = 8 << 20;
const INGEST_ITEMS: usize = 2 << 10;
/// Maximum number of links in memory before a commit.
const MAX_PENDING_LINKS: usize = 1 << 20;
/// Maximum number of batches queued at the harvesters.
const MAX_QUEUED_BATCHES: u64 = 4;
/// Minimum time between two batches for workers that are short of pages.
const LEASE_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum sleep of a continuous crawl without due pages.
const MAX_SLEEP_MS: u64 = 3_600_000;

/// Time between two scans for rejected pages whose URL groups have room again; they also happen when no page is due.
const RELEASE_INTERVAL: Duration = Duration::from_secs(30);

/// State of the calling thread during a crawl.
struct CrawlLoop {
    context: CrawlContext,
    limits: CrawlLimits,
    started: Instant,
    runtime: Runtime,
    backend: FetchBackend,
    /// Cursors of log entries whose items are pending.
    cursors: Vec<LogCursor>,
    manager: Manager,
    seeder: Seeder,
    /// Sites of a batch that were not leased after all.
    returned_sites: Vec<SiteId>,
    /// Batch that is leased as soon as its host names are resolved.
    resolving: Option<JoinHandle<Result<(ResolvedAddresses, Batch), Error>>>,
    /// Claims of batches outside this process, and the number of sites that they exclude.
    outstanding: OutstandingClaims,
    claimed_sites: usize,
    schedule: LoopSchedule,
    /// Settings by which the pages were judged last.
    judged: Option<Arc<CrawlSettings>>,
    last_scan_ms: u64,
    /// Time at which rejected pages of grown URL groups were admitted last.
    last_release: Instant,
    next_due_ms: Option<u64>,
    daily_limit_reached: bool,
    /// Whether due pages were left when the maximum number of batches was reached.
    pages_left: bool,
    sampler: StatusSampler,
}

impl CrawlLoop {
    /// Recovers the collection from a crash, if there was one, and starts all threads.
    fn start(
        collection: &mut Collection,
        handle: &CrawlHandle,
        limits: CrawlLimits,
        transport: Option<&Transport>,
    ) -> Result<CrawlLoop, Error> {
        let context = handle.context(limits.pages);
        let settings = context.settings();
        let mut manager = Manager::default();
        // A missing rank is an error of the settings; report it before anything is changed.
        manager.load_ranks(collection, &settings)?;
        let limits = CrawlLimits {
            duration: limits.duration.map(|duration| context.clock.to_real_time(duration)),
            ..limits
        };
        let clocks_lost = recovery::replay_journals(collection, &settings, context.clock.now_ms())?;
        if clocks_lost {
            recovery::cool_down_all_sites(collection, &settings, context.clock.now_ms())?;
        }
        manager.last_batch = CrawlState::update(collection, |state| {
            state.day_counter.recover_reserved();
            state.last_batch
        })?;
        let (backend, outstanding) = match transport {
            None => LocalBackend::start(collection, &context, clocks_lost)?,
            Some(transport) => start_coordinator(collection, transport, &context, handle, &mut manager)?,
        };
        manager.open.claim(outstanding_claims::sites_at_claimed_addresses(collection, &outstanding)?);
        let claimed_sites = manager.open.claimed_sites();
        Ok(CrawlLoop {
            seeder: Seeder::new(&settings, collection)?,
            context,
            limits,
            started: Instant::now(),
            runtime: Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?,
            backend,
            cursors: Vec::new(),
            returned_sites: Vec::new(),
            resolving: None,
            claimed_sites,
            manager,
            outstanding,
            schedule: LoopSchedule::new(Instant::now()),
            judged: None,
            last_scan_ms: 0,
            last_release: Instant::now(),
            next_due_ms: None,
            daily_limit_reached: false,
            pages_left: false,
            sampler: StatusSampler::new(handle.shared_status()),
        })
    }

    /// Runs until no page is due, a limit is reached or the crawl is stopped.
    fn run(&mut self, collection: &mut Collection) -> Result<CrawlSummary, Error> {
        while self.context.stop_mode() == StopMode::Running
            && !self.limit_reached()
            && !self.backend.has_failed_thread()
        {
            self.lease_resolved(collection)?;
            self.create_batch(collection)?;
            self.sampler.update(collection, &self.manager, &self.context)?;
            if self.is_idle() && !self.wait_until_due(collection)? {
                break;
            }
            self.receive(self.receive_timeout());
            self.seed(collection)?;
            self.commit_if_due(collection)?;
        }
        Ok(self.summary())
    }

    fn limit_reached(&self) -> bool {
        // Local harvesters stop at the exact number of pages themselves; workers report theirs later.
        let fetched = self.context.counters.pages_fetched.load(Ordering::Relaxed);
        let has_pages = |max_pages| self.backend.is_remote() && fetched >= max_pages;
        self.limits.duration.is_some_and(|duration| self.started.elapsed() >= duration)
            || self.limits.pages.is_some_and(has_pages)
    }

    /// Whether no batch is open and nothing is pending.
    fn is_idle(&self) -> bool {
        self.manager.open.sites() == self.claimed_sites
            && self.seeder.pending_items() == 0
            && self.backend.is_idle()
    }

    /// Whether the maximum number of batches has been created.
    fn has_all_batches(&self) -> bool {
        self.limits
            .batches
            .is_some_and(|batches| self.context.counters.batches.load(Ordering::Relaxed) >= batches)
    }

    /// Creates the next batch, if pages may be due and the harvesters have capacity.
    fn create_batch(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let settings = self.context.settings();
        self.judge_again(collection, &settings)?;
        let batch_pages = self.batch_pages(&settings);
        let counters = Arc::clone(&self.context.counters);
        let waiting = counters.pages_queued.load(Ordering::Relaxed);
        // Create batches early: the rate of a polite crawl depends on the number of active sites, so a finished site should
        // not wait for the others of its batch.
        let has_room = waiting < batch_pages as u64 * MAX_QUEUED_BATCHES * self.backend.processes() as u64;
        let now = Instant::now();
        let may_scan = self.schedule.may_scan(now, self.min_batch_interval(), self.is_idle());
        self.schedule.scan_needed |= self.schedule.due_in(now, self.next_scan()) == Duration::ZERO;
        let should_scan = self.schedule.scan_needed && has_room && may_scan && self.resolving.is_none();
        if !should_scan || self.has_all_batches() {
            return Ok(());
        }
        let start = Instant::now();
        if start.duration_since(self.last_release) >= RELEASE_INTERVAL {
            self.seeder.release_templates(collection)?;
            self.last_release = start;
        }
        self.last_scan_ms = self.context.clock.now_ms();
        let settings = CrawlSettings { max_batch_pages: batch_pages, ..CrawlSettings::clone(&settings) };
        let batch = self.manager.next_batch(collection, &settings, self.last_scan_ms)?;
        self.schedule.scan_needed = false;
        if let Some(batch) = batch {
            self.schedule.changed(0);
            let (max_requests, open_pages) = (settings.max_requests_per_day, self.manager.open_pages);
            let now_ms = self.last_scan_ms;
            let must_commit = CrawlState::update(collection, |state| {
                state.last_batch = batch.id;
                max_requests > 0 && state.day_counter.reserve(now_ms, open_pages, max_requests)
            })?;
            if must_commit {
                // The reservation must be durable before its requests are made.
                self.commit(collection)?;
            }
            match &self.backend {
                FetchBackend::Remote(_) => self.resolve_batch(collection, batch)?,
                FetchBackend::Local(local) => {
                    counters.batches.fetch_add(1, Ordering::Relaxed);
                    counters.pages_queued.fetch_add(batch.pages() as u64, Ordering::Relaxed);
                    local.pool.submit(batch);
                }
            }
        }
        self.schedule.scanned(start, Instant::now());
        Ok(())
    }

    /// Minimum time between two batches. Workers get fewer and larger ones, because each costs a commit and messages, unless
    /// they are short of pages.
    fn min_batch_interval(&self) -> Duration {
        let waiting = self.context.counters.pages_queued.load(Ordering::Relaxed);
        match self.backend.is_remote() {
            true if waiting >= MIN_BATCH_PAGES as u64 => DUE_SCAN_INTERVAL,
            true => LEASE_INTERVAL,
            false => MIN_BATCH_INTERVAL,
        }
    }

    /// Time of the manager's next scan: when a page becomes due, or a new day begins.
    fn next_scan(&self) -> Instant {
        self.context.clock.instant(self.manager.next_scan_ms)
    }

    /// Waits while nothing is in progress until the next page is due; false if the crawl is done.
    fn wait_until_due(&mut self, collection: &mut Collection) -> Result<bool, Error> {
        let settings = self.context.settings();
        let now_ms = self.context.clock.now_ms();
        if self.has_all_batches() {
            self.pages_left = self.manager.has_due_pages(collection, &settings, now_ms)?;
            return Ok(false);
        }
        if self.seeder.release_templates(collection)? > 0 {
            self.schedule.scan_needed = true;
            return Ok(true);
        }
        // Pages that were due at the last scan were not selected, so only later times count.
        let continuous = self.limits.continuous;
        let due = self.manager.next_due(collection, &settings, continuous, self.last_scan_ms)?;
        self.next_due_ms = due.map(|due| due.time_ms);
        self.daily_limit_reached = due.is_some_and(|due| due.by_budget);
        let latest_ms = now_ms + settings.max_idle_ms;
        let due = match due {
            Some(due) if continuous || due.time_ms <= latest_ms => due,
            // New settings may make pages due.
            None if continuous => DueTime { time_ms: now_ms + MAX_SLEEP_MS, by_budget: false },
            _ => return Ok(false),
        };
        self.schedule.scan_needed = true;
        if due.time_ms <= now_ms {
            return Ok(true);
        }
        self.commit(collection)?;
        self.context.counters.set_idle_until(due.time_ms, due.by_budget);
        self.sleep_until(due.time_ms);
        self.context.counters.set_idle_until(0, false);
        Ok(true)
    }

    /// Sleeps until this time, a control request, or the end of the crawl's duration.
    fn sleep_until(&mut self, time_ms: u64) {
        let due = self.context.clock.instant(time_ms);
        let end = self.limits.duration.map(|duration| self.started + duration);
        self.runtime.block_on(async {
            let due = tokio::time::sleep_until(end.map_or(due, |end| end.min(due)).into());
            tokio::select! {
                () = due => {}
                () = self.context.changed() => {}
            }
        });
    }

    /// Maximum time to wait for items.
    fn receive_timeout(&self) -> Duration {
        let (now, commits) = (Instant::now(), self.context.settings().commits);
        let end_in = self.limits.duration.map(|duration| duration.saturating_sub(self.started.elapsed()));
        let (interval, next_scan) = (self.min_batch_interval(), self.next_scan());
        let timeout = self.schedule.receive_timeout(now, &commits, interval, next_scan, end_in);
        if self.resolving.is_some() { timeout.min(MIN_BATCH_INTERVAL) } else { timeout }
    }

    /// Receives items; waits up to `timeout` if there are none.
    fn receive(&mut self, timeout: Duration) {
        let items = self.backend.items();
        let first = match items.try_recv() {
            Ok(chunk) => Some(chunk),
            Err(_) => self.runtime.block_on(async {
                tokio::select! {
                    chunk = items.recv() => chunk,
                    () = tokio::time::sleep(timeout) => None,
                    () = self.context.changed() => None,
                }
            }),
        };
        first.into_iter().for_each(|(harvester, chunk)| self.accept(harvester, chunk));
        while self.seeder.pending_bytes() < INGEST_BYTES
            && self.seeder.pending_items() < INGEST_ITEMS
            && !self.backend.has_suspects()
        {
            let Ok((harvester, chunk)) = self.backend.items().try_recv() else { return };
            self.accept(harvester, chunk);
        }
    }

    fn accept(&mut self, harvester: usize, chunk: Vec<HarvestItem>) {
        self.backend.record_received(harvester, chunk.len());
        for item in chunk {
            self.sampler.observe(&item);
            match item {
                HarvestItem::Cursor(cursor) => self.cursors.push(cursor),
                HarvestItem::Gathered(page) => self.seeder.add_page(*page),
                HarvestItem::Event(event) => self.seeder.add_event(event),
                // Harvesters of a crawl parse their pages themselves.
                HarvestItem::Fetched(..) => {}
            }
        }
    }

    fn seed(&mut self, collection: &mut Collection) -> Result<(), Error> {
        if self.seeder.pending_items() == 0 && self.cursors.is_empty() {
            return Ok(());
        }
        self.seeder.update_settings(&self.context.settings(), collection)?;
        self.backend.begin_ingest(&self.cursors)?;
        let seeded = self.seeder.seed(collection).inspect_err(|error| self.backend.cancel_ingest(error))?;
        self.backend.end_ingest()?;
        let counters = &self.context.counters;
        counters.links.fetch_add(seeded.ingested.links, Ordering::Relaxed);
        counters.pages_truncated.fetch_add(seeded.ingested.truncated, Ordering::Relaxed);
        counters.pages_known.store(u64::from(collection.urls.reader().pages()), Ordering::Relaxed);
        self.schedule.changed(seeded.bytes);
        self.schedule.scan_needed |= !seeded.finished_sites.is_empty() || seeded.ingested.new_pages > 0;
        let mut state = CrawlState::load(collection)?;
        for site in &seeded.finished_sites {
            self.finish_site(collection, *site)?;
        }
        for site in std::mem::take(&mut self.returned_sites) {
            self.manager.open.close(site);
        }
        for cursor in std::mem::take(&mut self.cursors) {
            if let Some(end) = cursor.end {
                self.close_batch(collection, cursor.batch, end)?;
            }
            log_cursors::record(&mut state, &cursor);
            self.backend.record_cursor(cursor);
        }
        state.save(collection)?;
        if self.backend.is_remote() {
            self.count_remote();
        }
        Ok(())
    }

    /// Closes a finished site. If its address is claimed by a batch outside this process, it stays excluded until the end.
    fn finish_site(&mut self, collection: &Collection, site: SiteId) -> Result<(), Error> {
        let address =
            || Ok::<_, Error>(collection.site_state.reader().get(site)?.and_then(|record| record.address));
        let is_claimed = !self.outstanding.addresses.is_empty()
            && address()?.is_some_and(|address| self.outstanding.addresses.contains(&address.into()));
        self.manager.open.close(site);
        if is_claimed {
            self.manager.open.claim([site]);
            self.claimed_sites += 1;
        }
        Ok(())
    }

    fn commit_if_due(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let is_full =
            collection.links.pending() >= MAX_PENDING_LINKS || collection.page_state.should_commit();
        if self.schedule.should_commit(Instant::now(), &self.context.settings().commits, is_full) {
            self.commit(collection)?;
        }
        Ok(())
    }

    fn commit(&mut self, collection: &mut Collection) -> Result<(), Error> {
        let (started, time_ms) = (Instant::now(), self.context.clock.now_ms());
        let generation = collection.commit(time_ms as i64)?.generation;
        self.sampler.committed(time_ms, generation, started.elapsed());
        self.backend.committed(collection)?;
        self.schedule.committed(Instant::now());
        Ok(())
    }

    fn summary(&self) -> CrawlSummary {
        let is_stopped = self.context.stop_mode() > StopMode::Running;
        CrawlSummary {
            progress: self.context.counters.progress(),
            duration: self.started.elapsed(),
            next_due_ms: self.next_due_ms,
            daily_limit_reached: self.daily_limit_reached,
            stopped_early: is_stopped || self.limit_reached() || self.pages_left,
        }
    }

    /// Ingests the remaining items until all harvesters have ended, and commits. `is_ok` is false after an error: then the
    /// collection must not be written to.
    fn finish(mut self, collection: &mut Collection, is_ok: bool) -> Result<CrawlSummary, Error> {
        while let Some((harvester, chunk)) = self.runtime.block_on(self.backend.items().recv()) {
            if is_ok {
                self.accept(harvester, chunk);
                self.seed(collection)?;
                self.commit_if_due(collection)?;
            }
        }
        self.backend.join()?;
        if is_ok {
            requeue_unowned(collection, &self.outstanding.sites)?;
            domain_budget::mark_waiting_pages(collection, &self.context.settings())?;
            CrawlState::update(collection, |state| state.day_counter.finish())?;
            describe_sites(collection, self.context.clock.now_ms() as i64)?;
            self.commit(collection)?;
            if self.context.stop_mode() < StopMode::Immediate {
                self.backend.clean_up()?;
            }
            self.sampler.finish(collection, &self.manager, &self.context)?;
        }
        Ok(self.summary())
    }
}
