//! Simulation of the coordinator with workers that die and servers that fail, deterministic from a seed.
//!
//! The listener, the verification, segments, messages and logs are those of the product. The collection is a model: a commit
//! is a copy of the state, a crash returns to it. In every run, every page is ingested exactly once.

mod faulty_transport;
mod workers;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use harvest::control::handle::CrawlHandle;
use harvest::files::work_dirs::WorkDir;
use harvest::item::batch::{Batch, BatchPage, BatchSite};
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::GatheredPage;
use harvest::item::harvest_event::HarvestEvent;
use harvest::item::harvest_item::HarvestItem;
use harvest::item::log_cursor::LogCursor;
use harvest::transport::Transport;
use harvest::transport::blob_store::BlobStore;
use harvest::transport::broker::{Broker, BrokerError, LogEntry};
use harvest::transport::messages::{LogRecord, blob_prefix, write_offer};
use harvest::verification::leased_batch::LeasedBatch;
use harvest::{CrawlClock, CrawlSettings, GatherSettings, Gatherer, Validators};
use model::{PageId, SiteId, UrlRules};
use tokio::sync::mpsc::{Receiver, channel};

use self::faulty_transport::{FaultRates, FaultyTransport, Random};
use self::workers::SimulatedWorker;
use crate::coordinator::log_listener::{ListenerConfig, LogListener};
use crate::coordinator::open_logs::OpenLogs;

const SITES: u32 = 4;
const PAGES_PER_SITE: u32 = 4;
const PAGES: u32 = SITES * PAGES_PER_SITE;
const WORKERS: usize = 3;

fn address() -> IpAddr {
    IpAddr::from([192, 0, 2, 1])
}

/// Time of all fetches.
fn now_ms() -> u64 {
    static NOW_MS: LazyLock<u64> = LazyLock::new(|| CrawlClock::start().now_ms());
    *NOW_MS
}

fn url(page: u32) -> String {
    format!("http://s{}.example/{}", page / PAGES_PER_SITE, page % PAGES_PER_SITE)
}

/// Pages by URL, fetched and parsed once for all seeds.
static GATHERED: LazyLock<HashMap<String, GatheredPage>> = LazyLock::new(|| {
    let gather = |page: u32| {
        let fetched = FetchedPage {
            url: UrlRules::default().canonical(&url(page)).unwrap(),
            fetched_ms: now_ms() as i64,
            address: Some(address()),
            protocols: Vec::new(),
            status: 200,
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(),
            body: format!("<p>Text of page {page}").into_bytes(),
            truncated: None,
            request: Vec::new(),
            failure: None,
            latency_ms: None,
            duration_ms: None,
        };
        (url(page), Gatherer::new(&GatherSettings::default()).gather(&fetched))
    };
    (0..PAGES).map(gather).collect()
});

fn gathered_page(url: &str) -> &'static GatheredPage {
    &GATHERED[url]
}

/// Stage of a page in the model of the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModelStage {
    Discovered,
    Queued(u64),
    Fetched,
}

/// Model of the collection: what a commit stores.
#[derive(Debug, Clone)]
struct Model {
    pages: Vec<(ModelStage, u32)>,
    /// Cursors of the logs of leased batches.
    cursors: BTreeMap<u64, u64>,
    /// Sites of these batches whose results are ingested.
    finished: BTreeMap<u64, HashSet<SiteId>>,
    last_batch: u64,
}

/// Process that owns the collection.
struct Coordinator<'s> {
    dir: &'s Path,
    transport: Arc<FaultyTransport>,
    committed: Model,
    working: Model,
    /// Open batches of sites; not committed.
    open_sites: HashMap<SiteId, u64>,
    open: OpenLogs,
    listener: LogListener,
    items: Receiver<(usize, Vec<HarvestItem>)>,
    handle: CrawlHandle,
    /// Segments and batches that are obsolete after the next commit.
    obsolete: (Vec<String>, Vec<u64>),
    batches: BTreeMap<u64, Batch>,
    rejected_items: u64,
}

fn settings() -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    settings.fetch.network_filter.allow("192.0.2.0/24").unwrap();
    settings
}

