//! A synthetic Web to crawl, and the settings to crawl it with.

use std::collections::BTreeSet;
use std::path::Path;

use crawl::{CrawlEnd, CrawlSettings, CrawlSummary, Helm, crawl};
use fetch::Networks;
use model::{PageId, UrlRules};
use simweb::{Endpoints, Settings, SimWeb};
use store::{Collection, PageFlags, PageRecord, PageSettings, Stage, UrlBatch};

pub(crate) fn start(settings: Settings) -> SimWeb {
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Settings that reach the Web, and do not wait.
pub(crate) fn settings(web: &SimWeb) -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    let mut networks = Networks::public();
    networks.allow("127.0.0.0/8").unwrap();
    settings.fetch.networks = networks;
    settings.fetch.extra_roots_pem = web.authority_pem.clone().into_bytes();
    settings.dns.name_servers = web.dns.into_iter().collect();
    settings.waits.wait_ms = 0;
    settings.waits.large_site_wait_ms = 0;
    settings.commit_every_ms = 500;
    settings
}

/// A collection whose only seed is the portal.
pub(crate) fn collection(folder: &Path, web: &SimWeb) -> Collection {
    let mut collection = Collection::create(folder, PageSettings::default().into()).unwrap();
    let portal = web.world.url(simweb::PageRef { site: 0, page: 0 });
    let mut seeds = UrlBatch::new();
    seeds.push(&UrlRules::default().canonical(&portal).unwrap());
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    collection.commit(0).unwrap();
    collection
}

pub(crate) fn run(collection: &mut Collection, settings: CrawlSettings, end: CrawlEnd) -> CrawlSummary {
    crawl(collection, &Helm::new(settings), end).unwrap()
}

/// The URLs of all pages at some stage.
pub(crate) fn urls(collection: &Collection, wanted: impl Fn(&PageRecord) -> bool) -> BTreeSet<String> {
    let pages = collection.pages.reader();
    let all = (0..pages.pages()).map(PageId);
    let found = all.filter(|page| wanted(&pages.get(*page).unwrap().unwrap()));
    found.map(|page| collection.urls.known().url(page).unwrap().unwrap()).collect()
}

pub(crate) fn fetched(record: &PageRecord) -> bool {
    record.stage == Stage::Fetched
}
