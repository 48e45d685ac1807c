//! Server whose pages a test changes between crawls, and crawls of it at shifted times.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crawl::CrawlLimits;
use fetch::NetworkFilter;
use harvest::{CrawlClock, CrawlSettings};
use model::{CanonicalUrl, PageId, UrlBatch, UrlRules};
use store::{Collection, PageFlags, PageRecord, PageStoreSettings, SiteRecord};
use tempfile::TempDir;

use crate::web::run;

/// Start of all tests, in Unix seconds.
const START_S: u64 = 1_700_000_000;
const DAY_S: u64 = 86_400;

/// MIME type and body by host and path.
type Pages = BTreeMap<(String, String), (String, String)>;

/// Sites at one IP address, with a request log and a collection of them.
pub(crate) struct ScriptedWeb {
    port: u16,
    pages: Arc<Mutex<Pages>>,
    log: Arc<Mutex<Vec<String>>>,
    pub(crate) collection: Collection,
    _dir: TempDir,
}

impl ScriptedWeb {
    /// Starts sites without pages; the front pages of `seeds` are the seeds of the collection.
    pub(crate) fn start(seeds: &[&str]) -> ScriptedWeb {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (pages, log) = (Arc::<Mutex<Pages>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (served, logged) = (Arc::clone(&pages), Arc::clone(&log));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                respond(stream, &served, &logged);
            }
        });
        let dir = tempfile::tempdir().unwrap();
        let collection = create(dir.path(), seeds, port);
        ScriptedWeb { port, pages, log, collection, _dir: dir }
    }

    /// Sets a page of a host: HTML, or the type that its extension suggests.
    pub(crate) fn set(&self, host: &str, path: &str, body: &str) {
        let mime_type = match path.rsplit_once('.').map(|(_, extension)| extension) {
            Some("txt") => "text/plain",
            Some("xml") => "application/xml",
            Some("rss") => "application/rss+xml",
            _ => "text/html",
        };
        let body = body.replace("PORT", &self.port.to_string());
        let key = (host.to_owned(), path.to_owned());
        self.pages.lock().unwrap().insert(key, (mime_type.to_owned(), body));
    }

    /// URL of a page.
    pub(crate) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// Crawls everything that is due on a day after the start; returns the requests, as host and path.
    pub(crate) fn crawl(&mut self, day: u64, change: impl Fn(&mut CrawlSettings)) -> Vec<String> {
        let mut settings = CrawlSettings { max_idle_ms: 0, ..CrawlSettings::default() };
        let mut networks = NetworkFilter::public();
        networks.allow("127.0.0.0/8").unwrap();
        settings.fetch.network_filter = networks;
        let hosts = self.pages.lock().unwrap();
        settings.dns.hosts =
            hosts.keys().map(|(host, _)| (host.clone(), Ipv4Addr::LOCALHOST.into())).collect();
        drop(hosts);
        (settings.politeness.site_delay_ms, settings.politeness.large_site_delay_ms) = (0, 0);
        settings.sitemaps.robots_rdf = false;
        settings.clock = Some(CrawlClock::with_speed((START_S + day * DAY_S) * 1_000, 1.0));
        change(&mut settings);
        run(&mut self.collection, settings, CrawlLimits::default());
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    pub(crate) fn page(&self, host: &str, path: &str) -> Option<PageRecord> {
        let page: PageId = self.collection.urls.reader().find(&canonical(&self.url(host, path))).unwrap()?;
        self.collection.page_state.reader().get(page).unwrap()
    }

    pub(crate) fn site(&self, host: &str) -> SiteRecord {
        let name = format!("http://{host}:{}", self.port);
        let site = self.collection.urls.reader().find_site(&name).unwrap();
        self.collection.site_state.reader().get(site).unwrap().unwrap()
    }
}

fn create(dir: &Path, seeds: &[&str], port: u16) -> Collection {
    let mut collection = Collection::create(dir, PageStoreSettings::default().into()).unwrap();
    let mut urls = UrlBatch::new();
    seeds.iter().for_each(|host| urls.push(&canonical(&format!("http://{host}:{port}/"))));
    collection.resolve(&urls, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    collection.commit(0).unwrap();
    collection
}

fn canonical(url: &str) -> CanonicalUrl {
    UrlRules::default().canonical(url).unwrap()
}

fn respond(mut stream: TcpStream, pages: &Mutex<Pages>, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_owned();
    log.lock().unwrap().push(format!("{host}{path}"));
    let page = pages.lock().unwrap().get(&(host, path)).cloned();
    let (status, (mime_type, body)) = match page {
        Some(page) if page.1 == "ERROR" => ("500 Internal Server Error", page),
        Some(page) => ("200 OK", page),
        None => ("404 Not Found", ("text/html".to_owned(), String::new())),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {mime_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
}
