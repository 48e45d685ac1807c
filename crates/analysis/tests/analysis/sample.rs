//! Collections with known links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use analysis::{GraphSettings, LinkGraph, Threads};
use model::UrlBatch;
use model::{PageId, UrlRules};
use store::{Collection, FetchRow, Link, LinkRow, PageFlags, PageRecord, PageStage, StoreSettings};
use tempfile::TempDir;
use warc::Capture;

/// Deterministic pseudorandom numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end.max(1))) as u32
    }
}

/// A collection under construction, and the expected links of each page.
pub(crate) struct Sample {
    pub(crate) dir: TempDir,
    collection: Collection,
    pub(crate) links: BTreeMap<u32, Vec<Link>>,
    pub(crate) pages: u32,
}

pub(crate) const MEMORY: GraphSettings = GraphSettings { memory_bytes: 1 << 28, threads: Threads(2) };

impl Sample {
    pub(crate) fn new() -> Sample {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(dir.path(), StoreSettings::default()).unwrap();
        Sample { dir, collection, links: BTreeMap::new(), pages: 0 }
    }

    /// Creates a collection with random pages and links.
    pub(crate) fn random(pages: u32, sites: u32, links: u32, seed: u64) -> Sample {
        let mut sample = Sample::new();
        let mut random = Random(seed);
        sample.add_pages(pages, sites, &mut random);
        sample.add_links(links, &mut random);
        sample.commit();
        sample
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Adds pages; some have the same host and path as another, with another scheme.
    pub(crate) fn add_pages(&mut self, count: u32, sites: u32, random: &mut Random) {
        let urls: BTreeSet<String> = (0..count)
            .map(|number| {
                let scheme = if random.below(4) == 0 { "https" } else { "http" };
                let page = (self.pages + number) / 2;
                format!("{scheme}://s{}.d{}.test/{}/p{page}", page % sites, page % 3, page % 7)
            })
            .collect();
        let mut urls: Vec<String> = urls.into_iter().collect();
        // Shuffled, so that ids do not follow the order of URLs.
        for index in (1..urls.len()).rev() {
            urls.swap(index, random.below(index as u32 + 1) as usize);
        }
        self.add_urls(urls.iter().map(String::as_str));
    }

    pub(crate) fn add_urls<'u>(&mut self, urls: impl IntoIterator<Item = &'u str>) {
        let rules = UrlRules::default();
        let mut batch = UrlBatch::new();
        urls.into_iter().for_each(|url| batch.push(&rules.canonical(url).unwrap()));
        let describe = |new: &store::NewPage| PageRecord::new(new.site, 0, PageFlags(0));
        self.collection.resolve(&batch, 0, describe).unwrap();
        self.pages = self.collection.urls.reader().pages();
    }

    /// Parses pages with about `count` links to popular pages, to other pages, to themselves, and repeated.
    pub(crate) fn add_links(&mut self, count: u32, random: &mut Random) {
        let pages = self.pages;
        let mut left = count;
        while left > 0 {
            let source = random.below(pages);
            let link_count = random.below(20).min(left).max(1);
            left -= link_count;
            let mut links = Vec::new();
            for _ in 0..link_count {
                let range = if random.below(3) == 0 { pages / 20 + 1 } else { pages };
                let target = if random.below(30) == 0 { source } else { random.below(range) };
                let link = Link {
                    target: PageId(target),
                    kind: 0,
                    context: random.below(8) as u16,
                    anchor_chars: random.below(60) as u16,
                    position: random.below(65_536) as u16,
                };
                links.push(link);
            }
            self.parse(source, links);
        }
    }

    /// Sets the links of a page.
    pub(crate) fn parse(&mut self, source: u32, links: Vec<Link>) {
        self.collection.links.append(PageId(source), links.iter().copied()).unwrap();
        self.links.insert(source, links);
    }

