//! A worker that lies about every field: the crawl continues, reports it, and stores nothing false.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crawl::{CrawlLimits, CrawlSummary, crawl_by_workers, list_quarantine};
use fetch::NetworkFilter;
use harvest::files::journal::JournalEntry;
use harvest::item::harvest_event::{
    HarvestEvent, SiteResult, SitemapOutcome, SitemapUrl, UrlList, UrlListKind,
};
use harvest::transport::messages::{LogRecord, read_offer, segment_blob_name};
use harvest::transport::segment::SegmentWriter;
use harvest::{
    Batch, BlobStore, Broker, CrawlClock, CrawlHandle, CrawlSettings, DirBlobStore, DirBroker, FetchedPage,
    GatherSettings, GatheredPage, Gatherer, RobotsResponse, Transport,
};
use model::{PageId, Reason, SiteId, UrlBatch, UrlRules};
use store::{Collection, PageFlags, PageRecord, PageStage, PageStoreReader, PageStoreSettings};
use xxhash_rust::xxh3::xxh3_64;

use crate::web::urls;

fn address(number: usize) -> IpAddr {
    IpAddr::from([192, 0, 2, 1 + number as u8])
}

fn front_page(number: usize) -> String {
    format!("http://s{number}.example/")
}

/// Settings for sites without servers, whose addresses are known.
fn settings(sites: usize) -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    let mut networks = NetworkFilter::public();
    networks.allow("192.0.2.0/24").unwrap();
    settings.fetch.network_filter = networks;
    settings.dns.hosts = (0..sites).map(|number| (format!("s{number}.example"), address(number))).collect();
    settings.politeness.site_delay_ms = 0;
    settings.politeness.large_site_delay_ms = 0;
    settings.commits.interval_ms = 100;
    settings.max_idle_ms = 0;
    settings
}

fn collection(dir: &Path, sites: usize) -> Collection {
    let mut collection = Collection::create(dir, PageStoreSettings::default().into()).unwrap();
    let mut seeds = UrlBatch::new();
    (0..sites).for_each(|number| seeds.push(&UrlRules::default().canonical(&front_page(number)).unwrap()));
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    collection.commit(0).unwrap();
    collection
}

/// Response to a request that ended now.
fn fetched(url: &str, address: IpAddr) -> FetchedPage {
    FetchedPage {
        url: UrlRules::default().canonical(url).unwrap(),
        fetched_ms: CrawlClock::start().now_ms() as i64,
        address: Some(address),
        protocols: vec!["http/1.1".to_owned()],
        status: 200,
        head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(),
        body: format!("<title>{url}</title><p>Text of {url}").into_bytes(),
        truncated: None,
        request: Vec::new(),
        failure: None,
        latency_ms: Some(1),
        duration_ms: Some(2),
    }
}

fn gather(page: &FetchedPage) -> GatheredPage {
    Gatherer::new(&GatherSettings::default()).gather(page)
}

fn site_result(site: SiteId, address: IpAddr) -> SiteResult {
    let now_ms = CrawlClock::start().now_ms();
    SiteResult {
        site,
        address: Some(address),
        resolved_s: (now_ms / 1_000) as u32,
        address_expires_s: (now_ms / 1_000) as u32 + 600,
        next_request_ms: now_ms,
        consecutive_errors: 0,
        back_off_until_ms: 0,
        throttle_delay_ms: 0,
        sitemaps_read_s: 0,
        sitemaps: SitemapOutcome::Absent,
    }
}

/// Site that a worker lies about, with the index of its only page in the batch.
struct Victim {
    index: u32,
    site: SiteId,
    page: PageId,
    url: String,
    address: IpAddr,
}

impl Victim {
    fn of_batch(batch: &Batch) -> Vec<Victim> {
        let sites = (0..).zip(&batch.sites);
        let victim = |(index, site): (u32, &harvest::BatchSite)| Victim {
            index,
            site: site.site,
            page: site.pages[0].page,
            url: site.pages[0].url.clone(),
            address: site.address.unwrap(),
        };
        sites.map(victim).collect()
    }

    fn honest(&self) -> FetchedPage {
        fetched(&self.url, self.address)
    }
}

