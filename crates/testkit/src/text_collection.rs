//! Small collections with a text index.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use model::UrlBatch;
use model::{PageId, UrlRules};
use search::{IndexSettings, IndexSummary};
use store::{Collection, PageFlags, PageRecord, PageStage, Snapshot, StoreSettings};
use tempfile::TempDir;
use warc::Capture;

use crate::index_dump::{Terms, terms};

/// A collection to which a test adds fetched pages.
pub struct Sample {
    /// Directory of the collection.
    pub folder: TempDir,
    /// The collection, open for writing.
    pub collection: Collection,
    visits: u32,
}

/// Returns index settings with word positions.
pub fn settings() -> IndexSettings {
    IndexSettings { positions: true, memory_bytes: 64 << 20, threads: 2, parse_options: Default::default() }
}

impl Default for Sample {
    fn default() -> Sample {
        Sample::new()
    }
}

impl Sample {
    /// Creates an empty collection.
    pub fn new() -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let collection = Collection::create(folder.path(), StoreSettings::default()).unwrap();
        Sample { folder, collection, visits: 0 }
    }

    /// Directory of the collection.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the id of a page and adds the page if it is unknown.
    pub fn page(&mut self, url: &str) -> PageId {
        let mut batch = UrlBatch::new();
        batch.push(&UrlRules::default().canonical(url).unwrap());
        let describe = |new: &store::NewPage| PageRecord::new(new.site, 1, PageFlags(0));
        self.collection.resolve(&batch, 0, describe).unwrap().pages[0]
    }

    /// Adds a successful fetch of an HTML page.
    pub fn visit(&mut self, url: &str, html: &str) -> PageId {
        self.visit_with(url, 200, "Content-Type: text/html; charset=utf-8\r\n", html)
    }

    /// Adds a fetch with this status, these header lines and this body.
    pub fn visit_with(&mut self, url: &str, status: u16, lines: &str, body: &str) -> PageId {
        let page = self.page(url);
        self.visits += 1;
        let head = format!("HTTP/1.1 {status} X\r\n{lines}\r\n");
        let capture = Capture {
            url,
            fetched_at_ms: 1_794_731_400_000 + i64::from(self.visits) * 1_000,
            ip_address: None,
            protocols: &[],
            head: head.as_bytes(),
            body: body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = self.collection.page_store.append(&capture, None).unwrap().location;
        let stage = if status == 200 { PageStage::Fetched } else { PageStage::Failed };
        self.collection
            .page_state
            .update(&[page], |_, record| {
                (record.stage, record.status, record.fetch_count) = (stage, status, record.fetch_count + 1);
                if status == 200 {
                    record.record_location = Some(stored);
                    record.content_hash = hash_of(body);
                    record.content_bytes = body.len() as u32;
                }
            })
            .unwrap();
        page
    }

    /// Changes the record of a page.
    pub fn note(&mut self, page: PageId, mut change: impl FnMut(&mut PageRecord)) {
        self.collection.page_state.update(&[page], |_, record| change(record)).unwrap();
    }

    /// Commits and updates the index.
    pub fn index(&mut self) -> IndexSummary {
        self.index_with(&settings())
    }

    /// Commits and updates the index with these settings.
    pub fn index_with(&mut self, settings: &IndexSettings) -> IndexSummary {
        self.visits += 1;
        self.collection.commit(1_794_731_400_000 + i64::from(self.visits) * 1_000).unwrap();
        let snapshot = Snapshot::open(self.path(), None).unwrap();
        search::index(&snapshot, settings, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// Reads all terms of the index.
    pub fn terms(&self) -> Terms {
        terms(self.path())
    }

    /// Returns the pages that contain a term.
    pub fn pages_with(&self, field: &str, term: &str) -> Vec<u32> {
        let terms = self.terms();
        let found = terms.get(&(field.to_owned(), term.to_owned()));
        found.map(BTreeMap::keys).into_iter().flatten().copied().collect()
    }
}

/// FNV-1a hash of a body; 0 for an empty one.
fn hash_of(body: &str) -> u64 {
    if body.is_empty() {
        return 0;
    }
    body.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