    /// Stores a fetched page with its rows; `links` are target pages and times.
    pub(crate) fn store_page(&mut self, page: u32, body: &str, links: &[(u32, i64)]) {
        let url = self.collection.urls.reader().url(PageId(page)).unwrap().unwrap();
        let fetch_time = links.first().map_or(1, |(_, time)| *time);
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        let capture = Capture {
            url: &url,
            fetched_at_ms: fetch_time,
            ip_address: None,
            protocols: &[],
            head,
            body: body.as_bytes(),
            truncated: None,
            request: None,
            metadata: &[],
        };
        let stored = self.collection.page_store.append(&capture, None).unwrap().location;
        let update = |_: usize, record: &mut PageRecord| {
            (record.stage, record.status, record.record_location) = (PageStage::Fetched, 200, Some(stored));
            record.fetch_count += 1;
        };
        self.collection.page_state.update(&[PageId(page)], update).unwrap();
        self.collection.tables.fetches.rows.push(&fetch_row(page, &url, fetch_time));
        for (target, fetch_time) in links {
            self.collection.tables.links.rows.push(&link_row(page, *target, *fetch_time));
        }
        self.parse(page, links.iter().map(|(target, _)| link(*target)).collect());
    }

    pub(crate) fn commit(&mut self) {
        self.collection.commit(0).unwrap();
    }

    /// Expected arcs, by page ids.
    pub(crate) fn arcs(&self) -> BTreeSet<(u32, u32)> {
        let of_page = |(source, links): (&u32, &Vec<Link>)| {
            let others = links.iter().filter(|link| link.target.0 != *source);
            others.map(|link| (*source, link.target.0)).collect::<Vec<_>>()
        };
        self.links.iter().flat_map(of_page).collect()
    }
}

fn fetch_row(page_id: u32, url: &str, fetch_time: i64) -> FetchRow<'_> {
    FetchRow {
        url,
        url_protocol: "http",
        url_path: "/",
        fetch_time,
        fetch_status: 200,
        content_mime_type: Some("text/html"),
        content_mime_detected: Some("text/html"),
        page_id,
        outcome: "ok",
        http_version: Some("1.1"),
        server: Some("simweb/1.0 (synthetic)"),
        content_length: 100,
        latency_ms: Some(7),
        duration_ms: Some(9),
        ..FetchRow::default()
    }
}

fn link_row(source: u32, target: u32, fetch_time: i64) -> LinkRow<'static> {
    LinkRow {
        source_page_id: source,
        target_page_id: Some(target),
        fetch_time,
        element: "a",
        is_internal: true,
        ..LinkRow::default()
    }
}

/// A plain link.
pub(crate) fn link(target: u32) -> Link {
    Link { target: PageId(target), kind: 0, context: 0, anchor_chars: 5, position: 0 }
}

/// Arcs of a graph by page ids, with their weights; asserts that forward and transposed arcs agree.
pub(crate) fn arcs_of(graph: &LinkGraph) -> BTreeMap<(u32, u32), u8> {
    let pages = graph.pages().unwrap();
    let nodes = graph.nodes().unwrap();
    assert!(pages.iter().zip(0..).all(|(page, node)| nodes[*page as usize] == node));
    let mut arcs = BTreeMap::new();
    let weights = graph.forward_weights().unwrap();
    let mut next = weights.iter();
    let add = |node: u32, targets: &[u32]| {
        for target in targets {
            arcs.insert((pages[node as usize], pages[*target as usize]), *next.next().unwrap());
        }
        Ok(())
    };
    graph.forward().unwrap().for_each(add).unwrap();
    let mut transposed = BTreeMap::new();
    let weights = graph.backward_weights().unwrap();
    let mut next = weights.iter();
    let add = |node: u32, sources: &[u32]| {
        for source in sources {
            transposed.insert((pages[*source as usize], pages[node as usize]), *next.next().unwrap());
        }
        Ok(())
    };
    graph.backward().unwrap().for_each(add).unwrap();
    assert_eq!(arcs, transposed);
    arcs
}
