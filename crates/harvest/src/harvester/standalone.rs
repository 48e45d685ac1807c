//! Harvester as a standalone program: fetches the pages of batches and writes one sealed directory per batch. It never opens
//! the collection, so that it can run on any machine.
//!
//! A harvest that is stopped is sealed with what it has; pages that were not fetched are returned to the manager.
//! A crash leaves an unfinished directory, and the batch is harvested again. The responses and back-offs that must survive
//! are in a journal, in the collection or beside a single batch. Because the last request to each site is unknown after a
//! crash, each site then starts with a full delay. Copy the journal together with a batch that moves to another machine.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use model::{PageId, SiteId};
use tokio::runtime::Builder;

use crate::control::context::CrawlContext;
use crate::control::counters::Progress;
use crate::control::handle::CrawlHandle;
use crate::dispatcher::address_policy::AddressPolicy;
use crate::error::Error;
use crate::files::harvest_dir::HarvestWriter;
use crate::files::journal::JournalEntry;
use crate::files::journal_replay::apply_journal;
use crate::files::work_dirs::WorkDir;
use crate::files::{journal, work_dirs};
use crate::harvester::pool;
use crate::harvester::pool::{HarvesterPool, HarvesterPoolConfig, journal_error};
use crate::item::batch::Batch;
use crate::item::harvest_event::{HarvestEvent, UrlList};
use crate::item::harvest_item::HarvestItem;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::stop_mode::StopMode;

/// Summary of a harvest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarvestSummary {
    /// Directories that were written.
    pub harvests: Vec<PathBuf>,
    /// Number of page fetches.
    pub fetches: u64,
    /// Counters at the end.
    pub progress: Progress,
    /// Duration.
    pub duration: Duration,
    /// Whether it was stopped before all pages were fetched.
    pub stopped: bool,
}

/// Batches of a collection that are not harvested.
pub fn open_batches(collection: &Path) -> Result<Vec<PathBuf>, Error> {
    Ok(open_jobs(collection)?.into_iter().map(|job| job.batch).collect())
}

fn open_jobs(collection: &Path) -> Result<Vec<HarvestJob>, Error> {
    let all = WorkDir::Batches.list(collection)?.into_iter();
    let jobs = all.map(|(id, batch)| HarvestJob { batch, out: WorkDir::Harvests.path(collection, id) });
    Ok(jobs.filter(|job| !job.out.exists()).collect())
}

/// Harvests all open batches of a collection.
pub fn harvest_collection(collection: &Path, handle: &CrawlHandle) -> Result<HarvestSummary, Error> {
    let jobs = open_jobs(collection)?;
    let batch_journals = jobs.iter().map(|job| work_dirs::batch_journal(&job.batch)).collect();
    let outcome = harvest(
        &jobs,
        &JournalPaths { own: work_dirs::harvest_journal(collection), others: batch_journals },
        handle,
    )?;
    for job in &jobs {
        let journal = work_dirs::batch_journal(&job.batch);
        journal::clear(&journal).map_err(|source| journal_error(&journal, source))?;
    }
    Ok(outcome)
}

/// Harvests a single batch into a directory that must not exist.
pub fn harvest_batch(batch: &Path, out: &Path, handle: &CrawlHandle) -> Result<HarvestSummary, Error> {
    // The journal is beside the batch, which needs a real name: `.` has none.
    let failed = |source| Error::Io { operation: "find", path: batch.to_owned(), source };
    let batch = batch.canonicalize().map_err(failed)?;
    let others = work_dirs::collection_journal_of(&batch).into_iter().collect();
    let journals = JournalPaths { own: work_dirs::batch_journal(&batch), others };
    harvest(&[HarvestJob { batch, out: out.to_owned() }], &journals, handle)
}

/// Journals of this harvester, and of earlier harvesters of the same batches.
struct JournalPaths {
    own: PathBuf,
    others: Vec<PathBuf>,
}

impl JournalPaths {
    /// Entries of harvesters that did not end cleanly; `None` if all did.
    fn read_unclean(&self) -> Result<Option<Vec<JournalEntry>>, Error> {
        let mut all: Option<Vec<JournalEntry>> = None;
        for dir in self.others.iter().chain([&self.own]) {
            let entries = journal::read_unclean(dir).map_err(|source| journal_error(dir, source))?;
            if let Some(entries) = entries {
                all.get_or_insert_default().extend(entries);
            }
        }
        Ok(all)
    }
}

