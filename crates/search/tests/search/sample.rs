//! Small collections for the tests of searching.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use model::UrlBatch;
use model::{PageId, UrlRules};
use search::{IndexSettings, LinkMatches, Query, Ranking, SearchOptions, SearchResult, Searcher, index};
use store::{Collection, PageFlags, PageRecord, PageStage, Snapshot, StoreSettings};
use tempfile::TempDir;
use warc::Capture;

/// Page to store.
pub(crate) struct Page<'p> {
    pub(crate) url: &'p str,
    /// Response headers, each with a line break.
    pub(crate) head: &'p str,
    pub(crate) body: &'p str,
    pub(crate) depth: u8,
}

/// Indexed collection with its searcher.
pub(crate) struct Sample {
    pub(crate) dir: TempDir,
    pub(crate) searcher: Searcher,
}

pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        positions: true,
        memory_bytes: 64 << 20,
        threads: 1,
        parse_options: parse::html::Options::default(),
    }
}

impl Sample {
    /// Creates a collection of HTML pages: path on `http://a.test` and body.
    pub(crate) fn of(pages: &[(&str, &str)]) -> Sample {
        let urls: Vec<String> = pages.iter().map(|(path, _)| format!("http://a.test{path}")).collect();
        let page = |(url, (_, body)): (&'_ String, &(&'_ str, &'_ str))| (url.clone(), (*body).to_owned());
        let pages: Vec<(String, String)> = urls.iter().zip(pages).map(page).collect();
        let pages: Vec<Page<'_>> = pages
            .iter()
            .map(|(url, body)| Page { url, head: "Content-Type: text/html\r\n", body, depth: 0 })
            .collect();
        Sample::of_pages(&pages, &settings())
    }

    pub(crate) fn of_pages(pages: &[Page<'_>], settings: &IndexSettings) -> Sample {
        let dir = tempfile::tempdir().unwrap();
        store_pages(dir.path(), pages);
        index(&Snapshot::open(dir.path(), None).unwrap(), settings, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        let searcher = open(dir.path());
        Sample { dir, searcher }
    }

    pub(crate) fn search(&self, query: &str, options: &SearchOptions) -> SearchResult {
        let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        self.searcher.search(&query, &LinkMatches::default(), options).unwrap()
    }

    /// Paths of the hits, in order.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let result = self.search(query, &SearchOptions { limit: 1_000, ..SearchOptions::default() });
        result.hits.iter().map(|hit| path(&hit.url)).collect()
    }

    /// Paths of the hits, sorted.
    pub(crate) fn sorted(&self, query: &str) -> Vec<String> {
        let mut found = self.found(query);
        found.sort_unstable();
        found
    }

    /// Paths of the hits if the link conditions match the given pages.
    pub(crate) fn found_by_links(&self, query: &str, pages: &[u32]) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let links = LinkMatches::resolve(&query, |_| Ok::<_, Infallible>(pages.to_vec())).unwrap();
        let result = self.searcher.search(&query, &links, &SearchOptions::default()).unwrap();
        result.hits.iter().map(|hit| path(&hit.url)).collect()
    }
}

pub(crate) fn open(dir: &Path) -> Searcher {
    Searcher::open(Snapshot::open(dir, None).unwrap(), Ranking::default()).unwrap()
}

/// The part of a URL after the host.
pub(crate) fn path(url: &str) -> String {
    let host = url.split_once("://").unwrap().1;
    host[host.find('/').unwrap()..].to_owned()
}

pub(crate) fn store_pages(dir: &Path, pages: &[Page<'_>]) {
    let mut collection = Collection::create(dir, StoreSettings::default()).unwrap();
    let rules = UrlRules::default();
    let mut batch = UrlBatch::new();
    pages.iter().for_each(|page| batch.push(&rules.canonical(page.url).unwrap()));
    let describe = |new: &store::NewPage| PageRecord::new(new.site, 0, PageFlags(0));
    let ids: Vec<PageId> = collection.resolve(&batch, 0, describe).unwrap().pages;
    for (page, id) in pages.iter().zip(&ids) {
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", page.head);
        let capture = Capture {
            url: page.url,
            fetched_at_ms: 1_700_000_000_000,
            ip_address: None,
            protocols: &[],
            head: head.as_bytes(),
            body: page.body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.page_store.append(&capture, None).unwrap().location;
        let update = |_: usize, record: &mut PageRecord| {
            (record.stage, record.status, record.record_location) = (PageStage::Fetched, 200, Some(stored));
            (record.depth, record.fetch_count) = (page.depth, 1);
            (record.content_bytes, record.last_success_s) = (page.body.len() as u32, 1_700_000_000);
            record.content_hash = u64::from(id.0) + 1;
        };
        collection.page_state.update(&[*id], update).unwrap();
    }
    collection.commit(0).unwrap();
}
