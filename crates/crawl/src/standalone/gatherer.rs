//! The gatherer as a separate program: stores and parses harvested pages, and writes their outlinks to a directory for the
//! seeder.
//!
//! A harvest is ingested by one commit, which also records its progress; its outlinks are written before. A crash before the
//! commit has no effect, and one after it only leaves directories to be removed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use harvest::files::harvest_dir::{HarvestReader, HarvestRecord};
use harvest::files::sealed_dir::SealedDirError;
use harvest::files::work_dirs::{WorkDir, written_ms};
use harvest::files::{journal, work_dirs};
use harvest::gatherer::pool;
use harvest::gatherer::pool::{GatherBatcher, MAX_JOBS_IN_FLIGHT, PendingPages, PipelineClosed};
use harvest::harvester::pool::journal_error;
use harvest::item::batch::Batch;
use harvest::item::gathered_page::GatheredPage;
use harvest::item::harvest_event::{HarvestEvent, UrlList, UrlListKind};
use harvest::item::harvest_item::HarvestItem;
use harvest::settings::clock::CrawlClock;
use harvest::settings::crawl_settings::CrawlSettings;
use harvest::verification::fetched::verify_fetched;
use harvest::verification::leased_batch::{LeasedBatch, VerificationContext, VerifiedItems};
use harvest::verification::rejections::Rejections;
use harvest::verification::time_bounds::TimeBounds;
use model::{PageId, Reason};
use store::Collection;

use crate::error::Error;
use crate::ingest::Ingest;
use crate::ingest::outlinks_dir::OutlinksWriter;
use crate::ingest::page_policy::PagePolicy;
use crate::quarantine;
use crate::seeder::DUPLICATE_WINDOW;
use crate::seeder::events::apply_events;
use crate::seeder::sitemaps::{add_sitemaps_on_other_sites, finish_sitemap_polls};
use crate::state::crawl_state::{CrawlState, IngestProgress};
use crate::state::ingest_progress;

