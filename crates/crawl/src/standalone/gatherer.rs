//! The gatherer as a separate program: stores and parses harvested pages, and writes their outlinks to a directory for the
//! seeder.
//!
//! A harvest is ingested by one commit, which also records its progress; its outlinks are written before. A crash before the
//! commit has no effect, and one after it only leaves directories to be removed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use harvest::files::harvest_dir::{HarvestReader, HarvestRecord};
use harvest::files::sealed_dir::SealedDirError;
use harvest::files::work_dirs::WorkDir;
use harvest::files::{journal, work_dirs};
use harvest::gatherer::pool;
use harvest::gatherer::pool::{GatherBatcher, MAX_JOBS_IN_FLIGHT, PendingPages, PipelineClosed};
use harvest::harvester::pool::journal_error;
use harvest::item::batch::Batch;
use harvest::item::gathered_page::GatheredPage;
use harvest::item::harvest_event::HarvestEvent;
use harvest::settings::clock::CrawlClock;
use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId, UrlRules};
use store::Collection;

use crate::error::Error;
use crate::ingest::Ingest;
use crate::ingest::outlinks_dir::OutlinksWriter;
use crate::ingest::page_policy::PagePolicy;
use crate::manager::release_disallowed;
use crate::seeder::DUPLICATE_WINDOW;
use crate::seeder::events::apply_events;
use crate::state::crawl_state::{CrawlState, IngestProgress};
use crate::state::ingest_progress;

/// Result of a run of the gatherer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatherSummary {
    /// Harvests ingested.
    pub harvests: u64,
    /// Pages fetched.
    pub pages: u64,
    /// Bytes of their bodies, as transferred.
    pub bytes: u64,
    /// Pages whose outlinks are ready for the seeder.
    pub pages_with_links: u64,
    /// Pages that were skipped or not fetched.
    pub pages_not_fetched: u64,
}

/// Ingests all harvests in the collection directory.
pub fn gather(collection: &mut Collection, settings: &Arc<CrawlSettings>) -> Result<GatherSummary, Error> {
    let dir = collection.dir().to_owned();
    CrawlState::update(collection, |state| ingest_progress::remove_finished(state, &dir))?;
    let clock = CrawlClock::start();
    let mut policy = PagePolicy::new(settings);
    policy.load_counts(collection)?;
    let mut run = GatherRun {
        settings,
        ingest: Ingest::with_policy(DUPLICATE_WINDOW, policy),
        summary: GatherSummary::default(),
    };
    let dir = collection.dir().to_owned();
    for (number, harvest) in WorkDir::Harvests.list(&dir)? {
        if ingest_progress::of_batch(&CrawlState::load(collection)?, number) == IngestProgress::None {
            run.ingest_harvest(collection, number, &harvest)?;
            let progress = IngestProgress::Pages { lines: 0 };
            CrawlState::update(collection, |state| ingest_progress::record(state, number, progress))?;
            collection.commit(clock.now_ms() as i64)?;
            run.summary.harvests += 1;
        }
        // The batch is removed first: without its harvest it would be fetched again.
        WorkDir::Batches.remove(&dir, number)?;
        WorkDir::Harvests.remove(&dir, number)?;
        let journal = work_dirs::batch_journal(&WorkDir::Batches.path(&dir, number));
        journal::clear(&journal).map_err(|source| journal_error(&journal, source))?;
    }
    Ok(run.summary)
}

/// Pages are stored when a batch reaches one of these sizes.
const BATCH_BYTES: u64 = 16 << 20;
const BATCH_PAGES: usize = 4 << 10;

/// Run of the gatherer.
struct GatherRun<'s> {
    settings: &'s CrawlSettings,
    ingest: Ingest,
    summary: GatherSummary,
}

impl GatherRun<'_> {
    /// Ingests a harvest, without the commit.
    fn ingest_harvest(
        &mut self,
        collection: &mut Collection,
        number: u64,
        harvest: &Path,
    ) -> Result<(), Error> {
        let reader = HarvestReader::open(harvest)?;
        let dir = collection.dir();
        let batch = WorkDir::Batches.path(dir, number);
        if reader.batch != number || !batch.exists() {
            return Err(Error::OrphanHarvest { harvest: harvest.to_owned(), batch });
        }
        let mut expected = ExpectedPages::new(Batch::read(&batch)?);
        // Left over from a run that crashed before its commit.
        WorkDir::Outlinks.remove(dir, number)?;
        let mut outlinks = OutlinksWriter::create(&WorkDir::Outlinks.path(dir, number), number)?;
        let settings = &self.settings.gathering;
        let (batcher, jobs) = pool::queue();
        let (step_sender, steps) = sync_channel(MAX_JOBS_IN_FLIGHT);
        let mut feeder =
            HarvestFeeder { reader, rules: &settings.rules, batcher, ids: Vec::new(), steps: step_sender };
        let mut events = thread::scope(|scope| {
            pool::start(scope, &jobs, settings);
            scope.spawn(move || feeder.run());
            // Owns the receiver, so that an error here ends the reader thread, and with it the parsers.
            self.store(collection, steps, &mut expected, &mut outlinks)
        })?;
        events.extend(expected.rest());
        self.summary.pages_not_fetched +=
            events.iter().filter(|event| is_unfetched_page(event)).count() as u64;
        let summary = apply_events(collection, events, &self.settings.politeness)?;
        release_disallowed(collection, &summary.changed_robots.into_iter().collect())?;
        for (site, pages) in summary.sitemap_urls {
            outlinks.push_sitemap(site, pages)?;
        }
        Ok(outlinks.seal()?)
    }

    /// Stores the pages and writes their outlinks; returns the events.
    fn store(
        &mut self,
        collection: &mut Collection,
        steps: Receiver<HarvestStep>,
        expected: &mut ExpectedPages,
        outlinks: &mut OutlinksWriter,
    ) -> Result<Vec<HarvestEvent>, Error> {
        let (mut pages, mut bytes, mut events) = (Vec::new(), 0, Vec::new());
        for step in steps {
            match step {
                HarvestStep::Pages { ids, pending } => {
                    // A parser thread that has panicked closes its channel; the scope propagates the panic.
                    for (id, page) in ids.into_iter().zip(pending.recv().unwrap_or_default()) {
                        if expected.accept_page(id, page.url.as_str()) {
                            bytes += page.content_bytes;
                            pages.push(page);
                        }
                    }
                }
                HarvestStep::Event(event) => events.extend(expected.accept_event(&event).then_some(event)),
                HarvestStep::Broken(error) => return Err(error.into()),
            }
            if bytes >= BATCH_BYTES || pages.len() >= BATCH_PAGES {
                self.ingest_pages(collection, std::mem::take(&mut pages), outlinks)?;
                bytes = 0;
            }
        }
        self.ingest_pages(collection, pages, outlinks)?;
        Ok(events)
    }

    fn ingest_pages(
        &mut self,
        collection: &mut Collection,
        pages: Vec<GatheredPage>,
        outlinks: &mut OutlinksWriter,
    ) -> Result<(), Error> {
        let (summary, links) = self.ingest.ingest_pages(collection, pages)?;
        self.summary.pages += summary.pages;
        self.summary.bytes += summary.bytes;
        self.summary.pages_with_links += links.len() as u64;
        Ok(links.iter().try_for_each(|page| outlinks.push(page))?)
    }
}

