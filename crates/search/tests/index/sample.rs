//! Collections of a few pages, and what their index has to say of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use model::{PageId, UrlRules};
use search::{IndexSettings, IndexSummary};
use store::{Capture, Collection, PageFlags, PageRecord, Snapshot, Stage, StoreSettings, UrlBatch};
use tempfile::TempDir;

/// A collection that grows by visits.
pub(crate) struct Sample {
    pub(crate) folder: TempDir,
    pub(crate) collection: Collection,
    visits: u32,
}

pub(crate) fn settings() -> IndexSettings {
    IndexSettings { positions: true, memory_bytes: 64 << 20, threads: 2, options: Default::default() }
}

impl Sample {
    pub(crate) fn new() -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let collection = Collection::create(folder.path(), StoreSettings::default()).unwrap();
        Sample { folder, collection, visits: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn page(&mut self, url: &str) -> PageId {
        let mut batch = UrlBatch::new();
        batch.push(&UrlRules::default().canonical(url).unwrap());
        let describe = |new: &store::NewPage| PageRecord::new(new.site, 1, PageFlags(0));
        self.collection.resolve(&batch, 0, describe).unwrap().pages[0]
    }

    /// A visit that brought HTML.
    pub(crate) fn visit(&mut self, url: &str, html: &str) -> PageId {
        self.visit_with(url, 200, "Content-Type: text/html; charset=utf-8\r\n", html)
    }

    pub(crate) fn visit_with(&mut self, url: &str, status: u16, lines: &str, body: &str) -> PageId {
        let page = self.page(url);
        self.visits += 1;
        let head = format!("HTTP/1.1 {status} X\r\n{lines}\r\n");
        let capture = Capture {
            url,
            fetched_at_ms: 1_794_731_400_000 + i64::from(self.visits) * 1_000,
            address: None,
            protocols: &[],
            head: head.as_bytes(),
            body: body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = self.collection.bodies.append(&capture, None).unwrap().location;
        let stage = if status == 200 { Stage::Fetched } else { Stage::Failed };
        self.collection
            .pages
            .update(&[page], |_, record| {
                (record.stage, record.status, record.visits) = (stage, status, record.visits + 1);
                if status == 200 {
                    record.stored = Some(stored);
                    record.content_hash = hash_of(body);
                    record.content_bytes = body.len() as u32;
                }
            })
            .unwrap();
        page
    }

    pub(crate) fn note(&mut self, page: PageId, mut change: impl FnMut(&mut PageRecord)) {
        self.collection.pages.update(&[page], |_, record| change(record)).unwrap();
    }

    /// Commits and brings the index up to date.
    pub(crate) fn index(&mut self) -> IndexSummary {
        self.index_with(&settings())
    }

    pub(crate) fn index_with(&mut self, settings: &IndexSettings) -> IndexSummary {
        self.visits += 1;
        self.collection.commit(1_794_731_400_000 + i64::from(self.visits) * 1_000).unwrap();
        let snapshot = Snapshot::open(self.path(), None).unwrap();
        search::index(&snapshot, settings, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    /// What the index has: for each field and term, the pages and the places in them.
    pub(crate) fn terms(&self) -> super::dump::Terms {
        super::dump::terms(self.path())
    }

    /// The pages that have a term.
    pub(crate) fn pages_with(&self, field: &str, term: &str) -> Vec<u32> {
        let terms = self.terms();
        let found = terms.get(&(field.to_owned(), term.to_owned()));
        found.map(BTreeMap::keys).into_iter().flatten().copied().collect()
    }
}

/// 0 for nothing.
fn hash_of(body: &str) -> u64 {
    if body.is_empty() {
        return 0;
    }
    body.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
