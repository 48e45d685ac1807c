//! All that a crawl over several machines needs, for one test.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use simweb::{Endpoints, Settings, SimWeb};
use store::{PageRecord, Stage};

use crate::long;
use crate::nats_server::NatsServer;
use crate::process::{Collection, Crawl};
use crate::request_log::Requests;
use crate::s3_server::S3Server;

/// How long every site and address is left alone.
pub(crate) const WAIT_MS: u64 = 80;
/// How long a batch is lent without news.
pub(crate) const LEASE: &str = "3s";

/// A Web, a broker, a store and a collection.
pub(crate) struct Site {
    pub(crate) web: SimWeb,
    pub(crate) broker: NatsServer,
    pub(crate) store: Option<S3Server>,
    pub(crate) collection: Collection,
}

impl Site {
    /// With harvests in a folder, or in S3; nothing if the servers cannot be had here.
    pub(crate) fn new(in_s3: bool) -> Option<Site> {
        let (sites, pages) = if long() { (2_000, 20_000) } else { (30, 600) };
        let addresses = sites * 2 / 3;
        let settings = Settings { sites, pages, addresses, page_bytes: 4_000.0, ..Settings::plain() };
        let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
        let settings = format!(
            "[politeness]\nwait = '{WAIT_MS}ms'\nlarge_site_wait = '{WAIT_MS}ms'\n[commit]\ninterval = '1s'\n"
        );
        let collection = Collection::of_web(&web, &settings);
        let broker = NatsServer::start()?;
        let store = if in_s3 { Some(S3Server::start()?) } else { None };
        Some(Site { web, broker, store, collection })
    }

    /// The folder for harvests, where they are in one.
    pub(crate) fn depot(&self) -> PathBuf {
        let folder = self.broker.folder.path().join("depot");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The arguments that lead to broker and store.
    fn way(&self) -> Vec<String> {
        let folder = self.depot();
        let store = match &self.store {
            Some(_) => "s3://weir".to_owned(),
            None => format!("file://{}", folder.display()),
        };
        ["--broker", &self.broker.url(), "--store", &store, "--collection", "example"]
            .map(str::to_owned)
            .into()
    }

    fn start(&self, arguments: &[&str]) -> Crawl {
        let access = self.store.as_ref().map(S3Server::access).unwrap_or_default();
        let variables = [
            ("AWS_ENDPOINT_URL", access.endpoint),
            ("AWS_REGION", access.region),
            ("AWS_ACCESS_KEY_ID", access.key_id),
            ("AWS_SECRET_ACCESS_KEY", access.secret_key),
        ];
        let variables = variables.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let way = self.way();
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        self.collection.start_with(&[arguments, &way].concat(), variables)
    }

    /// Starts the crawl.
    pub(crate) fn crawl(&self) -> Crawl {
        self.start(&["crawl", &self.collection.dir(), "--json", "--progress", "--lease", LEASE])
    }

    /// Starts a worker, once the crawl has set everything up.
    pub(crate) fn worker(&self, name: &str) -> Crawl {
        self.start(&["worker", "--name", name, "--json"])
    }

    /// Waits until so many requests have come since.
    pub(crate) fn await_requests(&self, crawl: &mut Crawl, more: usize) {
        let before = self.web.log.entries().len();
        crawl.until(|| self.web.log.entries().len() >= before + more);
    }

    /// Every page of the Web is there and was counted once; nobody was asked too soon; nothing is lent any more.
    pub(crate) fn assert_right(&self) {
        self.collection.assert_sound();
        let requests = Requests::of(&self.web, Vec::new());
        requests.assert_gaps(|entry| entry.host.clone(), |_| WAIT_MS);
        requests.assert_gaps(|entry| entry.address, |_| WAIT_MS);
        requests.assert_nothing_forbidden();
        let world = &self.web.world;
        let sites = world.site_indexes().map(|site| world.site(site));
        let pages = sites.flat_map(|site| (0..site.pages).map(move |page| (site, page)));
        let truths = pages.map(|(site, page)| world.page_truth(&site, page));
        let truth: BTreeSet<String> = truths.filter(|page| page.crawlable).map(|page| page.url).collect();
        let found = self.collection.urls(|record: &PageRecord| record.stage == Stage::Fetched);
        let missing: Vec<_> = truth.difference(&found).take(5).collect();
        assert_eq!((found.len(), missing), (truth.len(), Vec::<&String>::new()));
        let again = self.collection.urls(|record| record.visits > 1);
        assert!(again.is_empty(), "counted more than once: {again:?}");
        let left: Vec<_> = fs::read_dir(self.collection.path().join("lent")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The crawl, or a worker, ends by itself and is content.
pub(crate) fn assert_ends_well(crawl: Crawl) {
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