/// Process that has leased a batch, without a network.
struct FakeWorker<'w> {
    broker: DirBroker,
    blobs: &'w DirBlobStore,
    batch: u64,
    last_seq: u64,
    segments: u32,
}

impl<'w> FakeWorker<'w> {
    /// Leases a batch and passes it to a function, until the crawl has ended.
    fn run(
        dir: &Path,
        blobs: &'w DirBlobStore,
        ended: &AtomicBool,
        mut harvest: impl FnMut(&mut FakeWorker<'w>, &Batch),
    ) {
        while !ended.load(Ordering::Relaxed) {
            let Ok(broker) = DirBroker::open_worker(dir) else { continue };
            let Some(lease) = broker.acquire_lease("liar", Duration::from_millis(50)).unwrap() else {
                continue;
            };
            let offer = read_offer(lease.batch(), lease.message(), blobs).unwrap();
            let mut worker = FakeWorker { broker, blobs, batch: offer.id, last_seq: 0, segments: 0 };
            worker.append(&LogRecord::Started { worker: "liar".to_owned() });
            harvest(&mut worker, &offer);
            worker.append(&LogRecord::Closed { worker: Some("liar".to_owned()) });
            lease.complete().unwrap();
        }
    }

    fn append(&mut self, record: &LogRecord) {
        self.append_bytes(&record.write().unwrap());
    }

    fn append_bytes(&mut self, message: &[u8]) {
        self.last_seq = self.broker.append_log(self.batch, self.last_seq, message).unwrap().unwrap();
    }

    fn send(&mut self, segment: Vec<u8>, pages: &[u32]) {
        self.segments += 1;
        let name = segment_blob_name(self.batch, 1, self.segments);
        self.blobs.put(&name, segment).unwrap();
        let (number, pages) = (self.segments, pages.to_vec());
        let (worker, ahead_ms) = ("liar\x1b[31m".to_owned(), None);
        // Finished sites are those of accepted results, whatever the entry states.
        let sites = (0..100).map(SiteId).collect();
        self.append(&LogRecord::Segment { worker, ahead_ms, key: 1, number, pages, sites });
    }

    /// Sends what an honest worker would.
    fn send_honest(&mut self, batch: &Batch) {
        let mut writer = SegmentWriter::default();
        for victim in Victim::of_batch(batch) {
            writer.push_page(victim.index, &gather(&victim.honest()));
            writer.push_event(&HarvestEvent::SiteDone(site_result(victim.site, victim.address)));
        }
        let pages: Vec<u32> = (0..batch.pages() as u32).collect();
        self.send(writer.finish().unwrap(), &pages);
    }
}

/// Crawls with a worker that is not one of ours.
fn crawl_with(
    collection: &mut Collection,
    handle: &CrawlHandle,
    limits: CrawlLimits,
    harvest: impl FnMut(&mut FakeWorker<'_>, &Batch) + Send,
) -> CrawlSummary {
    let dir = collection.dir().join("workers");
    let blobs = DirBlobStore::open(&dir.join("blobs")).unwrap();
    let transport = Transport {
        broker: Arc::new(DirBroker::open_coordinator(&dir).unwrap()),
        blobs: Arc::new(DirBlobStore::open(&dir.join("blobs")).unwrap()),
        settings: Arc::new(String::new),
        worker_timeout: Duration::from_secs(10),
    };
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let worker = scope.spawn(|| FakeWorker::run(&dir, &blobs, &ended, harvest));
        let summary = crawl_by_workers(collection, handle, limits, &transport);
        ended.store(true, Ordering::Relaxed);
        worker.join().unwrap();
        summary.unwrap()
    })
}

/// Segment whose records are replaced by bytes that are no gzip members, with a valid checksum.
fn without_gzip(mut segment: Vec<u8>) -> Vec<u8> {
    let footer = segment.len() - 28;
    let records = u64::from_le_bytes(segment[footer + 8..footer + 16].try_into().unwrap()) as usize;
    segment[..records].fill(b'\n');
    let hash = xxh3_64(&segment[..footer]);
    segment[footer..footer + 8].copy_from_slice(&hash.to_le_bytes());
    segment
}

