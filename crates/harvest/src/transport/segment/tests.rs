//! Tests of segments: what a worker writes is read back, and what contradicts the batch is dropped and reported.

mod events;

use fetch::NetworkFilter;
use model::{PageId, Reason, SiteId, Truncation, UrlRules};
use proptest::prelude::*;
use warc::RecordEncoder;

use self::events::site_result;
use super::*;
use crate::gatherer::Gatherer;
use crate::item::batch::{Batch, BatchPage, test_site};
use crate::item::fetched_page::FetchedPage;
use crate::item::validators::Validators;
use crate::settings::crawl_settings::CrawlSettings;
use crate::settings::focus::Focus;
use crate::transport::segment::entry::SegmentLink;

const FETCHED_MS: i64 = 1_794_731_400_125;
const NOW_MS: u64 = FETCHED_MS as u64 + 60_000;
const PATHS: [&str; 5] = ["", "r", "e", "n", "0"];
const SITE: SiteId = SiteId(3);

fn settings() -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    settings.gathering.focus = Focus::new("läßt", &[]);
    let mut networks = NetworkFilter::public();
    networks.allow("192.0.2.0/24").unwrap();
    settings.fetch.network_filter = networks;
    settings
}

fn leased() -> LeasedBatch {
    let page = |(number, path): (u32, &&str)| BatchPage {
        page: PageId(number + 10),
        url: format!("http://a.example/{path}"),
        validators: Validators::default(),
    };
    let site = crate::BatchSite { pages: (0..).zip(&PATHS).map(page).collect(), ..test_site() };
    LeasedBatch::new(Batch { id: 7, sites: vec![site], ..Batch::default() }, FETCHED_MS as u64)
}

fn fetched(path: &str, status: u16, fields: &str, body: &str) -> FetchedPage {
    let head = format!("HTTP/2 {status} x\r\nServer: s\r\nContent-Type: text/html\r\n{fields}\r\n");
    FetchedPage {
        url: UrlRules::default().canonical(&format!("http://a.example/{path}")).unwrap(),
        fetched_ms: FETCHED_MS,
        address: Some([192, 0, 2, 1].into()),
        protocols: if status == 0 { Vec::new() } else { vec!["h2".to_owned()] },
        status,
        head: if status == 0 { Vec::new() } else { head.into_bytes() },
        body: body.as_bytes().to_vec(),
        truncated: (status == 200).then_some(Truncation::Time),
        request: Vec::new(),
        failure: (status == 0).then_some(Reason::TooSlow),
        latency_ms: Some(3),
        duration_ms: Some(4),
    }
}

fn gather(fetched: &FetchedPage) -> GatheredPage {
    Gatherer::new(&settings().gathering).gather(fetched)
}

const BODY: &str = "<title>t</title><meta name=robots content=noarchive><link rel=canonical href=/c><p>Der Hund läßt die Katze \
    nicht ins Haus, und die Katze den Hund nicht in den Garten.<a href='/a?b=1' rel='next nofollow'>no</a> <a href=/ü>läßt</a> \
    <img src=i.png> <a href='mailto:x'>m</a><h1><a href=http://b.example/>b</a></h1>";

fn pages() -> [GatheredPage; 5] {
    [
        fetched("", 200, "Last-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\n", BODY),
        fetched("r", 301, "Location: /ü?x=1\r\n", ""),
        fetched("e", 500, "", "oh"),
        fetched("n", 304, "", ""),
        fetched("0", 0, "", ""),
    ]
    .map(|page| gather(&page))
}

fn segment(pages: &[GatheredPage], events: &[HarvestEvent]) -> Vec<u8> {
    let mut writer = SegmentWriter::default();
    (0..).zip(pages).for_each(|(index, page)| writer.push_page(index, page));
    events.iter().for_each(|event| writer.push_event(event));
    let segment = writer.finish().unwrap();
    assert!(writer.is_empty());
    segment
}

fn read(segment: &[u8], batch: &mut LeasedBatch) -> Result<VerifiedItems, SegmentError> {
    let settings = settings();
    let context =
        VerificationContext { settings: &settings, now_ms: NOW_MS, to_local_ms: &|time_ms| time_ms };
    read_segment(segment, batch, &context)
}