/// Repeats an operation until the servers respond.
fn retry<T>(mut operation: impl FnMut() -> Result<T, BrokerError>) -> T {
    loop {
        if let Ok(result) = operation() {
            return result;
        }
    }
}

impl<'s> Coordinator<'s> {
    fn start(dir: &'s Path, transport: &Arc<FaultyTransport>) -> Coordinator<'s> {
        let pages = vec![(ModelStage::Discovered, 0); PAGES as usize];
        let model = Model { pages, cursors: BTreeMap::new(), finished: BTreeMap::new(), last_batch: 0 };
        let (open, handle) = (OpenLogs::default(), CrawlHandle::new(settings()));
        let (listener, items) = Coordinator::listen(dir, transport, &open, &handle);
        Coordinator {
            dir,
            transport: Arc::clone(transport),
            committed: model.clone(),
            working: model,
            open_sites: HashMap::new(),
            open,
            listener,
            items,
            handle,
            obsolete: (Vec::new(), Vec::new()),
            batches: BTreeMap::new(),
            rejected_items: 0,
        }
    }

    fn listen(
        dir: &Path,
        transport: &Arc<FaultyTransport>,
        open: &OpenLogs,
        handle: &CrawlHandle,
    ) -> (LogListener, Receiver<(usize, Vec<HarvestItem>)>) {
        let transport = Transport {
            broker: Arc::<FaultyTransport>::clone(transport),
            blobs: Arc::<FaultyTransport>::clone(transport),
            settings: Arc::new(String::new),
            worker_timeout: Duration::ZERO,
        };
        let (sender, items) = channel(1 << 10);
        let config = ListenerConfig {
            open: open.clone(),
            workers: Arc::default(),
            failed_segments: HashSet::new(),
            run: 1,
            retry_interval: Duration::ZERO,
        };
        (LogListener::new(&transport, &handle.context(None), handle, config, sender, dir), items)
    }

    /// Creates a batch of discovered pages of sites without an open batch. The process can die before it is published.
    fn create_batch(&mut self, random: &mut Random, death_percent: u64) {
        let id = self.working.last_batch + 1;
        let mut sites: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for page in 0..PAGES {
            let site = page / PAGES_PER_SITE;
            let is_free = self.working.pages[page as usize].0 == ModelStage::Discovered;
            if is_free && !self.open_sites.contains_key(&SiteId(site)) && random.percent(70) {
                sites.entry(site).or_default().push(page);
            }
        }
        if sites.is_empty() {
            return;
        }
        self.working.last_batch = id;
        for page in sites.values().flatten() {
            self.working.pages[*page as usize].0 = ModelStage::Queued(id);
        }
        self.working.cursors.insert(id, 0);
        self.open_sites.extend(sites.keys().map(|site| (SiteId(*site), id)));
        self.commit();
        if random.percent(death_percent) {
            return self.restart();
        }
        let batch = Batch { id, sites: sites.into_iter().map(batch_site).collect(), ..Batch::default() };
        retry(|| self.transport.delete_batch(id));
        fs::create_dir_all(WorkDir::Leased.path(self.dir, id)).unwrap();
        self.batches.insert(id, batch.clone());
        if random.percent(death_percent) {
            return self.restart();
        }
        self.open.insert(LeasedBatch::new(batch, now_ms()), 0);
        self.publish(id);
    }

    fn publish(&self, id: u64) {
        retry(|| {
            let message = write_offer(&self.batches[&id], &*self.transport)?;
            self.transport.publish_batch(id, &message)
        });
    }

    /// Receives entries of logs and ingests their items.
    fn receive(&mut self) {
        for entry in self.transport.poll_logs(Duration::ZERO).unwrap_or_default() {
            assert!(self.listener.accept(&entry).unwrap());
            while let Ok((_, chunk)) = self.items.try_recv() {
                self.ingest(chunk);
            }
        }
    }

    fn ingest(&mut self, mut chunk: Vec<HarvestItem>) {
        let Some(HarvestItem::Cursor(cursor)) = chunk.pop() else { panic!("a chunk ends with a cursor") };
        for item in chunk {
            match item {
                HarvestItem::Gathered(page) => {
                    let index = (0..PAGES).find(|index| url(*index) == page.url.as_str()).unwrap();
                    let (stage, ingested) = &mut self.working.pages[index as usize];
                    assert_eq!(*stage, ModelStage::Queued(cursor.batch), "page {index}");
                    (*stage, *ingested) = (ModelStage::Fetched, *ingested + 1);
                }
                HarvestItem::Event(HarvestEvent::PageReturned { page, .. }) => {
                    let stage = &mut self.working.pages[page.0 as usize].0;
                    assert_eq!(*stage, ModelStage::Queued(cursor.batch), "page {}", page.0);
                    *stage = ModelStage::Discovered;
                }
                HarvestItem::Event(HarvestEvent::SiteDone(result)) => {
                    assert_eq!(self.open_sites.remove(&result.site), Some(cursor.batch));
                }
                other => panic!("{other:?}"),
            }
        }
        self.working.cursors.insert(cursor.batch, cursor.seq);
        let LogCursor { batch, finished_sites, segment, end, .. } = cursor;
        self.working.finished.entry(batch).or_default().extend(finished_sites);
        self.obsolete.0.extend(segment);
        if end.is_some() {
            self.open_sites.retain(|_, open| *open != batch);
            self.requeue(|queued| queued == batch);
            self.obsolete.1.push(batch);
        }
    }

    /// Returns the queued pages of these batches.
    fn requeue(&mut self, is_returned: impl Fn(u64) -> bool) {
        for (stage, _) in &mut self.working.pages {
            if matches!(stage, ModelStage::Queued(batch) if is_returned(*batch)) {
                *stage = ModelStage::Discovered;
            }
        }
    }

    fn commit(&mut self) {
        self.committed = self.working.clone();
        let (segments, batches) = std::mem::take(&mut self.obsolete);
        // A segment that is not deleted now is deleted with its batch.
        segments.iter().for_each(|segment| drop(self.transport.remove(segment)));
        for batch in batches {
            if self.delete(batch) {
                self.working.cursors.remove(&batch);
            }
        }
    }

    fn delete(&mut self, batch: u64) -> bool {
        let dir = WorkDir::Leased.path(self.dir, batch);
        if dir.exists() {
            fs::remove_dir_all(dir).unwrap();
        }
        self.transport.delete_batch(batch).is_ok()
            && self.transport.remove_prefix(&blob_prefix(batch)).is_ok()
    }

    /// Dies, and starts again from the last commit.
    fn restart(&mut self) {
        self.rejected_items += self.handle.progress().rejected_items;
        self.working = self.committed.clone();
        self.obsolete = (Vec::new(), Vec::new());
        self.open_sites.clear();
        (self.open, self.handle) = (OpenLogs::default(), CrawlHandle::new(settings()));
        (self.listener, self.items) =
            Coordinator::listen(self.dir, &self.transport, &self.open, &self.handle);
        self.transport.reconnect();
        for (id, committed) in self.working.cursors.clone() {
            self.recover(id, committed);
        }
        let open: HashSet<(SiteId, u64)> =
            self.open_sites.iter().map(|(site, batch)| (*site, *batch)).collect();
        for (page, (stage, _)) in self.working.pages.iter_mut().enumerate() {
            let site = SiteId(page as u32 / PAGES_PER_SITE);
            if matches!(stage, ModelStage::Queued(batch) if !open.contains(&(site, *batch))) {
                *stage = ModelStage::Discovered;
            }
        }
    }

    fn recover(&mut self, id: u64, committed: u64) {
        let exists = WorkDir::Leased.path(self.dir, id).exists();
        let log = retry(|| self.transport.read_log(id));
        let finished = self.working.finished.get(&id).cloned().unwrap_or_default();
        let is_end =
            |entry: &LogEntry| matches!(LogRecord::read(&entry.message), Ok(LogRecord::Closed { .. }));
        let is_closed = log.iter().any(|entry| entry.seq <= committed && is_end(entry));
        if is_closed || !exists || log.last().map_or(0, |entry| entry.seq) < committed {
            if self.delete(id) {
                self.working.cursors.remove(&id);
            }
            return;
        }
        let batch = self.batches[&id].clone();
        let mut leased = LeasedBatch::new(batch.clone(), now_ms());
        let pages = &self.working.pages;
        let is_open = |page: PageId| {
            let site = SiteId(page.0 / PAGES_PER_SITE);
            pages[page.0 as usize].0 == ModelStage::Queued(id) && !finished.contains(&site)
        };
        leased.restore(is_open, |site| finished.contains(&site));
        self.open.insert(leased, committed);
        if log.is_empty() {
            self.publish(id);
        }
        let sites = batch.sites.iter().map(|site| site.site).filter(|site| !finished.contains(site));
        self.open_sites.extend(sites.map(|site| (site, id)));
    }

    fn is_complete(&self) -> bool {
        self.committed.pages.iter().all(|(stage, _)| *stage == ModelStage::Fetched)
            && self.open.lock().is_empty()
    }
}

pub(super) fn batch_site((site, pages): (u32, Vec<u32>)) -> BatchSite {
    let page =
        |page: u32| BatchPage { page: PageId(page), url: url(page), validators: Validators::default() };
    BatchSite {
        site: SiteId(site),
        name: format!("http://s{site}.example"),
        address: Some(address()),
        address_expires_s: u32::MAX,
        earliest_request_ms: 0,
        consecutive_errors: 0,
        throttle_delay_ms: 0,
        pages_known: PAGES_PER_SITE,
        robots: None,
        robots_redirects: Vec::new(),
        sitemaps_due: false,
        pages: pages.into_iter().map(page).collect(),
    }
}

/// Steps with faults, and the maximum number without.
const FAULTY_STEPS: usize = 400;
const MAX_HEALTHY_STEPS: usize = 4_000;

/// Runs a crawl; returns the number of items that were rejected.
fn simulate(seed: u64, rates: FaultRates) -> u64 {
    let temp = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let transport = Arc::new(FaultyTransport::new(seed ^ 1 << 40, rates));
    let mut coordinator = Coordinator::start(temp.path(), &transport);
    let mut workers: Vec<SimulatedWorker> = (0..WORKERS).map(|_| SimulatedWorker::default()).collect();
    let mut death_percent = 3;
    for step in 0..FAULTY_STEPS + MAX_HEALTHY_STEPS {
        if step == FAULTY_STEPS {
            transport.heal();
            death_percent = 0;
            coordinator.restart();
        }
        if step > FAULTY_STEPS && coordinator.is_complete() {
            let ingested: Vec<u32> =
                coordinator.committed.pages.iter().map(|(_, ingested)| *ingested).collect();
            assert_eq!(ingested, vec![1; PAGES as usize], "seed {seed}: each page is ingested once");
            return coordinator.rejected_items + coordinator.handle.progress().rejected_items;
        }
        match random.below(10) {
            0 => coordinator.create_batch(&mut random, death_percent),
            1 => coordinator.commit(),
            2 if random.percent(death_percent * 3) => coordinator.restart(),
            2..5 => coordinator.receive(),
            worker => workers[worker as usize % WORKERS].step(&transport, &mut random, death_percent),
        }
    }
    panic!("seed {seed}: pages are missing after the last fault: {:?}", coordinator.committed);
}

/// Number of histories; more with `WEIR_LONG=1`.
fn histories() -> u64 {
    if std::env::var_os("WEIR_LONG").is_some() { 5_000 } else { 200 }
}

#[test]
fn every_page_is_ingested_once_and_nothing_rejected_whatever_fails() {
    for seed in 0..histories() {
        let rates = FaultRates { percent: 1 + seed % 30, beyond_contract: false };
        assert_eq!(simulate(seed, rates), 0, "seed {seed}");
    }
}

#[test]
fn every_page_is_ingested_once_even_if_entries_and_segments_are_lost() {
    for seed in 0..histories() {
        let rates = FaultRates { percent: 4 + seed % 26, beyond_contract: true };
        simulate(seed, rates);
    }
}
