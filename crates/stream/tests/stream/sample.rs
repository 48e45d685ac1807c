//! Small collection of pages that link to each other.

use std::path::Path;

use model::UrlBatch;
use model::UrlRules;
use store::{Collection, DocumentRow, PageFlags, PageRecord, PageStoreSettings, StoreSettings};
use warc::Capture;

/// URL of page `number`, on one of three sites.
pub(crate) fn url(number: usize) -> String {
    format!("http://{}.test/{number}", ["a", "b", "c"][number % 3])
}

pub(crate) fn body(number: usize) -> String {
    let words = "lorem ipsum dolor sit amet ".repeat(20 + number % 7);
    let next = url(number + 1);
    format!(
        "<title>Page {number}</title><p>{words}{number}<a href='{next}'>the page that is next to {number}</a>"
    )
}

/// Creates a collection with this number of pages, in WARC files of some kilobytes.
pub(crate) fn make(dir: &Path, pages: usize) {
    let bodies = PageStoreSettings { max_file_bytes: 20_000, ..PageStoreSettings::default() };
    let settings = StoreSettings { page_store: bodies, ..StoreSettings::default() };
    let mut collection = Collection::create(dir, settings).unwrap();
    let mut batch = UrlBatch::new();
    (0..pages).for_each(|number| batch.push(&UrlRules::default().canonical(&url(number)).unwrap()));
    let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::default());
    let ids = collection.resolve(&batch, 1, describe).unwrap().pages;
    for (number, page) in ids.iter().enumerate() {
        let (url, body) = (url(number), body(number));
        let capture = Capture {
            url: &url,
            fetched_at_ms: 1_794_731_400_000 + 1_000 * number as i64,
            ip_address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
            body: body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None).unwrap().location;
        collection
            .page_state
            .update(&[*page], |_, page| (page.record_location, page.status) = (Some(stored), 200))
            .unwrap();
        let row = DocumentRow { page_id: page.0, language: Some("la"), url: &url, ..DocumentRow::default() };
        collection.tables.documents.rows.push(&row);
    }
    collection.commit(1_794_731_400_000).unwrap();
}