#[test]
fn pages_and_events_are_read_back_as_written() {
    let pages = pages();
    let events = [HarvestEvent::SiteBackedOff { site: SITE, until_ms: 5, consecutive_errors: 1 }];
    let VerifiedItems { items, rejections } = read(&segment(&pages, &events), &mut leased()).unwrap();
    assert_eq!(rejections.causes, Vec::<String>::new());
    let expected = pages.into_iter().map(|page| HarvestItem::Gathered(Box::new(page)));
    let expected: Vec<HarvestItem> = expected.chain(events.into_iter().map(HarvestItem::Event)).collect();
    assert_eq!(format!("{items:#?}"), format!("{expected:#?}"));
}

#[test]
fn a_page_is_accepted_once() {
    let (segment, mut batch) = (segment(&pages(), &[]), leased());
    assert_eq!(read(&segment, &mut batch).unwrap().items.len(), 5);
    let again = read(&segment, &mut batch).unwrap();
    assert_eq!((again.items.len(), again.rejections.count), (0, 5));
    assert!(again.rejections.causes[0].contains("delivered before"), "{:?}", again.rejections);
}

/// Reads a segment with one page that was changed before it was encoded.
fn read_changed(change: impl FnOnce(&mut SegmentPage<'_>, &mut Vec<u8>)) -> VerifiedItems {
    let page = &pages()[0];
    let mut line = SegmentPage::of(0, page, 0);
    let mut records = page.record.as_ref().unwrap().as_ref().unwrap().members().to_vec();
    change(&mut line, &mut records);
    let items = postcard::to_allocvec(&SegmentEntry::Page(Box::new(line))).unwrap();
    read(&encode_segment(records, &items).unwrap(), &mut leased()).unwrap()
}

/// Replaces the record by that of another response.
fn replace_record(line: &mut SegmentPage<'_>, records: &mut Vec<u8>, other: &FetchedPage) {
    let protocols: Vec<&str> = other.protocols.iter().map(String::as_str).collect();
    *records = RecordEncoder::new(1).encode(&other.capture(&protocols, None)).unwrap().members().to_vec();
    line.record = Some((0, records.len() as u64));
}

/// Falsifies a page and its record.
type Lie = fn(&mut SegmentPage<'_>, &mut Vec<u8>);

/// Lies about the record of a page.
const RECORD_LIES: &[(&str, Lie)] = &[
    ("the record of another URL", |line, records| {
        replace_record(line, records, &fetched("other", 200, "", BODY));
    }),
    ("the record of another time", |line, records| {
        replace_record(line, records, &FetchedPage { fetched_ms: 0, ..fetched("", 200, "", BODY) });
    }),
    ("the record of a time to come", |line, records| {
        let later = FETCHED_MS + 10 * 86_400_000;
        replace_record(line, records, &FetchedPage { fetched_ms: later, ..fetched("", 200, "", BODY) });
    }),
    ("a private address", |line, records| {
        let address = Some([10, 0, 0, 1].into());
        replace_record(line, records, &FetchedPage { address, ..fetched("", 200, "", BODY) });
    }),
    ("the address of another site", |line, records| {
        let address = Some([192, 0, 2, 99].into());
        replace_record(line, records, &FetchedPage { address, ..fetched("", 200, "", BODY) });
    }),
    ("a record without a status", |line, records| {
        let head = b"HTTP/1.1 nothing\r\n\r\n".to_vec();
        replace_record(line, records, &FetchedPage { head, ..fetched("", 200, "", BODY) });
    }),
    ("a document of an error", |line, records| {
        replace_record(line, records, &fetched("", 500, "", BODY));
    }),
    ("a document of no response", |line, _| (line.record, line.failure) = (None, Some(49))),
    ("no response without a reason", |line, _| {
        (line.record, line.document, line.links) = (None, None, Vec::new());
    }),
    ("links without a document", |line, _| line.document = None),
    ("bytes that are no gzip member", |_, records| records.fill(b'x')),
    ("a changed record", |_, records| {
        let middle = records.len() / 2;
        records[middle] ^= 1;
    }),
    ("a record that is cut", |line, _| line.record = line.record.map(|(start, length)| (start, length - 1))),
    ("a record behind the end", |line, _| {
        line.record = line.record.map(|(start, length)| (start + 1, length));
    }),
    ("a record at an impossible offset", |line, _| line.record = Some((u64::MAX, 2))),
    ("two records", |line, records| {
        records.extend_from_within(..);
        line.record = Some((0, records.len() as u64));
    }),
];

/// Lies about values that no record states.
const VALUE_LIES: &[(&str, Lie)] = &[
    ("an unknown reason", |line, _| line.failure = Some(255)),
    ("an unknown kind of link", |line, _| line.links[0].kind = 200),
    ("a position that is no number", |line, _| line.links[0].position = f32::NAN),
    ("a followed image", |line, _| {
        let image = line.links.iter_mut().find(|link| link.url.ends_with("i.png")).unwrap();
        image.followed = Some(0);
    }),
    ("too many links", |line, _| {
        let link = || SegmentLink {
            url: "",
            followed: None,
            reason: None,
            kind: 0,
            context: 0,
            position: 0.0,
            internal: false,
            rel: "",
            anchor: "",
        };
        line.links = (0..=1 << 20).map(|_| link()).collect();
    }),
];

#[test]
fn a_lie_about_a_page_is_reported_and_the_page_returned() {
    for (lie, change) in RECORD_LIES.iter().chain(VALUE_LIES) {
        let VerifiedItems { items, rejections } = read_changed(change);
        assert_eq!(rejections.count, 1, "{lie}: {items:?}");
        let [HarvestItem::Event(HarvestEvent::PageReturned { page, reason: None })] = &items[..] else {
            panic!("{lie}: {items:?}")
        };
        assert_eq!(*page, PageId(10), "{lie}");
        assert!(rejections.causes[0].starts_with("http://a.example/: "), "{lie}: {rejections:?}");
    }
}

#[test]
fn a_record_that_several_pages_share_is_corrupt_and_nothing_of_the_batch_changes() {
    let page = &pages()[0];
    let records = page.record.as_ref().unwrap().as_ref().unwrap().members().to_vec();
    let entry = |index: u32| {
        postcard::to_allocvec(&SegmentEntry::Page(Box::new(SegmentPage::of(index, page, 0)))).unwrap()
    };
    let mut batch = leased();
    let items: Vec<u8> = (0..5).flat_map(entry).collect();
    let shared = read(&encode_segment(records.clone(), &items).unwrap(), &mut batch);
    assert_eq!(shared.err(), Some(SegmentError::Corrupt));
    let single = read(&encode_segment(records, &entry(0)).unwrap(), &mut batch).unwrap();
    assert_eq!((single.items.len(), single.rejections.count), (1, 0));
}

#[test]
fn an_invalid_record_counts_towards_the_maximum_of_decompressed_bytes() {
    let (settings, page) = (settings(), &pages()[0]);
    let context =
        VerificationContext { settings: &settings, now_ms: NOW_MS, to_local_ms: &|time_ms| time_ms };
    let (batch, mut line, mut records) = (leased(), SegmentPage::of(0, page, 0), Vec::new());
    replace_record(&mut line, &mut records, &fetched("other", 200, "", BODY));
    let bounds = batch.time_bounds(&context);
    let mut reader = PageReader { records: &records, context: &context, bounds, records_bytes_left: 1 << 20 };
    assert!(reader.read(&line, batch.open_page(0).unwrap()).is_err());
    assert!(reader.records_bytes_left < (1 << 20) - BODY.len());
}

#[test]
fn a_page_that_was_not_leased_is_reported() {
    for index in [5, u32::MAX] {
        let VerifiedItems { items, rejections } = read_changed(|line, _| line.page = index);
        assert_eq!((items.len(), rejections.count), (0, 1));
    }
    // The record of page 0 does not prove anything about page 1.
    let VerifiedItems { items, rejections } = read_changed(|line, _| line.page = 1);
    assert!(matches!(items[..], [HarvestItem::Event(HarvestEvent::PageReturned { page: PageId(11), .. })]));
    assert_eq!(rejections.count, 1);
}

#[test]
fn a_followed_link_out_of_scope_is_recorded_and_not_followed() {
    let followed = |url: &'static str| {
        let VerifiedItems { items, rejections } = read_changed(|line, _| {
            line.links.truncate(1);
            (line.links[0].url, line.links[0].followed, line.links[0].reason) = (url, Some(7), None);
        });
        assert_eq!(rejections.count, 0, "{rejections:?}");
        let [HarvestItem::Gathered(page)] = &items[..] else { panic!("{items:?}") };
        assert_eq!(page.links.url(page.links.all[0].target), url);
        page.links.followed.len()
    };
    assert_eq!(followed("http://c.example/x"), 1);
    for url in ["http://c.example/x\ny", "ftp://c.example/", "http://c.example/x.zip", "HTTP://C.example/x"] {
        assert_eq!(followed(url), 0, "{url:?}");
    }
}

#[test]
fn long_texts_and_impossible_numbers_of_a_document_are_limited() {
    let long: &'static str = Box::leak("x".repeat(100_000).into_boxed_str());
    let VerifiedItems { items, .. } = read_changed(|line, _| {
        let document = line.document.as_mut().unwrap();
        (document.title, document.description, document.canonical) = (long, long, Some(long));
        (document.charset, document.language_declared) = (long, long);
        document.language = Some(("xx", f32::NAN));
        (document.raw_bytes, document.text_bytes) = (u64::MAX, u64::MAX);
        (line.links[0].anchor, line.links[0].rel) = (long, long);
        (line.links[0].position, line.latency_ms) = (f32::MAX, Some(u32::MAX));
    });
    let [HarvestItem::Gathered(page)] = &items[..] else { panic!("{items:?}") };
    let document = page.document.as_ref().unwrap();
    for text in [&document.title, &document.description, &document.charset, &document.language_declared] {
        assert!(text.len() <= 8 << 10);
    }
    assert!(document.raw_bytes < 1 << 30 && document.text_bytes < 1 << 30 && document.language.is_none());
    let link = &page.links.all[0];
    assert!(page.links.text(link.anchor).len() <= 1 << 10 && page.links.text(link.rel).len() <= 1 << 10);
    assert_eq!((link.position, page.latency_ms), (1.0, None));
}

#[test]
fn a_segment_starts_with_readable_warc_records() {
    let pages = [gather(&fetched("", 200, "", BODY)), gather(&fetched("e", 500, "", "oh"))];
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("segment.warc.gz");
    let (segment, records) = (segment(&pages, &[]), records_of(&pages));
    std::fs::write(&path, &segment[..records]).unwrap();
    let urls: Vec<String> = warc::WarcReader::open(&path)
        .unwrap()
        .map(|record| record.unwrap().header.url().unwrap().to_owned())
        .collect();
    assert_eq!(urls, ["http://a.example/", "http://a.example/e"]);
}

fn records_of(pages: &[GatheredPage]) -> usize {
    let prepared = pages.iter().filter_map(|page| page.record.as_ref());
    prepared.map(|prepared| prepared.as_ref().unwrap().members().len()).sum()
}

#[test]
fn another_version_is_rejected_with_its_number() {
    let mut segment = segment(&[], &[]);
    *segment.last_mut().unwrap() = 1;
    let error = read(&segment, &mut leased()).err();
    assert_eq!(error, Some(SegmentError::OtherVersion(VERSION + (1 << 24))));
}

proptest! {
    #[test]
    fn corruption_is_detected(index in 0.0..1.0f64, bit in 0..8u32, cut in 0..40usize) {
        let whole = segment(&pages()[..1], &[]);
        let mut corrupt = whole.clone();
        let index = (index * corrupt.len() as f64) as usize;
        corrupt[index] ^= 1 << bit;
        corrupt.truncate(whole.len() - cut);
        prop_assert!(read(&corrupt, &mut leased()).is_err());
    }

    #[test]
    fn corruption_of_the_footer_is_detected(index in 1..=FOOTER_BYTES, bit in 0..8u32) {
        let mut corrupt = segment(&pages()[..1], &[]);
        let index = corrupt.len() - index;
        corrupt[index] ^= 1 << bit;
        prop_assert!(read(&corrupt, &mut leased()).is_err());
    }

    #[test]
    fn arbitrary_content_with_a_valid_hash_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&encode_segment(bytes.clone(), &bytes).unwrap(), &mut leased());
    }

    /// A byte of valid items is changed, and the checksum computed again: every accepted page is a page of the batch.
    #[test]
    fn changed_items_with_a_valid_hash_are_verified(index in 0.0..1.0f64, byte in any::<u8>()) {
        let (whole, mut batch) = (segment(&pages(), &[HarvestEvent::SiteDone(site_result())]), leased());
        let (records, mut items) = decode_segment(&whole).unwrap();
        let index = (index * items.len() as f64) as usize;
        items[index] = byte;
        let lie = encode_segment(records.to_vec(), &items).unwrap();
        if let Ok(verified) = read(&lie, &mut batch) {
            for item in verified.items {
                let HarvestItem::Gathered(page) = item else { continue };
                let path = page.url.as_str().strip_prefix("http://a.example/").unwrap();
                prop_assert!(PATHS.contains(&path));
                prop_assert!(page.status == 0 || page.record.is_some());
            }
        }
    }
}