/// Names of the sites of a batch.
pub fn batch_sites(batch: &Path) -> Result<Vec<String>, Error> {
    Ok(Batch::read(batch)?.sites.into_iter().map(|site| site.name).collect())
}

struct HarvestJob {
    batch: PathBuf,
    out: PathBuf,
}

fn harvest(
    jobs: &[HarvestJob],
    journals: &JournalPaths,
    handle: &CrawlHandle,
) -> Result<HarvestSummary, Error> {
    let started = Instant::now();
    let _locks = jobs.iter().map(|job| lock(&job.batch)).collect::<Result<Vec<File>, Error>>()?;
    let context = handle.context(None);
    let mut harvest_run = HarvestRun::default();
    if !jobs.is_empty() {
        let journal = &journals.own;
        let pool = harvest_run.start(jobs, journals, &context)?;
        let outcome = harvest_run.run(pool, &context, handle);
        // Stop all threads, also after an error.
        handle.stop(StopMode::Immediate);
        outcome?;
        journal::clear(journal).map_err(|source| journal_error(journal, source))?;
    }
    Ok(HarvestSummary {
        harvests: jobs.iter().map(|job| job.out.clone()).collect(),
        fetches: harvest_run.fetches,
        progress: context.counters.progress(),
        duration: started.elapsed(),
        stopped: harvest_run.stopped,
    })
}

