//! Reads any bytes as a segment of a worker: only pages of the batch that was leased are accepted, each once, with index lines
//! of one line; after an error nothing of the batch has changed.
//!
//! The input is the length of the WARC records (two bytes), the records, and the items without compression and checksum.
#![no_main]

use harvest::item::harvest_event::HarvestEvent;
use harvest::item::harvest_item::HarvestItem;
use harvest::transport::segment::{SegmentWriter, read_segment};
use harvest::verification::leased_batch::{LeasedBatch, VerificationContext};
use harvest::{Batch, BatchPage, BatchSite, CrawlSettings, Validators};
use libfuzzer_sys::fuzz_target;
use model::{PageId, SiteId};
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

const LENT_MS: u64 = 1_794_731_400_125;
const NOW_MS: u64 = LENT_MS + 60_000;
const URLS: [&str; 3] = ["http://a.example/", "http://a.example/r", "http://a.example/e"];
const FIRST_PAGE: u32 = 10;

static SETTINGS: LazyLock<CrawlSettings> = LazyLock::new(CrawlSettings::default);

fn leased_batch() -> LeasedBatch {
    let page = |(number, url): (u32, &&str)| BatchPage {
        page: PageId(number),
        url: (*url).to_owned(),
        validators: Validators::default(),
    };
    let site = BatchSite {
        site: SiteId(3),
        name: "http://a.example".to_owned(),
        address: None,
        address_expires_s: 0,
        earliest_request_ms: 0,
        consecutive_errors: 0,
        throttle_delay_ms: 0,
        pages_known: 3,
        robots: None,
        robots_redirects: Vec::new(),
        sitemaps_due: true,
        pages: (FIRST_PAGE..).zip(&URLS).map(page).collect(),
    };
    LeasedBatch::new(Batch { id: 7, sites: vec![site], ..Batch::default() }, LENT_MS)
}

/// Builds a segment with a valid checksum.
fn seal(records: &[u8], items: &[u8]) -> Vec<u8> {
    let items = zstd::bulk::compress(items, 1).expect("bytes can be compressed");
    let mut segment = [records, &items].concat();
    let numbers = [xxh3_64(&segment), records.len() as u64, items.len() as u64];
    numbers.iter().for_each(|number| segment.extend_from_slice(&number.to_le_bytes()));
    // The version is at the end of any segment.
    let empty = SegmentWriter::default().finish().expect("an empty segment can be written");
    segment.extend_from_slice(&empty[empty.len() - 4..]);
    segment
}

fuzz_target!(|data: &[u8]| {
    let context =
        VerificationContext { settings: &SETTINGS, now_ms: NOW_MS, to_local_ms: &|time_ms| time_ms };
    let mut batch = leased_batch();
    assert!(read_segment(data, &mut batch, &context).is_err(), "a segment without a checksum");
    assert_eq!(batch.return_all().len(), URLS.len(), "an error changed the batch");

    let [high, low, rest @ ..] = data else { return };
    let records = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
    let (records, items) = rest.split_at(records);
    let segment = seal(records, items);
    let mut batch = leased_batch();
    let Ok(first) = read_segment(&segment, &mut batch, &context) else {
        assert_eq!(batch.return_all().len(), URLS.len(), "an error changed the batch");
        return;
    };
    let mut seen = Vec::new();
    for item in &first.items {
        match item {
            HarvestItem::Gathered(page) => {
                assert!(URLS.contains(&page.url.as_str()), "{}", page.url.as_str());
                assert!(!seen.contains(&page.url.as_str()), "{} twice", page.url.as_str());
                seen.push(page.url.as_str());
                if let Some(Ok(record)) = &page.record {
                    assert_eq!(record.cdxj.url, page.url.as_str());
                    let line = format!("{:?}", record.cdxj);
                    assert!(!line.contains("\\n") && !line.contains("\\r"), "{line}");
                }
            }
            HarvestItem::Event(event) => check_event(event),
            HarvestItem::Fetched(..) | HarvestItem::Cursor(_) => panic!("not an item of a segment: {item:?}"),
        }
    }
    let again = read_segment(&segment, &mut batch, &context).expect("the segment was read before");
    assert!(
        !again.items.iter().any(|item| matches!(item, HarvestItem::Gathered(_))),
        "a page was accepted twice"
    );
});

fn check_event(event: &HarvestEvent) {
    let pages = FIRST_PAGE..FIRST_PAGE + URLS.len() as u32;
    match event {
        HarvestEvent::PageSkipped { page, .. } | HarvestEvent::PageReturned { page, .. } => {
            assert!(pages.contains(&page.0), "{event:?}");
        }
        HarvestEvent::RobotsFetched { site, .. }
        | HarvestEvent::RobotsRedirect { site, .. }
        | HarvestEvent::SiteBackedOff { site, .. } => assert_eq!(*site, SiteId(3), "{event:?}"),
        HarvestEvent::UrlsListed(list) => assert_eq!(list.site, SiteId(3), "{event:?}"),
        HarvestEvent::SiteDone(result) => assert_eq!(result.site, SiteId(3), "{event:?}"),
        HarvestEvent::HostContacted { .. } => {}
    }
}