/// Sends a lie about a site.
type Lie = fn(&mut FakeWorker<'_>, &Victim);

fn send_page(worker: &mut FakeWorker<'_>, victim: &Victim, page: &FetchedPage) {
    let mut writer = SegmentWriter::default();
    writer.push_page(victim.index, &gather(page));
    worker.send(writer.finish().unwrap(), &[victim.index]);
}

fn send_event(worker: &mut FakeWorker<'_>, event: &HarvestEvent) {
    let mut writer = SegmentWriter::default();
    writer.push_event(event);
    worker.send(writer.finish().unwrap(), &[]);
}

fn robots(text: Vec<u8>) -> RobotsResponse {
    RobotsResponse { fetched_s: CrawlClock::start().now_s(), status: 200, text }
}

const LIES: &[(&str, Lie)] = &[
    ("an entry that is no JSON", |worker, _| worker.append_bytes(b"\xff\x00")),
    ("a site number out of range in 180 bytes", |worker, victim| {
        let event =
            HarvestEvent::SiteBackedOff { site: SiteId(u32::MAX), until_ms: 1, consecutive_errors: 1 };
        let entry =
            JournalEntry::from_event(&event, |_| Some(("http://s0.example", victim.address))).unwrap();
        worker.append(&LogRecord::Events {
            worker: "liar".to_owned(),
            ahead_ms: Some(i64::MIN),
            events: vec![entry],
        });
    }),
    ("a result of a site out of range", |worker, victim| {
        send_event(worker, &HarvestEvent::SiteDone(site_result(SiteId(77_777), victim.address)));
    }),
    ("a page out of range", |worker, _| {
        send_event(worker, &HarvestEvent::PageReturned { page: PageId(u32::MAX), reason: None });
    }),
    ("a reason of another program", |worker, victim| {
        send_event(worker, &HarvestEvent::PageSkipped { page: victim.page, reason: Reason::SiteAlias });
    }),
    ("a page returned for a reason of another program", |worker, victim| {
        let reason = Some(Reason::CollectionLimit);
        send_event(worker, &HarvestEvent::PageReturned { page: victim.page, reason });
    }),
    ("an index out of range", |worker, victim| {
        let mut writer = SegmentWriter::default();
        writer.push_page(u32::MAX, &gather(&victim.honest()));
        worker.send(writer.finish().unwrap(), &[u32::MAX]);
    }),
    ("a record of another URL", |worker, victim| {
        send_page(worker, victim, &fetched("http://victim.example/", victim.address));
    }),
    ("a record of the next year", |worker, victim| {
        let later = victim.honest().fetched_ms + 365 * 86_400_000;
        send_page(worker, victim, &FetchedPage { fetched_ms: later, ..victim.honest() });
    }),
    ("a private address", |worker, victim| {
        send_page(worker, victim, &FetchedPage { address: Some([10, 0, 0, 1].into()), ..victim.honest() });
    }),
    ("the address of another site", |worker, victim| {
        send_page(worker, victim, &FetchedPage { address: Some([192, 0, 2, 250].into()), ..victim.honest() });
    }),
    ("an invalid status", |worker, victim| {
        let head = b"HTTP/1.1 99999 x\r\n\r\n".to_vec();
        send_page(worker, victim, &FetchedPage { head, ..victim.honest() });
    }),
    ("no gzip members", |worker, victim| {
        let mut writer = SegmentWriter::default();
        writer.push_page(victim.index, &gather(&victim.honest()));
        worker.send(without_gzip(writer.finish().unwrap()), &[victim.index]);
    }),
    ("a long robots.txt", |worker, victim| {
        send_event(
            worker,
            &HarvestEvent::RobotsFetched { site: victim.site, response: robots(vec![b'#'; 3 << 20]) },
        );
    }),
    ("a back-off without end", |worker, victim| {
        let (site, until_ms) = (victim.site, u64::MAX);
        send_event(worker, &HarvestEvent::SiteBackedOff { site, until_ms, consecutive_errors: 1 });
    }),
    ("a host outside of the batch", |worker, _| {
        let (name, now_ms) = ("http://victim.example".to_owned(), CrawlClock::start().now_ms());
        let event =
            HarvestEvent::HostContacted { name, address: None, ended_ms: now_ms, until_ms: now_ms + 1 };
        send_event(worker, &event);
    }),
    ("a redirect of robots.txt to no host", |worker, victim| {
        send_event(worker, &HarvestEvent::RobotsRedirect { site: victim.site, name: "x\ny".to_owned() });
    }),
    ("a sitemap of another site", |worker, victim| {
        let urls = vec![SitemapUrl { url: "http://victim.example/x".to_owned(), modified_s: 0 }];
        let (site, file) = (victim.site, "http://victim.example/sitemap.xml".to_owned());
        let kind = UrlListKind::Sitemap;
        send_event(worker, &HarvestEvent::UrlsListed(UrlList { site, file, kind, urls }));
    }),
    ("a result with a private address", |worker, victim| {
        send_event(worker, &HarvestEvent::SiteDone(site_result(victim.site, [192, 168, 1, 1].into())));
    }),
    ("a corrupt segment", |worker, victim| {
        let mut writer = SegmentWriter::default();
        writer.push_page(victim.index, &gather(&victim.honest()));
        let mut segment = writer.finish().unwrap();
        segment[20] ^= 1;
        worker.send(segment, &[victim.index, u32::MAX]);
    }),
    ("a segment of another version", |worker, victim| {
        let mut segment = SegmentWriter::default().finish().unwrap();
        *segment.last_mut().unwrap() = 9;
        worker.send(segment, &[victim.index]);
    }),
];

#[test]
fn the_lies_of_a_worker_are_reported_and_have_no_effect() {
    let temp = tempfile::tempdir().unwrap();
    let sites = LIES.len();
    let mut crawled = collection(temp.path(), sites);
    let handle = CrawlHandle::new(settings(sites));
    let limits = CrawlLimits { batches: Some(1), ..CrawlLimits::default() };
    crawl_with(&mut crawled, &handle, limits, |worker, batch| {
        let victims = Victim::of_batch(batch);
        assert_eq!(victims.len(), sites, "all sites are in the first batch");
        for ((_, lie), victim) in LIES.iter().zip(&victims) {
            lie(worker, victim);
        }
    });
    let status = handle.status();
    assert_eq!(status.progress.rejected_items, sites as u64, "{:#?}", status.warnings);
    assert!(status.warnings.iter().all(|warning| !warning.contains('\x1b')), "{:?}", status.warnings);
    assert!(status.warnings.iter().any(|warning| warning.contains("worker `liar31m` in batch 1")));
    let quarantine = list_quarantine(temp.path()).unwrap();
    assert_eq!(quarantine.len(), 2, "{quarantine:?}");
    assert!(quarantine.iter().any(|item| item.cause.contains("corrupt")), "{quarantine:?}");

    // Nothing false is stored, and all pages can be selected again.
    let is_untouched = |record: &PageRecord| record.fetch_count == 0 && record.stage == PageStage::Discovered;
    assert_eq!(urls(&crawled, is_untouched).len(), sites);
    assert_eq!(urls(&crawled, |_| true).len(), sites);
    assert_eq!(crawled.site_state.reader().sites() as usize, sites);
    let reader = PageStoreReader::open(temp.path(), crawled.manifest().unwrap()).unwrap();
    assert!(reader.versions("http://victim.example/").unwrap().is_empty());
    drop(crawled);
    assert_eq!(store::check(temp.path(), None, |_| ()).unwrap().corruptions, 0);

    // The next run fetches every page once.
    let mut crawled = Collection::open(temp.path(), PageStoreSettings::default().into()).unwrap();
    let handle = CrawlHandle::new(settings(sites));
    crawl_with(&mut crawled, &handle, CrawlLimits::default(), |worker, batch| {
        worker.send_honest(batch);
    });
    assert_eq!(handle.progress().rejected_items, 0, "{:#?}", handle.status().warnings);
    assert_eq!(
        urls(&crawled, |record| record.fetch_count == 1 && record.stage == PageStage::Fetched).len(),
        sites
    );
    let reader = PageStoreReader::open(temp.path(), crawled.manifest().unwrap()).unwrap();
    for number in 0..sites {
        assert_eq!(reader.versions(&front_page(number)).unwrap().len(), 1);
    }
    drop(crawled);
    assert_eq!(store::check(temp.path(), None, |_| ()).unwrap().corruptions, 0);
}
