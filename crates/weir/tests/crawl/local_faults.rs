//! Faults of this machine: open files, name server, proxy and network. No site is marked as failed because of them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::Value;
use simweb::{Endpoints, PageRef, Settings, SimWeb};
use store::{PageStage, Snapshot};

use crate::process::{Collection, Ended, reach};
use crate::servers::{Server, hosts, name_server, serve_names};

const QUICK: &str = "\
[politeness]
delay = '1ms'
large_site_delay = '1ms'
[crawl]
max_idle = '0s'
[sitemaps]
robots_rdf = false
[dns]
timeout = '1s'
[fetch]
connect_timeout = '1s'
first_byte_timeout = '1s'
total_timeout = '4s'
";

/// Settings with the tables of [`QUICK`] extended.
fn quick(extensions: &[(&str, &str)]) -> String {
    extensions.iter().fold(QUICK.to_owned(), |settings, (table, lines)| {
        settings.replace(&format!("[{table}]\n"), &format!("[{table}]\n{lines}\n"))
    })
}

/// Settings line with static addresses of servers, for the table `dns`.
fn static_hosts(servers: &[&Server]) -> String {
    hosts(servers).lines().find_map(|line| line.strip_prefix("dns.")).unwrap().to_owned()
}

/// Site with a front page and three other pages.
fn site(name: &str, ip: [u8; 4]) -> Server {
    Server::site(name, ip, |path, peer| match path {
        "/" => peer.page("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>"),
        _ => peer.page(path),
    })
}

/// Checks that every known page was fetched and that no site has a failure.
fn assert_all_fetched(collection: &Collection, pages: usize) {
    let all = collection.urls(|_| true);
    let fetched = collection.urls(|record| record.stage == PageStage::Fetched);
    assert_eq!(fetched.len(), pages, "{:?}", all.difference(&fetched));
    assert_eq!(all, fetched);
    let snapshot = Snapshot::open(&collection.path(), None).unwrap();
    for site in (0..snapshot.site_state.sites()).map(model::SiteId) {
        let record = snapshot.site_state.get(site).unwrap().unwrap();
        assert_eq!(
            (record.consecutive_errors, record.robots_status),
            (0, 404),
            "{:?}",
            snapshot.urls.site_name(site)
        );
    }
}

fn assert_retried(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let summary = ended.summary();
    assert!(summary["retried_requests"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(summary["local_fault"], Value::Null, "{summary}");
    assert_eq!(ended.stderr.matches("cannot fetch: ").count(), 1, "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("fetching again").count(), 1, "{}", ended.stderr);
    summary
}

#[test]
fn a_low_limit_of_open_files_reduces_the_connections_and_marks_no_site() {
    let settings = Settings { sites: 150, pages: 450, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let seeds: Vec<String> =
        web.world.site_indexes().map(|site| web.world.url(PageRef { site, page: 0 })).collect();
    // The name server is set by `reach`.
    let settings = quick(&[("crawl", "max_connections = 200")]).replace("[dns]\ntimeout = '1s'\n", "");
    let collection = Collection::new(&seeds, &(reach(&web) + &settings));
    let ended = collection.start_with_open_files(128, &[]).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("instead of 200 (crawl.max_connections): this process can open 128 files"));
    let fetched = collection.urls(|record| record.stage == PageStage::Fetched);
    assert!(seeds.iter().all(|seed| fetched.contains(seed)), "{fetched:?}");
    let failed = collection.urls(|record| record.stage == PageStage::Failed);
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn requests_without_a_free_descriptor_are_retried() {
    let server = Server::site("files", [127, 78, 1, 1], |path, peer| peer.page(path));
    let settings = quick(&[("dns", &static_hosts(&[&server]))]).replace("delay = '1ms'", "delay = '200ms'");
    // A commit needs descriptors, too.
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\ncommit.interval = '1h'\n{settings}");
    let seeds: Vec<String> = (1..=6).map(|page| server.url(&format!("/{page}"))).collect();
    let collection = Collection::new(&seeds, &settings);
    let mut crawl = collection.start(&[]);
    // robots.txt and two pages.
    crawl.until(|| server.log().len() >= 3);
    let pid = Pid::from_raw(crawl.id().try_into().unwrap());
    // Fewer than are open: every further connection fails, and only that.
    let maximum = getrlimit(Resource::Nofile).maximum;
    let old = prlimit(pid, Resource::Nofile, Rlimit { current: Some(3), maximum }).unwrap();
    crawl.wait_for("cannot fetch: too many open files");
    prlimit(pid, Resource::Nofile, old).unwrap();
    assert_retried(&crawl.wait());
    // The front page is fetched, too.
    assert_all_fetched(&collection, 7);
}

#[test]
fn lookups_wait_for_a_name_server_that_does_not_respond() {
    let server = site("names", [127, 78, 2, 1]);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let dns = socket.local_addr().unwrap();
    let settings = quick(&[("dns", &format!("servers = ['{dns}']"))]);
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&[]);
    crawl.wait_for("cannot fetch: name server does not respond");
    serve_names(socket, |name, _| (name == "names.test").then_some(Ipv4Addr::new(127, 78, 2, 1)));
    assert_retried(&crawl.wait());
    assert_all_fetched(&collection, 4);
}

#[test]
fn a_worker_waits_for_its_name_server_too() {
    let server = site("worker", [127, 78, 3, 1]);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let dns = socket.local_addr().unwrap();
    let settings = quick(&[("dns", &format!("servers = ['{dns}']"))]);
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&[server.url("/")], &settings);
    let mut crawl = collection.start(&["--workers", "local:1"]);
    // The worker writes to the same stderr.
    crawl.wait_for("cannot fetch: name server does not respond");
    serve_names(socket, |name, _| (name == "worker.test").then_some(Ipv4Addr::new(127, 78, 3, 1)));
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_all_fetched(&collection, 4);
}

#[test]
fn requests_wait_for_a_proxy_that_is_down() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let settings = quick(&[
        ("fetch", &format!("proxy = '{address}'")),
        ("dns", "hosts = { 'far.test' = '127.78.4.1' }"),
    ]);
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&["http://far.test/"], &settings);
    let mut crawl = collection.start(&[]);
    crawl.wait_for("cannot fetch: proxy does not respond; check fetch.proxy");
    let _proxy = Server::start_at("proxy", address, |url, peer| match url {
        "http://far.test/" => peer.page("<a href=/1>1</a>"),
        "http://far.test/1" => peer.page("one"),
        _ => peer.status("404 Not Found", ""),
    });
    assert_retried(&crawl.wait());
    assert_all_fetched(&collection, 2);
}

