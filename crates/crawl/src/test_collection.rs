//! Small collections, settings and fetched pages for unit tests.

use fetch::SiteHeaders;
use harvest::item::batch::Batch;
use harvest::item::fetched_page::FetchedPage;
use harvest::item::gathered_page::GatheredPage;
use harvest::{GatherSettings, Gatherer, SiteMatch, SiteOverride};
use model::{CanonicalUrl, PageId, SiteId, UrlBatch, UrlRules};
use store::{Collection, PageFlags, PageRecord, PageStoreSettings, SiteRecord};
use tempfile::TempDir;

/// Length of a day.
pub(crate) const DAY_MS: u64 = 86_400_000;
/// Start of an arbitrary day, long after 1970.
pub(crate) const MIDNIGHT_MS: u64 = 20_000 * DAY_MS;
/// Noon of that day.
pub(crate) const NOON_MS: u64 = MIDNIGHT_MS + DAY_MS / 2;
/// Noon in Unix seconds.
pub(crate) const NOON_S: u32 = (NOON_MS / 1_000) as u32;

/// Collection in a temporary directory.
pub(crate) struct TestCollection {
    pub(crate) collection: Collection,
    pub(crate) dir: TempDir,
}

impl TestCollection {
    /// Collection with discovered pages of depth 0, on sites that were never contacted.
    pub(crate) fn new(urls: &[&str]) -> TestCollection {
        let dir = tempfile::tempdir().unwrap();
        let collection = Collection::create(dir.path(), PageStoreSettings::default().into()).unwrap();
        let mut test = TestCollection { collection, dir };
        let mut batch = UrlBatch::new();
        urls.iter().for_each(|url| batch.push(&canonical(url)));
        let describe = |page: &store::NewPage| PageRecord::new(page.site, 0, PageFlags::default());
        let resolved = test.collection.resolve(&batch, 0, describe).unwrap();
        for new in resolved.new_pages {
            test.collection
                .site_state
                .update(&[new.site], |_, record| {
                    record.pages_known += 1;
                    record.pages_static += 1;
                })
                .unwrap();
        }
        test.collection.commit(0).unwrap();
        test
    }

    /// Collection with discovered pages of depth 0, on sites that were contacted before.
    pub(crate) fn contacted(urls: &[&str]) -> TestCollection {
        let mut test = TestCollection::new(urls);
        let sites: Vec<SiteId> = (0..test.collection.site_state.reader().sites()).map(SiteId).collect();
        test.collection.site_state.update(&sites, |_, record| record.resolved_s = 1).unwrap();
        test
    }

    /// Closes the collection without a commit and opens it again, as after a kill.
    pub(crate) fn kill(self) -> TestCollection {
        let TestCollection { collection, dir } = self;
        drop(collection);
        let collection = Collection::open(dir.path(), PageStoreSettings::default().into()).unwrap();
        TestCollection { collection, dir }
    }

    pub(crate) fn find_page(&self, url: &str) -> Option<PageId> {
        self.collection.urls.reader().find(&canonical(url)).unwrap()
    }

    pub(crate) fn page_id(&self, url: &str) -> PageId {
        self.find_page(url).unwrap()
    }

    pub(crate) fn page(&self, url: &str) -> PageRecord {
        self.collection.page_state.reader().get(self.page_id(url)).unwrap().unwrap()
    }

    pub(crate) fn update_page(&mut self, url: &str, change: impl Fn(&mut PageRecord)) {
        let page = self.page_id(url);
        self.collection.page_state.update(&[page], |_, record| change(record)).unwrap();
    }

    pub(crate) fn site_id(&self, name: &str) -> SiteId {
        self.collection.urls.reader().find_site(name).unwrap()
    }

    pub(crate) fn site(&self, name: &str) -> SiteRecord {
        self.collection.site_state.reader().get(self.site_id(name)).unwrap().unwrap()
    }

    pub(crate) fn update_site(&mut self, name: &str, change: impl Fn(&mut SiteRecord)) {
        let site = self.site_id(name);
        self.collection.site_state.update(&[site], |_, record| change(record)).unwrap();
    }
}

pub(crate) fn canonical(url: &str) -> CanonicalUrl {
    UrlRules::default().canonical(url).unwrap()
}

/// URLs of a batch, sorted.
pub(crate) fn batch_urls(batch: &Batch) -> Vec<&str> {
    let mut urls: Vec<&str> =
        batch.sites.iter().flat_map(|site| &site.pages).map(|page| page.url.as_str()).collect();
    urls.sort_unstable();
    urls
}

/// Settings of one host that change nothing.
pub(crate) fn override_for(host: &str) -> SiteOverride {
    SiteOverride {
        sites: SiteMatch::Host(host.to_owned()),
        delay_ms: None,
        max_pages: None,
        max_depth: None,
        headers: SiteHeaders::default(),
        robots_agent: None,
        ignores_robots: false,
        skip: false,
    }
}

/// Page that was fetched at noon, with an HTML body.
pub(crate) fn fetched_page(url: &str, body: &str) -> GatheredPage {
    response(url, 200, "", body)
}

/// Response that was received at noon; `fields` are further header fields, each with its line end.
pub(crate) fn response(url: &str, status: u16, fields: &str, body: &str) -> GatheredPage {
    response_in_scope(&GatherSettings::default(), url, status, fields, body)
}

/// The same response, gathered with these settings.
pub(crate) fn response_in_scope(
    settings: &GatherSettings,
    url: &str,
    status: u16,
    fields: &str,
    body: &str,
) -> GatheredPage {
    let fetched = FetchedPage {
        url: canonical(url),
        fetched_ms: NOON_MS as i64,
        address: None,
        protocols: Vec::new(),
        status,
        head: format!("HTTP/1.1 {status} x\r\nContent-Type: text/html\r\n{fields}\r\n").into_bytes(),
        body: body.as_bytes().to_vec(),
        truncated: None,
        request: Vec::new(),
        failure: None,
        latency_ms: None,
        duration_ms: None,
    };
    Gatherer::new(settings).gather(&fetched)
}