fn is_unfetched_page(event: &HarvestEvent) -> bool {
    matches!(event, HarvestEvent::PageSkipped { .. } | HarvestEvent::PageReturned { .. })
}

/// Pages and sites of a batch, each page once. A harvest may come from another machine, so everything about other pages and
/// sites is ignored.
struct ExpectedPages {
    pages: HashMap<PageId, String>,
    sites: HashSet<SiteId>,
}

impl ExpectedPages {
    fn new(batch: Batch) -> ExpectedPages {
        let sites = batch.sites.iter().map(|site| site.site).collect();
        let pages = batch.sites.into_iter().flat_map(|site| site.pages);
        ExpectedPages { pages: pages.map(|page| (page.page, page.url)).collect(), sites }
    }

    fn accept_page(&mut self, page: PageId, url: &str) -> bool {
        let is_expected = self.pages.get(&page).is_some_and(|known| known == url);
        is_expected && self.pages.remove(&page).is_some()
    }

    fn accept_event(&mut self, event: &HarvestEvent) -> bool {
        match event {
            HarvestEvent::PageSkipped { page, .. } | HarvestEvent::PageReturned { page, .. } => {
                self.pages.remove(page).is_some()
            }
            HarvestEvent::RobotsFetched { site, .. }
            | HarvestEvent::RobotsRedirect { site, .. }
            | HarvestEvent::SiteBackedOff { site, .. }
            | HarvestEvent::SitemapUrls { site, .. } => self.sites.contains(site),
            HarvestEvent::SiteDone(report) => self.sites.contains(&report.site),
            // Accepted for any host: its only effect is a cooldown.
            HarvestEvent::HostContacted { .. } => true,
        }
    }

    /// Pages without a result are returned.
    fn rest(self) -> impl Iterator<Item = HarvestEvent> {
        self.pages.into_keys().map(|page| HarvestEvent::PageReturned { page, reason: None })
    }
}

/// Next step, in the order of the harvest.
enum HarvestStep {
    Pages { ids: Vec<PageId>, pending: PendingPages },
    Event(HarvestEvent),
    Broken(SealedDirError),
}

/// Reader thread: reads a harvest and submits its pages to the parsers.
struct HarvestFeeder<'r> {
    reader: HarvestReader,
    rules: &'r UrlRules,
    batcher: GatherBatcher,
    ids: Vec<PageId>,
    steps: SyncSender<HarvestStep>,
}

impl HarvestFeeder<'_> {
    fn run(&mut self) {
        let outcome = loop {
            match self.reader.read_next() {
                Ok(Some(record)) => {
                    if self.submit_record(record).is_err() {
                        return;
                    }
                }
                Ok(None) => break self.submit(),
                Err(error) => {
                    break self.steps.send(HarvestStep::Broken(error)).map_err(PipelineClosed::from);
                }
            }
        };
        // A closed channel means that the ingesting thread has failed; it reports the cause.
        let _ = outcome;
    }

    fn submit_record(&mut self, record: HarvestRecord) -> Result<(), PipelineClosed> {
        let (visit, head, body) = match record {
            HarvestRecord::Event(event) => return Ok(self.steps.send(HarvestStep::Event(event))?),
            HarvestRecord::Fetch(visit, head, body) => (visit, head, body),
        };
        let Some(url) = self.rules.canonical(&visit.url).ok().filter(|url| url.as_str() == visit.url) else {
            // The URL rules have changed since the page was discovered.
            let reason = Reason::RejectedByPattern;
            return Ok(self
                .steps
                .send(HarvestStep::Event(HarvestEvent::PageSkipped { page: visit.page, reason }))?);
        };
        self.ids.push(visit.page);
        if self.batcher.add(visit.into_page(url, head, body)) { self.submit() } else { Ok(()) }
    }

    fn submit(&mut self) -> Result<(), PipelineClosed> {
        let (ids, pending) = (std::mem::take(&mut self.ids), self.batcher.submit()?);
        Ok(self.steps.send(HarvestStep::Pages { ids, pending })?)
    }
}