#[test]
fn a_crawl_that_could_fetch_nothing_because_of_a_local_fault_fails() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let settings = quick(&[
        ("fetch", &format!("proxy = '127.0.0.1:{port}'")),
        ("dns", "hosts = { 'far.test' = '127.78.4.2' }"),
    ]);
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&["http://far.test/"], &settings);
    let ended = collection.start(&["--max-time", "1s"]).wait();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let summary = ended.summary();
    assert_eq!(summary["local_fault"], "proxy_unavailable", "{summary}");
    assert_eq!((&summary["pages_discovered"], &summary["pages_failed"]), (&1.into(), &0.into()), "{summary}");
}

/// Server that can become unreachable: its queue of connections is full, so that the kernel drops further ones.
struct Blackhole {
    address: SocketAddr,
    is_dark: Arc<AtomicBool>,
    responses: Arc<AtomicUsize>,
    queued: Vec<TcpStream>,
}

/// Length of the queue of a listener of the standard library, and some more.
const MAX_QUEUED: usize = 200;

impl Blackhole {
    fn start(ip: [u8; 4]) -> Blackhole {
        let listener = TcpListener::bind((Ipv4Addr::from(ip), 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (is_dark, responses) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (dark, count) = (Arc::clone(&is_dark), Arc::clone(&responses));
        thread::spawn(move || {
            loop {
                match listener.accept() {
                    Ok((stream, _)) if !dark.load(SeqCst) => respond(stream, &count),
                    _ => thread::sleep(Duration::from_millis(1)),
                }
                while dark.load(SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        Blackhole { address, is_dark, responses, queued: Vec::new() }
    }

    /// Stops accepting connections and fills the queue.
    fn darken(&mut self) {
        self.is_dark.store(true, SeqCst);
        let timeout = Duration::from_millis(50);
        while let Ok(stream) = TcpStream::connect_timeout(&self.address, timeout) {
            self.queued.push(stream);
            assert!(self.queued.len() < 10 * MAX_QUEUED);
        }
    }

    fn brighten(&mut self) {
        self.queued.clear();
        self.is_dark.store(false, SeqCst);
    }
}

/// Serves one request of a site with four pages.
fn respond(mut stream: TcpStream, responses: &AtomicUsize) {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match path {
        "/robots.txt" | "/sitemap.xml" => ("404 Not Found", String::new()),
        "/" => ("200 OK", "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>".to_owned()),
        path => ("200 OK", path.to_owned()),
    };
    responses.fetch_add(1, SeqCst);
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{body}"
    );
}

#[test]
fn requests_wait_while_no_server_responds_that_responded_before() {
    let mut servers: Vec<Blackhole> = (1..=3).map(|last| Blackhole::start([127, 78, 5, last])).collect();
    let seeds: Vec<String> = servers.iter().map(|server| format!("http://{}/", server.address)).collect();
    let settings = quick(&[]).replace("delay = '1ms'", "delay = '500ms'");
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&seeds, &settings);
    let mut crawl = collection.start(&[]);
    crawl.until(|| servers.iter().all(|server| server.responses.load(SeqCst) >= 2));
    // All at once: a server that responds later would show that the network works.
    servers.iter().for_each(|server| server.is_dark.store(true, SeqCst));
    servers.iter_mut().for_each(Blackhole::darken);
    crawl.wait_for("cannot fetch: no server responds; check the network connection");
    servers.iter_mut().for_each(Blackhole::brighten);
    assert_retried(&crawl.wait());
    assert_all_fetched(&collection, 12);
}

#[test]
fn a_crawl_of_dead_sites_ends_and_marks_them() {
    // All addresses of this network reach the same listener.
    let mut hole = Blackhole::start([0, 0, 0, 0]);
    hole.address.set_ip(Ipv4Addr::LOCALHOST.into());
    hole.darken();
    let port = hole.address.port();
    let dns = name_server(|name, _| {
        let number: u8 = name.strip_prefix("dead")?.strip_suffix(".test")?.parse().ok()?;
        Some(Ipv4Addr::new(127, 78, 6, number))
    });
    let seeds: Vec<String> = (1..=20).map(|number| format!("http://dead{number}.test:{port}/")).collect();
    let settings = quick(&[("dns", &format!("servers = ['{dns}']"))]);
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{settings}");
    let collection = Collection::new(&seeds, &settings);
    let ended = collection.start(&[]).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let summary = ended.summary();
    assert_eq!(summary["pages_by_reason"]["robots-unreachable"], 20, "{summary}");
    assert!(!ended.stderr.contains("cannot fetch"), "{}", ended.stderr);
}
