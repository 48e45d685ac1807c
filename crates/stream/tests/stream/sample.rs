//! A small collection of pages that link to each other.

use std::path::Path;

use model::UrlRules;
use store::{Capture, Collection, DocumentRow, PageFlags, PageRecord, PageSettings, StoreSettings, UrlBatch};

/// Where page `number` is; there are three sites.
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

/// Makes a collection of so many pages, in files of some kilobytes.
pub(crate) fn make(folder: &Path, pages: usize) {
    let bodies = PageSettings { roll_over_bytes: 20_000, ..PageSettings::default() };
    let settings = StoreSettings { bodies, ..StoreSettings::default() };
    let mut collection = Collection::create(folder, settings).unwrap();
    let mut batch = UrlBatch::new();
    (0..pages).for_each(|number| batch.push(&UrlRules::default().canonical(&url(number)).unwrap()));
    let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::default());
    let ids = collection.resolve(&batch, 1, describe).unwrap().pages;
    for (number, page) in ids.iter().enumerate() {
        let (url, body) = (url(number), body(number));
        let capture = Capture {
            url: &url,
            fetched_at_ms: 1_794_731_400_000 + 1_000 * number as i64,
            address: None,
            protocols: &[],
            head: b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
            body: body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.bodies.append(&capture, None).unwrap().location;
        collection
            .pages
            .update(&[*page], |_, page| (page.stored, page.status) = (Some(stored), 200))
            .unwrap();
        let row = DocumentRow { page_id: page.0, language: Some("la"), url: &url, ..DocumentRow::default() };
        collection.tables.documents.rows.push(&row);
    }
    collection.commit(1_794_731_400_000).unwrap();
}
