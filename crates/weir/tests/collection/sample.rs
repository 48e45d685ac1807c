//! Small collection with every kind of file.

use std::path::Path;

use model::UrlBatch;
use model::{PageId, UrlRules};
use store::{
    Collection, FetchRow, Link, LinkRow, PageFlags, PageRecord, PageStage, SiteLogRow, StoreSettings,
};
use warc::Capture;

pub(crate) const URLS: [&str; 6] = [
    "https://a.test/",
    "https://a.test/docs/Guide",
    "https://a.test/docs/guide?x=1",
    "http://b.test:8080/",
    "http://b.test:8080/copy.html",
    "http://b.test:8080/gone",
];

/// Time of the first commit.
const START_MS: i64 = 1_794_731_400_000;

/// Creates a collection with a few commits, in which each page but the last has `versions` versions.
pub(crate) fn make(dir: &Path, versions: u32) -> Collection {
    let mut collection = Collection::create(dir, StoreSettings::default()).unwrap();
    let mut batch = UrlBatch::new();
    for url in URLS {
        batch.push(&UrlRules::default().canonical(url).unwrap());
    }
    let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::SEED);
    let pages = collection.resolve(&batch, 1_794_731_400, describe).unwrap().pages;
    collection.commit(START_MS).unwrap();
    for version in 0..versions {
        visit(&mut collection, &pages, version);
        collection.commit(START_MS + 60_000 * i64::from(version + 1)).unwrap();
    }
    collection
}

/// Body that differs by page and version and does not compress well.
pub(crate) fn body(page: usize, version: u32) -> Vec<u8> {
    // Page 4 is a duplicate of page 3.
    let page = if page == 4 { 3 } else { page };
    let mut state = u64::from(version) << 8 | page as u64;
    let mut text = format!("<html><title>Page {page}, version {version}</title>");
    for _ in 0..100 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("<p>{state:x}"));
    }
    text.into_bytes()
}

/// Fetches every page once more.
pub(crate) fn visit(collection: &mut Collection, pages: &[PageId], version: u32) {
    let fetched_at_ms = START_MS + 60_000 * i64::from(version);
    for (number, (url, page)) in URLS.iter().zip(pages).enumerate() {
        let (head, status) = match number {
            5 => (&b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n"[..], 404),
            _ => (&b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"[..], 200),
        };
        let body = body(number, version);
        let capture = Capture {
            url,
            fetched_at_ms,
            ip_address: None,
            protocols: &[],
            head,
            body: &body,
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None).unwrap().location;
        let stage = if status == 200 { PageStage::Fetched } else { PageStage::Failed };
        collection
            .page_state
            .update(&[*page], |_, page| {
                (page.stage, page.status, page.record_location) = (stage, status, Some(stored));
                page.fetch_count += 1;
                // 1970, so that the output does not depend on the day of the test.
                page.last_success_s = u32::from(status == 200);
            })
            .unwrap();
        let file = format!("pages/{}", stored.file_name());
        collection.tables.fetches.rows.push(&FetchRow {
            warc_filename: Some(&file),
            warc_record_offset: Some(stored.offset as i64),
            warc_record_length: Some(stored.length as i32),
            ..fetch(url, *page, fetched_at_ms)
        });
    }
    let link = |target| Link { target, kind: 0, context: 0, anchor_chars: 5, position: 0 };
    collection.links.append(pages[0], pages[1..].iter().map(|page| link(*page))).unwrap();
    for target in &pages[1..] {
        collection.tables.links.rows.push(&link_row(pages[0], *target, fetched_at_ms));
    }
    collection.tables.site_log.rows.push(&site_row(fetched_at_ms));
    let robots = format!("User-agent: *\nDisallow: /private/{version}\n");
    collection.site_state.set_robots_text(model::SiteId(0), robots.as_bytes()).unwrap();
}

fn fetch(url: &'static str, page: PageId, fetch_time: i64) -> FetchRow<'static> {
    FetchRow {
        url,
        url_host_name: "a.test",
        url_host_tld: Some("test"),
        url_protocol: "https",
        url_path: "/",
        fetch_time,
        fetch_status: 200,
        page_id: page.0,
        outcome: "ok",
        ..FetchRow::default()
    }
}

fn link_row(source: PageId, target: PageId, fetch_time: i64) -> LinkRow<'static> {
    LinkRow {
        source_page_id: source.0,
        target_page_id: Some(target.0),
        target_url: "https://a.test/",
        fetch_time,
        element: "a",
        is_internal: true,
        ..LinkRow::default()
    }
}

fn site_row(time: i64) -> SiteLogRow<'static> {
    SiteLogRow {
        site: "https://a.test",
        url_host_name: "a.test",
        observed_time: time,
        ..SiteLogRow::default()
    }
}
