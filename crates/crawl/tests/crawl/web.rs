//! Synthetic Web and settings to crawl it.

use std::collections::BTreeSet;
use std::path::Path;

use crawl::{CrawlLimits, CrawlSummary, crawl};
use fetch::NetworkFilter;
use harvest::{CrawlHandle, CrawlSettings};
use model::UrlBatch;
use model::{PageId, UrlRules};
use simweb::{Endpoints, Settings, SimWeb};
use store::{Collection, PageFlags, PageRecord, PageStage, PageStoreSettings};

pub(crate) fn start(settings: Settings) -> SimWeb {
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Settings that allow loopback addresses and have no delays.
pub(crate) fn settings(web: &SimWeb) -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    let mut networks = NetworkFilter::public();
    networks.allow("127.0.0.0/8").unwrap();
    settings.fetch.network_filter = networks;
    settings.fetch.extra_ca_pem = web.authority_pem.clone().into_bytes();
    settings.dns.name_servers = web.dns.into_iter().collect();
    settings.politeness.site_delay_ms = 0;
    settings.politeness.large_site_delay_ms = 0;
    settings.commits.interval_ms = 500;
    settings
}

/// Creates a collection with the portal as its only seed.
pub(crate) fn collection(dir: &Path, web: &SimWeb) -> Collection {
    let mut collection = Collection::create(dir, PageStoreSettings::default().into()).unwrap();
    let portal = web.world.url(simweb::PageRef { site: 0, page: 0 });
    let mut seeds = UrlBatch::new();
    seeds.push(&UrlRules::default().canonical(&portal).unwrap());
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    collection.commit(0).unwrap();
    collection
}

pub(crate) fn run(collection: &mut Collection, settings: CrawlSettings, limits: CrawlLimits) -> CrawlSummary {
    crawl(collection, &CrawlHandle::new(settings), limits).unwrap()
}

/// URLs of all pages whose record matches.
pub(crate) fn urls(collection: &Collection, matches: impl Fn(&PageRecord) -> bool) -> BTreeSet<String> {
    let pages = collection.page_state.reader();
    let all = (0..pages.pages()).map(PageId);
    let found = all.filter(|page| matches(&pages.get(*page).unwrap().unwrap()));
    found.map(|page| collection.urls.reader().url(page).unwrap().unwrap()).collect()
}

pub(crate) fn fetched(record: &PageRecord) -> bool {
    record.stage == PageStage::Fetched
}