/// Locks a batch: two harvesters of one batch would send requests at twice the polite rate.
fn lock(batch: &Path) -> Result<File, Error> {
    let failed = |source| Error::Io { operation: "lock", path: batch.to_owned(), source };
    let dir = File::open(batch).map_err(failed)?;
    match dir.try_lock() {
        Ok(()) => Ok(dir),
        Err(TryLockError::WouldBlock) => Err(Error::BatchLocked { dir: batch.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// State of a harvest in progress.
#[derive(Default)]
struct HarvestRun {
    /// Writers by job index; `None` once sealed.
    writers: Vec<Option<HarvestWriter>>,
    /// Unfinished pages and sites, with their job indexes.
    pages: HashMap<PageId, usize>,
    sites: HashMap<SiteId, usize>,
    open_sites: Vec<usize>,
    /// Names and addresses of all sites.
    hosts: Vec<(String, Option<IpAddr>)>,
    fetches: u64,
    stopped: bool,
}

impl HarvestRun {
    /// Reads the batches and the journals of earlier harvesters, and starts the threads.
    fn start(
        &mut self,
        jobs: &[HarvestJob],
        journals: &JournalPaths,
        context: &CrawlContext,
    ) -> Result<HarvesterPool, Error> {
        let journal = &journals.own;
        let failed = |source| journal_error(journal, source);
        let settings = context.settings();
        let entries = journals.read_unclean()?;
        let clocks_lost = entries.is_some();
        let entries = entries.unwrap_or_default();
        let (mut batches, mut address_cooldowns, mut host_cooldowns, mut uncommitted) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, job) in jobs.iter().enumerate() {
            let mut batch = Batch::read(&job.batch)?;
            let now_ms = context.clock.now_ms() as i64;
            let mut writer = HarvestWriter::create(&job.out, batch.id, &settings.fetch.user_agent, now_ms)?;
            self.expect(&batch, index);
            for (entry, event) in apply_journal(&mut batch, &entries) {
                writer.push_event(event)?;
                uncommitted.push(entry);
            }
            address_cooldowns.append(&mut batch.address_cooldowns);
            host_cooldowns.append(&mut batch.host_cooldowns);
            self.writers.push(Some(writer));
            batches.push(batch);
        }
        journal::start(journal, &uncommitted).map_err(failed)?;
        let committed: Vec<Arc<AtomicU64>> = (0..pool::threads(&settings)).map(|_| Arc::default()).collect();
        let address_policy = AddressPolicy::for_leased(&batches);
        let pool = HarvesterPool::start(HarvesterPoolConfig {
            context,
            journal: Some(journal),
            committed: &committed,
            clocks_lost,
            address_cooldowns,
            host_cooldowns,
            address_policy,
            gathers: false,
        })?;
        let counters = &context.counters;
        counters.batches.store(batches.len() as u64, Relaxed);
        for batch in batches {
            counters.pages_queued.fetch_add(batch.pages() as u64, Relaxed);
            pool.submit(batch);
        }
        Ok(pool)
    }

    fn expect(&mut self, batch: &Batch, job: usize) {
        self.open_sites.push(batch.sites.len());
        for site in &batch.sites {
            self.sites.insert(site.site, job);
            self.hosts.push((site.name.clone(), site.address));
            self.pages.extend(site.pages.iter().map(|page| (page.page, job)));
        }
    }

    /// Writes items until all sites are done or the harvest is stopped; then seals the open directories.
    fn run(
        &mut self,
        mut pool: HarvesterPool,
        context: &CrawlContext,
        handle: &CrawlHandle,
    ) -> Result<(), Error> {
        let runtime = Builder::new_current_thread().enable_time().build().map_err(Error::Thread)?;
        while !self.sites.is_empty() && context.stop_mode() == StopMode::Running && !pool.has_failed_thread()
        {
            let next = async { tokio::time::timeout(POLL_INTERVAL, pool.items.recv()).await };
            match runtime.block_on(next) {
                Ok(Some((_, items))) => self.accept_items(items)?,
                Ok(None) => break,
                Err(_) => {}
            }
        }
        self.stopped = !self.sites.is_empty();
        handle.stop(StopMode::Graceful);
        while let Some((_, items)) = runtime.block_on(pool.items.recv()) {
            self.accept_items(items)?;
        }
        pool.join()?;
        self.close_all(context)
    }

    fn accept_items(&mut self, items: Vec<HarvestItem>) -> Result<(), Error> {
        for item in items {
            match item {
                HarvestItem::Fetched(page, fetched) => {
                    let Some(job) = self.pages.remove(&page) else { continue };
                    if let Some(writer) = &mut self.writers[job] {
                        writer.push_fetch(page, &fetched)?;
                    }
                }
                HarvestItem::Event(event) => self.accept_event(event)?,
                // A standalone harvester does not parse pages and has no workers.
                HarvestItem::Gathered(..) | HarvestItem::Cursor(_) => {}
            }
        }
        Ok(())
    }

    fn accept_event(&mut self, event: HarvestEvent) -> Result<(), Error> {
        let job = match &event {
            HarvestEvent::PageSkipped { page, .. } | HarvestEvent::PageReturned { page, .. } => {
                self.pages.remove(page)
            }
            HarvestEvent::RobotsFetched { site, .. }
            | HarvestEvent::RobotsRedirect { site, .. }
            | HarvestEvent::SiteBackedOff { site, .. }
            | HarvestEvent::UrlsListed(UrlList { site, .. }) => self.sites.get(site).copied(),
            HarvestEvent::SiteDone(result) => self.sites.remove(&result.site),
            // The host can be in none of the batches: any open harvest will do.
            HarvestEvent::HostContacted { .. } => self.writers.iter().position(Option::is_some),
        };
        let Some(job) = job else { return Ok(()) };
        let is_done = matches!(event, HarvestEvent::SiteDone(_));
        if let Some(writer) = &mut self.writers[job] {
            writer.push_event(event)?;
        }
        self.open_sites[job] -= usize::from(is_done);
        // The last directory stays open for events that belong to no batch.
        let is_last = self.writers.iter().flatten().count() == 1;
        if is_done && self.open_sites[job] == 0 && !is_last { self.close(job) } else { Ok(()) }
    }

    /// Seals all open directories; pages that were not fetched are returned. When requests were dropped, their sites and addresses are
    /// unknown, so that all of them get the maximum delay.
    fn close_all(&mut self, context: &CrawlContext) -> Result<(), Error> {
        if context.stop_mode() == StopMode::Immediate {
            let ended_ms = context.clock.now_ceil_ms();
            let until_ms = ended_ms + max_delay_ms(&context.settings());
            if let Some(writer) = self.writers.iter_mut().flatten().next() {
                for (name, address) in std::mem::take(&mut self.hosts) {
                    writer.push_event(HarvestEvent::HostContacted { name, address, ended_ms, until_ms })?;
                }
            }
        }
        (0..self.writers.len()).try_for_each(|job| self.close(job))
    }

    fn close(&mut self, job: usize) -> Result<(), Error> {
        let Some(mut writer) = self.writers[job].take() else { return Ok(()) };
        for (page, _) in self.pages.extract_if(|_, of| *of == job) {
            writer.push_event(HarvestEvent::PageReturned { page, reason: None })?;
        }
        self.fetches += writer.seal()?;
        Ok(())
    }
}

/// Interval for checking that no thread has failed.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum delay of any site, with `Crawl-delay`.
fn max_delay_ms(settings: &CrawlSettings) -> u64 {
    settings.max_site_delay_ms().max(settings.politeness.max_crawl_delay_ms)
}
