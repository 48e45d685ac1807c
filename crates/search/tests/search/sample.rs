//! Collections of a few pages whose words are known.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;

use model::{PageId, UrlRules};
use search::{Answer, IndexSettings, LinkAnswers, Query, Ranking, Request, Searcher, index};
use store::{Capture, Collection, PageFlags, PageRecord, Snapshot, Stage, StoreSettings, UrlBatch};
use tempfile::TempDir;

/// One page on its way into a collection.
pub(crate) struct Page<'p> {
    pub(crate) url: &'p str,
    /// Lines of the head of the answer after the first; each ends.
    pub(crate) head: &'p str,
    pub(crate) body: &'p str,
    pub(crate) depth: u8,
}

/// A collection that is ready to be searched.
pub(crate) struct Sample {
    pub(crate) folder: TempDir,
    pub(crate) searcher: Searcher,
}

pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        positions: true,
        memory_bytes: 64 << 20,
        threads: 1,
        options: parse::html::Options::default(),
    }
}

impl Sample {
    /// Pages of HTML: path on `http://a.test` and body.
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
        let folder = tempfile::tempdir().unwrap();
        store_pages(folder.path(), pages);
        index(&Snapshot::open(folder.path(), None).unwrap(), settings, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        let searcher = open(folder.path());
        Sample { folder, searcher }
    }

    pub(crate) fn search(&self, query: &str, request: &Request) -> Answer {
        let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        self.searcher.search(&query, &LinkAnswers::default(), request).unwrap()
    }

    /// The paths of what was found, in order.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        let answer = self.search(query, &Request { count: 1_000, ..Request::default() });
        answer.hits.iter().map(|hit| path(&hit.url)).collect()
    }

    /// The same in the order of paths.
    pub(crate) fn sorted(&self, query: &str) -> Vec<String> {
        let mut found = self.found(query);
        found.sort_unstable();
        found
    }

    /// What was found if conditions on links mean these pages.
    pub(crate) fn found_by_links(&self, query: &str, pages: &[u32]) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let links = LinkAnswers::gather(&query, |_| Ok::<_, Infallible>(pages.to_vec())).unwrap();
        let answer = self.searcher.search(&query, &links, &Request::default()).unwrap();
        answer.hits.iter().map(|hit| path(&hit.url)).collect()
    }
}

pub(crate) fn open(folder: &Path) -> Searcher {
    Searcher::open(Snapshot::open(folder, None).unwrap(), Ranking::default()).unwrap()
}

/// What follows the host.
pub(crate) fn path(url: &str) -> String {
    let host = url.split_once("://").unwrap().1;
    host[host.find('/').unwrap()..].to_owned()
}

pub(crate) fn store_pages(folder: &Path, pages: &[Page<'_>]) {
    let mut collection = Collection::create(folder, StoreSettings::default()).unwrap();
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
            address: None,
            protocols: &[],
            head: head.as_bytes(),
            body: page.body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = collection.bodies.append(&capture, None).unwrap().location;
        let note = |_: usize, record: &mut PageRecord| {
            (record.stage, record.status, record.stored) = (Stage::Fetched, 200, Some(stored));
            (record.depth, record.visits) = (page.depth, 1);
            (record.content_bytes, record.last_content_s) = (page.body.len() as u32, 1_700_000_000);
            record.content_hash = u64::from(id.0) + 1;
        };
        collection.pages.update(&[*id], note).unwrap();
    }
    collection.commit(0).unwrap();
}