/// Result of a run of the gatherer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Items that were dropped because they contradict their batch.
    pub rejected_items: u64,
    /// Dropped items and harvests in quarantine, with their causes.
    pub warnings: Vec<String>,
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
            if let Some(cause) = run.ingest_harvest(collection, number, &harvest)? {
                // Before the commit: after a crash in between, the batch is harvested again.
                run.quarantine(&dir, number, &harvest, &cause)?;
            }
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
    /// Ingests a harvest, without the commit. Returns the cause if it could not be read to its end; pages without a result
    /// are returned then.
    fn ingest_harvest(
        &mut self,
        collection: &mut Collection,
        number: u64,
        harvest: &Path,
    ) -> Result<Option<String>, Error> {
        let dir = collection.dir();
        let batch = WorkDir::Batches.path(dir, number);
        let reader = match HarvestReader::open(harvest) {
            Ok(reader) if reader.batch == number && batch.exists() => Ok(reader),
            Err(error) if is_corrupt(&error) && batch.exists() => Err(error.to_string()),
            Err(error) => return Err(error.into()),
            Ok(_) => return Err(Error::OrphanHarvest { harvest: harvest.to_owned(), batch }),
        };
        let now_ms = CrawlClock::start().now_ms().max(self.settings.start_clock().now_ms());
        let leased_ms = written_ms(&batch, self.settings.start_clock().now_ms());
        let mut leased = LeasedBatch::new(Batch::read(&batch)?, leased_ms).accepting_other_hosts();
        // Left over from a run that crashed before its commit.
        WorkDir::Outlinks.remove(dir, number)?;
        let mut outlinks = OutlinksWriter::create(&WorkDir::Outlinks.path(dir, number), number)?;
        let context =
            VerificationContext { settings: self.settings, now_ms, to_local_ms: &|time_ms| time_ms };
        let mut result = StoreResult::default();
        match reader {
            Err(cause) => result.broken = Some(cause),
            Ok(reader) => {
                let bounds = leased.time_bounds(&context);
                result = self.store_harvest(collection, reader, bounds, &mut leased, &mut outlinks)?;
            }
        }
        let mut verified = VerifiedItems { rejections: result.rejections, ..VerifiedItems::default() };
        // A site is finished after its pages, which were parsed in the meantime.
        result.events.into_iter().for_each(|event| leased.accept_event(event, &context, &mut verified));
        verified.items.extend(leased.return_all());
        let events = verified.items.into_iter().filter_map(|item| match item {
            HarvestItem::Event(event) => Some(event),
            _ => None,
        });
        let events: Vec<HarvestEvent> = events.collect();
        self.report(number, &verified.rejections);
        self.summary.pages_not_fetched +=
            events.iter().filter(|event| is_unfetched_page(event)).count() as u64;
        let summary = apply_events(collection, events, self.settings)?;
        for (site, named, now_s) in &summary.named_sitemaps {
            let policy = &mut self.ingest.policy;
            add_sitemaps_on_other_sites(collection, policy, self.settings, *site, named, *now_s)?;
        }
        // The seeder adds the listed URLs later, so that they count for the next poll.
        finish_sitemap_polls(collection, &self.settings.revisits.polls, &summary.sitemap_polls)?;
        for list in summary.url_lists {
            outlinks.push_sitemap(list)?;
        }
        outlinks.seal()?;
        Ok(result.broken)
    }

    /// Parses and stores the pages of a harvest.
    fn store_harvest(
        &mut self,
        collection: &mut Collection,
        reader: HarvestReader,
        bounds: TimeBounds,
        leased: &mut LeasedBatch,
        outlinks: &mut OutlinksWriter,
    ) -> Result<StoreResult, Error> {
        let settings = self.settings;
        let (batcher, jobs) = pool::queue();
        let (step_sender, steps) = sync_channel(MAX_JOBS_IN_FLIGHT);
        let mut feeder =
            HarvestFeeder { reader, settings, bounds, batcher, ids: Vec::new(), steps: step_sender };
        thread::scope(|scope| {
            pool::start(scope, &jobs, &settings.gathering);
            scope.spawn(move || feeder.run());
            // Owns the receiver, so that an error here ends the reader thread, and with it the parsers.
            self.store(collection, steps, leased, outlinks)
        })
    }

    /// Counts and describes dropped items.
    fn report(&mut self, batch: u64, rejections: &Rejections) {
        self.summary.rejected_items += rejections.count;
        let causes = rejections.causes.iter();
        self.summary
            .warnings
            .extend(causes.map(|cause| format!("cannot accept an item of harvest {batch}: {cause}")));
        let others = rejections.count - rejections.causes.len() as u64;
        if others > 0 {
            self.summary.warnings.push(format!("cannot accept {others} more items of harvest {batch}"));
        }
    }

    /// Moves a harvest away that cannot be read to its end.
    fn quarantine(&mut self, dir: &Path, batch: u64, harvest: &Path, cause: &str) -> Result<(), Error> {
        let kept = quarantine::keep_harvest(dir, batch, harvest, cause)
            .map_err(|source| Error::Quarantine { item: harvest.display().to_string(), source })?;
        let location = match kept {
            Some(path) => format!("it is in {}", path.display()),
            None => "it is deleted, because the quarantine has reached its maximum size".to_owned(),
        };
        self.summary.warnings.push(format!("cannot read harvest {batch} to its end: {cause}; {location}"));
        Ok(())
    }

    /// Stores the pages and writes their outlinks.
    fn store(
        &mut self,
        collection: &mut Collection,
        steps: Receiver<HarvestStep>,
        leased: &mut LeasedBatch,
        outlinks: &mut OutlinksWriter,
    ) -> Result<StoreResult, Error> {
        let (mut pages, mut bytes, mut result) = (Vec::new(), 0, StoreResult::default());
        for step in steps {
            match step {
                HarvestStep::Pages { ids, pending } => {
                    // A parser thread that has panicked closes its channel; the scope propagates the panic.
                    for (id, page) in ids.into_iter().zip(pending.recv()) {
                        let Some(index) = leased.find_open(id, page.url.as_str()) else {
                            result
                                .rejections
                                .add(page.url.as_str(), "it is not a page of the batch, or the second one");
                            continue;
                        };
                        leased.deliver(index);
                        bytes += page.content_bytes;
                        pages.push(page);
                    }
                }
                HarvestStep::Event(event) => result.events.push(event),
                HarvestStep::Rejected { url, cause } => result.rejections.add(url, cause),
                HarvestStep::Broken(error) if is_corrupt(&error) => result.broken = Some(error.to_string()),
                HarvestStep::Broken(error) => return Err(error.into()),
            }
            if bytes >= BATCH_BYTES || pages.len() >= BATCH_PAGES {
                self.ingest_pages(collection, std::mem::take(&mut pages), outlinks)?;
                bytes = 0;
            }
        }
        self.ingest_pages(collection, pages, outlinks)?;
        Ok(result)
    }

    fn ingest_pages(
        &mut self,
        collection: &mut Collection,
        mut pages: Vec<GatheredPage>,
        outlinks: &mut OutlinksWriter,
    ) -> Result<(), Error> {
        for page in &mut pages {
            let urls = std::mem::take(&mut page.feed_entries);
            let site = collection.urls.reader().find_site(page.url.site());
            if let Some(site) = site.filter(|_| !urls.is_empty()) {
                let (file, kind) = (page.url.as_str().to_owned(), UrlListKind::Feed);
                outlinks.push_sitemap(UrlList { site, file, kind, urls })?;
            }
        }
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

/// Result of storing the pages of a harvest.
#[derive(Default)]
struct StoreResult {
    events: Vec<HarvestEvent>,
    rejections: Rejections,
    /// Cause, if the harvest could not be read to its end.
    broken: Option<String>,
}

/// Whether the content of a harvest is wrong, in contrast to an error of the machine.
fn is_corrupt(error: &SealedDirError) -> bool {
    let SealedDirError::Io { source, .. } = error else { return false };
    matches!(
        source.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}

/// Next step, in the order of the harvest.
enum HarvestStep {
    Pages { ids: Vec<PageId>, pending: PendingPages },
    Event(HarvestEvent),
    Rejected { url: String, cause: &'static str },
    Broken(SealedDirError),
}

/// Reader thread: reads a harvest and submits its pages to the parsers.
struct HarvestFeeder<'r> {
    reader: HarvestReader,
    settings: &'r CrawlSettings,
    bounds: TimeBounds,
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
                    if self.submit().is_err() {
                        return;
                    }
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
        let rules = &self.settings.gathering.rules;
        let Some(url) = rules.canonical(&visit.url).ok().filter(|url| url.as_str() == visit.url) else {
            // The URL rules have changed since the page was discovered.
            let reason = Reason::RejectedByPattern;
            return Ok(self
                .steps
                .send(HarvestStep::Event(HarvestEvent::PageSkipped { page: visit.page, reason }))?);
        };
        let id = visit.page;
        let page = visit.into_page(url, head, body);
        if let Err(cause) = verify_fetched(&page, &self.bounds, self.settings) {
            let url = page.url.as_str().to_owned();
            return Ok(self.steps.send(HarvestStep::Rejected { url, cause })?);
        }
        self.ids.push(id);
        if self.batcher.add(page) { self.submit() } else { Ok(()) }
    }

    fn submit(&mut self) -> Result<(), PipelineClosed> {
        let (ids, pending) = (std::mem::take(&mut self.ids), self.batcher.submit()?);
        Ok(self.steps.send(HarvestStep::Pages { ids, pending })?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use harvest::files::harvest_dir::HarvestWriter;
    use harvest::item::fetched_page::FetchedPage;
    use harvest::{BatchPage, BatchSite, Validators};
    use model::SiteId;
    use store::PageStage;

    use super::*;
    use crate::quarantine::list_quarantine;
    use crate::test_collection::{TestCollection, canonical};

    const URLS: [&str; 4] =
        ["http://a.example/", "http://a.example/1", "http://a.example/2", "http://a.example/3"];

    /// Collection with one batch of all pages.
    fn with_batch() -> TestCollection {
        let mut test = TestCollection::contacted(&URLS);
        URLS.iter().for_each(|url| test.update_page(url, |page| page.stage = PageStage::Queued));
        let page = |url: &&str| BatchPage {
            page: test.page_id(url),
            url: (*url).to_owned(),
            validators: Validators::default(),
        };
        let site = BatchSite {
            site: test.site_id("http://a.example"),
            name: "http://a.example".to_owned(),
            address: Some([1, 2, 3, 4].into()),
            address_expires_s: u32::MAX,
            earliest_request_ms: 0,
            consecutive_errors: 0,
            throttle_delay_ms: 0,
            pages_known: 4,
            robots: None,
            robots_redirects: Vec::new(),
            sitemaps_due: false,
            pages: URLS.iter().map(page).collect(),
        };
        let batch = Batch { id: 7, sites: vec![site], ..Batch::default() };
        batch.write(&WorkDir::Batches.path(test.dir.path(), 7)).unwrap();
        test
    }

    fn fetched(url: &str) -> FetchedPage {
        FetchedPage {
            url: canonical(url),
            fetched_ms: CrawlClock::start().now_ms() as i64,
            address: Some([1, 2, 3, 4].into()),
            protocols: Vec::new(),
            status: 200,
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(),
            body: format!("<p>{url}").into_bytes(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        }
    }

    fn stages(test: &TestCollection) -> [PageStage; 4] {
        URLS.map(|url| test.page(url).stage)
    }

    #[test]
    fn false_items_of_a_copied_harvest_are_dropped_and_their_pages_returned() {
        let mut test = with_batch();
        let [front, first, second, third] = URLS.map(|url| test.page_id(url));
        let dir = WorkDir::Harvests.path(test.dir.path(), 7);
        let mut writer = HarvestWriter::create(&dir, 7, "weir", 0).unwrap();
        writer.push_fetch(front, &fetched(URLS[0])).unwrap();
        // Pages of another URL, address, time and status, and one that is no page of the batch.
        writer.push_fetch(first, &fetched("http://victim.example/")).unwrap();
        writer
            .push_fetch(second, &FetchedPage { address: Some([10, 0, 0, 1].into()), ..fetched(URLS[2]) })
            .unwrap();
        writer.push_fetch(second, &FetchedPage { fetched_ms: 1, ..fetched(URLS[2]) }).unwrap();
        writer.push_fetch(third, &FetchedPage { status: 404, ..fetched(URLS[3]) }).unwrap();
        writer.push_fetch(PageId(u32::MAX), &fetched(URLS[3])).unwrap();
        let far = HarvestEvent::SiteBackedOff { site: SiteId(77_777), until_ms: 1, consecutive_errors: 1 };
        writer.push_event(far).unwrap();
        writer.seal().unwrap();
        let summary = gather(&mut test.collection, &Arc::default()).unwrap();
        assert_eq!(
            (summary.pages, summary.pages_not_fetched, summary.rejected_items),
            (1, 3, 6),
            "{summary:?}"
        );
        assert!(summary.warnings.iter().all(|warning| warning.contains("harvest 7")), "{summary:?}");
        let discovered = PageStage::Discovered;
        assert_eq!(stages(&test), [PageStage::Fetched, discovered, discovered, discovered]);
        assert_eq!(test.find_page("http://victim.example/"), None);
        assert!(!dir.exists());
    }

    #[test]
    fn a_damaged_harvest_goes_to_the_quarantine_and_its_pages_are_returned() {
        let mut test = with_batch();
        let dir = WorkDir::Harvests.path(test.dir.path(), 7);
        let mut writer = HarvestWriter::create(&dir, 7, "weir", 0).unwrap();
        writer.push_fetch(test.page_id(URLS[0]), &fetched(URLS[0])).unwrap();
        writer.seal().unwrap();
        let path = dir.join("pages.warc.gz");
        let mut warc = fs::read(&path).unwrap();
        *warc.last_mut().unwrap() ^= 1;
        fs::write(&path, warc).unwrap();
        // A harvest that cannot be moved away is not deleted either.
        fs::write(test.dir.path().join("quarantine"), "").unwrap();
        let error = gather(&mut test.collection, &Arc::default()).unwrap_err();
        assert!(matches!(error, Error::Quarantine { .. }) && dir.exists(), "{error}");
        fs::remove_file(test.dir.path().join("quarantine")).unwrap();
        let summary = gather(&mut test.collection, &Arc::default()).unwrap();
        assert_eq!((summary.pages, summary.pages_not_fetched), (0, 4));
        assert!(summary.warnings[0].contains("pages.warc.gz is corrupt"), "{summary:?}");
        assert_eq!(stages(&test), [PageStage::Discovered; 4]);
        let kept = list_quarantine(test.dir.path()).unwrap();
        assert_eq!(kept[0].path, "quarantine/harvest-000007");
        assert!(test.dir.path().join("quarantine/harvest-000007/HARVEST").exists() && !dir.exists());
        // The next run has nothing to do.
        assert_eq!(gather(&mut test.collection, &Arc::default()).unwrap().harvests, 0);
    }
}
