//! Synthetic Web, broker, object store and collection of a test.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use simweb::{Endpoints, Settings, SimWeb};
use store::{PageRecord, PageStage};
use testkit::{NatsServer, S3Server};

use crate::long;
use crate::process::{Collection, Crawl};
use crate::request_log::Requests;

/// Delay of every site and IP address.
pub(crate) const DELAY_MS: u64 = 80;
/// Lease of a batch.
pub(crate) const LEASE: &str = "3s";

/// Synthetic Web, broker, object store and collection.
pub(crate) struct Site {
    pub(crate) web: SimWeb,
    pub(crate) broker: NatsServer,
    pub(crate) store: Option<S3Server>,
    pub(crate) collection: Collection,
}

impl Site {
    /// Starts all servers, with harvests in S3 or in a directory; `None` if the servers are not installed.
    pub(crate) fn new(in_s3: bool) -> Option<Site> {
        let (sites, pages) = if long() { (2_000, 20_000) } else { (30, 600) };
        let max_ips = sites * 2 / 3;
        let settings = Settings { sites, pages, max_ips, page_bytes: 4_000.0, ..Settings::plain() };
        let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
        let settings = format!(
            "[politeness]\ndelay = '{DELAY_MS}ms'\nlarge_site_delay = '{DELAY_MS}ms'\n[commit]\ninterval = '1s'\n"
        );
        let collection = Collection::of_web(&web, &settings);
        let bin = testkit::venv(env!("CARGO_MANIFEST_DIR"))?;
        let broker = NatsServer::start(&bin);
        let store = in_s3.then(|| S3Server::start(&bin));
        Some(Site { web, broker, store, collection })
    }

    /// Directory of harvests, without S3.
    pub(crate) fn store_dir(&self) -> PathBuf {
        let dir = self.broker.dir.path().join("store");
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Options for broker and store.
    fn transport(&self) -> Vec<String> {
        let dir = self.store_dir();
        let store = match &self.store {
            Some(_) => "s3://weir".to_owned(),
            None => format!("file://{}", dir.display()),
        };
        ["--broker", &self.broker.url(), "--store", &store, "--collection", "example"]
            .map(str::to_owned)
            .into()
    }

    fn start(&self, arguments: &[&str]) -> Crawl {
        let endpoint = self.store.as_ref().map(S3Server::endpoint).unwrap_or_default();
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_REGION", testkit::S3_REGION),
            ("AWS_ACCESS_KEY_ID", testkit::S3_KEY_ID),
            ("AWS_SECRET_ACCESS_KEY", testkit::S3_SECRET_KEY),
        ];
        let variables = variables.into_iter().filter(|_| self.store.is_some());
        let transport = self.transport();
        let transport: Vec<&str> = transport.iter().map(String::as_str).collect();
        self.collection.start_with(&[arguments, &transport].concat(), variables)
    }

    /// Starts the crawl.
    pub(crate) fn crawl(&self) -> Crawl {
        self.start(&["crawl", &self.collection.dir(), "--json", "--progress", "--lease", LEASE])
    }

    /// Starts a worker, after the crawl has created its streams.
    pub(crate) fn worker(&self, name: &str) -> Crawl {
        self.start(&["worker", "--name", name, "--json"])
    }

    /// Waits for a number of further requests.
    pub(crate) fn await_requests(&self, crawl: &mut Crawl, more: usize) {
        let before = self.web.log.entries().len();
        crawl.until(|| self.web.log.entries().len() >= before + more);
    }

    /// Checks that every page was fetched and counted once, that delays were obeyed, and that no batch is leased.
    pub(crate) fn assert_complete(&self) {
        self.collection.assert_sound();
        let requests = Requests::of(&self.web, Vec::new());
        requests.assert_gaps(|entry| entry.host.clone(), |_| DELAY_MS);
        requests.assert_gaps(|entry| entry.ip_address, |_| DELAY_MS);
        requests.assert_nothing_disallowed();
        let world = &self.web.world;
        let sites = world.site_indexes().map(|site| world.site(site));
        let pages = sites.flat_map(|site| (0..site.pages).map(move |page| (site, page)));
        let truths = pages.map(|(site, page)| world.page_ground_truth(&site, page));
        let truth: BTreeSet<String> = truths.filter(|page| page.crawlable).map(|page| page.url).collect();
        let found = self.collection.urls(|record: &PageRecord| record.stage == PageStage::Fetched);
        let missing: Vec<_> = truth.difference(&found).take(5).collect();
        assert_eq!((found.len(), missing), (truth.len(), Vec::<&String>::new()));
        let again = self.collection.urls(|record| record.fetch_count > 1);
        assert!(again.is_empty(), "counted more than once: {again:?}");
        let left: Vec<_> = fs::read_dir(self.collection.path().join("leased")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Waits for the end of a crawl or worker, which must succeed.
pub(crate) fn assert_succeeds(crawl: Crawl) {
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
