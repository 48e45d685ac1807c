//! Hostile servers, crawled together with a good one: the crawl must end soon, in little memory, with the right reason for
//! each server.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress, write::GzEncoder};
use serde_json::Value;
use simweb::{Endpoints, PageRef, Settings, SimWeb};

use crate::process::{Collection, memory_bytes, reach};
use crate::servers::{Peer, Server, name_server};

/// Memory limit, far less than what the servers send.
const MAX_MEMORY_BYTES: u64 = 400 << 20;
/// `limits.max_pages_per_site` of the settings below.
const MAX_PAGES: usize = 40;
const SETTINGS: &str = "\
[fetch]
max_body_size = '1500 kB'
max_header_size = '8 KiB'
connect_timeout = '2s'
first_byte_timeout = '1s'
total_timeout = '6s'
min_speed_grace = '1s'
[limits]
max_pages_per_site = 40
max_depth_static = 6
max_redirects = 3
[politeness]
delay = '1ms'
large_site_delay = '1ms'
back_off = '1ms'
max_back_off = '1ms'
max_attempts = 1
[sitemaps]
max_size = '100 kB'
max_urls_per_site = 30
[parse]
max_links = 500
[crawl]
max_idle = '100ms'
";

/// Page of a hostile server, and its expected stage and reason.
struct Case {
    server: Server,
    path: &'static str,
    stage: &'static str,
    reason: Option<&'static str>,
}

fn case(
    number: u8,
    name: &str,
    stage: &'static str,
    reason: Option<&'static str>,
    serve: impl Fn(&str, &mut Peer) + Send + Sync + 'static,
) -> Case {
    Case { server: Server::site(name, [127, 77, 9, number], serve), path: "/", stage, reason }
}

/// Servers that violate HTTP.
fn invalid_responses() -> Vec<Case> {
    let html = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n";
    let closed = Some("connection-closed");
    vec![
        case(1, "endless", "fetched", Some("body-truncated"), move |_, peer| {
            peer.send(format!("{html}\r\n<p>"));
            peer.send_forever([b'x'; 8192]);
        }),
        case(2, "drop-by-drop", "fetched", Some("too-slow"), move |_, peer| {
            peer.send(format!("{html}\r\n<p>"));
            while peer.send("x") {
                std::thread::sleep(Duration::from_secs(1));
            }
        }),
        case(3, "headers", "failed", Some("headers-too-large"), move |_, peer| {
            peer.send(html);
            peer.send_forever("X-More: and more\r\n");
        }),
        case(4, "too-long", "fetched", closed, move |_, peer| {
            peer.send(format!("{html}Content-Length: 5000\r\n\r\nshorter"));
        }),
        case(5, "too-short", "fetched", None, move |_, peer| {
            peer.send(format!("{html}Content-Length: 5\r\n\r\nlonger than it said"));
        }),
        case(6, "chunks", "fetched", Some("invalid-body"), move |_, peer| {
            peer.send(format!("{html}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno number\r\n"));
        }),
        case(7, "reset", "failed", closed, |_, peer| peer.interrupt("HTTP/1.1 200 OK\r\nContent-Type: te")),
        case(8, "oldest", "failed", Some("invalid-response"), |_, peer| {
            peer.send("<html>A page without a head</html>");
        }),
        case(9, "garbage", "failed", Some("invalid-response"), |_, peer| {
            peer.send("HTTP/1.1 2OO \0\u{1}\r\nContent-Length: x\r\n\r\n");
        }),
        case(10, "mute", "failed", Some("first-byte-timeout"), |_, peer| {
            peer.send("");
            std::thread::sleep(Duration::from_secs(3));
        }),
        // Both bombs have no end; the limit is reached before that of the second is missed.
        case(11, "bomb", "fetched", Some("invalid-content-encoding"), |_, peer| {
            peer.content("text/html", "Content-Encoding: gzip\r\n", gzip_bomb(10));
        }),
        case(12, "large-bomb", "fetched", Some("body-truncated"), |_, peer| {
            peer.content("text/html", "Content-Encoding: gzip\r\n", gzip_bomb(1024));
        }),
        case(13, "line-ends", "fetched", None, |path, peer| match path {
            "/" => peer.status("302 Found", "Location: /next\rHost: evil\r\nLocation: /other\nX: y\r\n"),
            _ => peer.page("here"),
        }),
    ]
}

/// Servers whose bodies are not what their Content-Encoding says.
fn invalid_encodings() -> Vec<Case> {
    let invalid = Some("invalid-content-encoding");
    let page = b"<title>secret</title><p>a page</p>".repeat(100);
    let encoded = |number, name, reason, encoding: &'static str, body: Vec<u8>| {
        case(number, name, "fetched", reason, move |_, peer| {
            peer.content("text/html", &format!("Content-Encoding: {encoding}\r\n"), &body);
        })
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&page).unwrap();
    let gzip = gzip.finish().unwrap();
    // Brotli with a window of 1 GiB, which RFC 7932 does not know: one metablock of 16 MiB, repeated.
    let large_window = [&[0x11, 0x1e, 0xfe, 0xff, 0xff, 0xff][..], &[0; 1000]].concat();
    vec![
        encoded(14, "cut-gzip", invalid, "gzip", gzip[..gzip.len() - 12].to_vec()),
        encoded(15, "garbage-brotli", invalid, "br", [0xb7, 0x01, 0xfe, 0x10].repeat(300)),
        encoded(16, "garbage-zstd", invalid, "gzip, zstd", gzip.clone()),
        encoded(17, "large-window", invalid, "br", large_window),
        encoded(18, "plain", None, "gzip", page),
    ]
}

/// Sites with an infinite number of pages.
fn endless_sites() -> Vec<Case> {
    vec![
        case(20, "calendar", "fetched", None, |path, peer| {
            let month: u32 = path.rsplit('/').next().and_then(|last| last.parse().ok()).unwrap_or(0);
            let (next, year) = (month % 12 + 1, 2026 + month / 12);
            peer.page(&format!(
                "<p>{path}<a href=/calendar/{year}/{next}>next</a><a href={path}/{next}>more</a>"
            ));
        }),
        case(21, "maze", "fetched", None, |path, peer| {
            let hash =
                |n: u32| path.bytes().fold(n, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
            let links: String = (0..30).map(|n| format!("<a href=/{:x}/{n}>on</a> ", hash(n))).collect();
            peer.page(&format!("{path} {links}"));
        }),
        case(22, "links", "fetched", Some("body-truncated"), |path, peer| {
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n");
            let some: String = (0..1000).map(|n| format!("<a href='{path}{n}.html'>{n}</a>")).collect();
            // 100 MB, unless the client closes the connection.
            let _ = (0..100_000_000 / some.len()).all(|_| peer.send(&some));
        }),
        case(23, "loop", "fetched", None, |path, peer| {
            peer.redirect(if path == "/" { "/again" } else { "/" });
        }),
        Case {
            path: "/r4",
            ..case(24, "chain", "rejected", Some("too-many-redirects"), |path, peer| {
                let number: u32 = path.trim_start_matches("/r").parse().unwrap_or(0);
                peer.redirect(&format!("/r{}", number + 1));
            })
        },
    ]
}

/// Servers with huge robots.txt files and sitemaps.
fn huge_robots() -> Vec<Case> {
    let robots = Server::start("robots", [127, 77, 9, 30], |path, peer| match path {
        "/robots.txt" => {
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\nUser-agent: *\n");
            peer.send("Disallow: /first\n");
            let some = "# and so on, for a gigabyte\n".repeat(1000);
            let _ = (0..(1 << 30) / some.len()).all(|_| peer.send(&some));
        }
        _ => peer.page("<a href=/first>forbidden</a><a href=/second>allowed</a>"),
    });
    let sitemaps = Server::start("sitemaps", [127, 77, 9, 31], |path, peer| {
        let list = |name: &str, number: u32| {
            (0..number).map(|n| format!("<sitemap><loc>/{name}{n}.xml</loc></sitemap>")).collect::<String>()
        };
        match path {
            "/robots.txt" => peer.content("text/plain", "", "Sitemap: /index.xml\nSitemap: /bomb.xml.gz\n"),
            "/bomb.xml.gz" => peer.content("application/gzip", "", sitemap_bomb()),
            "/" => peer.page("welcome"),
            page if page.starts_with("/page") => peer.page(page),
            index => {
                let name = index.trim_start_matches('/').trim_end_matches(".xml");
                let body = format!("<sitemapindex>{}{}</sitemapindex>", list("index", 50), list(name, 50));
                peer.content("application/xml", "", body);
            }
        }
    });
    vec![
        Case { server: robots, path: "/first", stage: "rejected", reason: Some("robots-disallowed") },
        Case { server: sitemaps, path: "/", stage: "fetched", reason: None },
    ]
}

#[test]
fn hostile_servers_are_contained_and_get_the_right_reasons() {
    let cases: Vec<Case> = [invalid_responses(), invalid_encodings(), endless_sites(), huge_robots()]
        .into_iter()
        .flatten()
        .collect();
    let good = Server::site("good", [127, 77, 9, 100], |path, peer| {
        let number: u32 = path.trim_start_matches("/p").parse().unwrap_or(0);
        peer.page(&format!("{number}<a href=/p{}>a</a><a href=/p{}>b</a>", 2 * number + 1, 2 * number + 2));
    });
    let names: Vec<(String, Ipv4Addr)> = cases
        .iter()
        .map(|case| &case.server)
        .chain([&good])
        .map(|server| (server.name.clone(), ip(server)))
        .collect();
    let names = name_server(move |name, _| names.iter().find(|(known, _)| known == name).map(|(_, ip)| *ip));
    let settings = format!(
        "dns.servers = ['{names}']\nnetwork.allowed_networks = ['127.0.0.0/8']\nscope.accept = ['.test']\n"
    );
    let seeds: Vec<String> =
        cases.iter().map(|case| &case.server).chain([&good]).map(|server| server.url("/")).collect();
    let collection = Collection::new(&seeds, &(settings + SETTINGS));
    crawl_within_limits(&collection);

    for Case { server, path, stage, reason } in &cases {
        let report = collection.why(&server.url(path));
        let found = (report["stage"].as_str(), report["reason"].as_str());
        assert_eq!(found, (Some(*stage), *reason), "{}: {report:#}", server.url(path));
        let pages =
            server.paths().iter().filter(|path| !path.contains("robots") && !path.contains(".xml")).count();
        assert!(pages <= MAX_PAGES, "{} got {pages} page requests", server.name);
    }
    assert_eq!(good.paths().len(), MAX_PAGES + 2, "robots.txt, robots.rdf and the maximum number of pages");
    assert_contained(&collection, &cases);
    collection.assert_sound();
}

fn ip(server: &Server) -> Ipv4Addr {
    match server.address.ip() {
        std::net::IpAddr::V4(ip) => ip,
        std::net::IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}

fn crawl_within_limits(collection: &Collection) {
    let start = Instant::now();
    let mut crawl = collection.start(&[]);
    let (process, peak) = (crawl.id(), std::cell::Cell::new(0));
    crawl.until_or_end(|| {
        peak.set(peak.get().max(memory_bytes(process).unwrap_or(0)));
        start.elapsed() > Duration::from_secs(60)
    });
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!((1..MAX_MEMORY_BYTES).contains(&peak.get()), "{} bytes", peak.get());
}

/// Checks the limits of single servers.
fn assert_contained(collection: &Collection, cases: &[Case]) {
    let server =
        |name: &str| &cases.iter().find(|case| case.server.name == format!("{name}.test")).unwrap().server;
    let sitemaps = server("sitemaps").paths().iter().filter(|path| path.ends_with(".xml")).count();
    assert!((2..=100).contains(&sitemaps), "{sitemaps} sitemaps");
    assert!(server("robots").paths().contains(&"/second".to_owned()));
    assert!(
        server("line-ends").paths().iter().all(|path| !path.contains("evil") || path.starts_with("/next"))
    );
    let beyond = collection.why(&server("links").url("/499.html"));
    assert_eq!(beyond["reason"], "site-page-limit", "{beyond:#}");
    let report = collection.why(&server("endless").url("/"));
    assert_eq!(report["fetches"][0]["body_bytes"], 1_500_000, "{report:#}");
}

#[test]
fn blocked_ip_addresses_are_never_contacted() {
    let secret = Server::site("secret", [127, 66, 0, 1], |_, peer| peer.page("secret"));
    let (secret_url, port) = (format!("http://{}/", secret.address), secret.address.port());
    let to = secret_url.clone();
    let outer = Server::site("outer", [127, 77, 8, 1], move |path, peer| match path {
        "/" => peer.page("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a><a href=/d>d</a>"),
        "/a" => peer.redirect("http://10.0.0.1/"),
        "/b" => peer.redirect("http://169.254.169.254/latest/meta-data/"),
        "/c" => peer.redirect(&to),
        _ => peer.redirect("http://[::ffff:10.0.0.2]/"),
    });
    // The first lookup of this name returns an allowed address, later lookups a blocked one (DNS rebinding).
    let open = Server::site("changing", [127, 77, 8, 2], |_, peer| peer.page("<a href=/later>later</a>"));
    let open_port = open.address.port();
    let hidden = std::net::TcpListener::bind((Ipv4Addr::new(127, 66, 0, 2), open_port)).unwrap();
    hidden.set_nonblocking(true).unwrap();
    let names = name_server(|name, times| match (name, times) {
        ("outer.test", _) => Some(Ipv4Addr::new(127, 77, 8, 1)),
        ("inner.test", _) => Some(Ipv4Addr::new(127, 66, 0, 1)),
        ("changing.test", 0) => Some(Ipv4Addr::new(127, 77, 8, 2)),
        ("changing.test", _) => Some(Ipv4Addr::new(127, 66, 0, 2)),
        _ => None,
    });
    let settings = format!(
        "dns.servers = ['{names}']\ndns.min_ttl = '0s'\nscope.accept = ['*']\n\
         network.allowed_networks = ['127.0.0.0/8']\nnetwork.blocked_networks = ['127.66.0.0/16']\n"
    );
    let inner = format!("http://inner.test:{port}/");
    let collection = Collection::new(&[&outer.url("/"), &inner, &open.url("/")], &(settings + SETTINGS));
    collection.crawl(&[]);

    let blocked = [
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:10.0.0.2]/",
        &secret_url,
        &inner,
        &open.url("/later"),
    ];
    for url in blocked {
        let report: Value = collection.why(url);
        assert_eq!(report["reason"], "ip-blocked", "{url}: {report:#}");
    }
    assert_eq!(secret.paths(), [""; 0]);
    assert_eq!(hidden.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(collection.why(&open.url("/"))["stage"], "fetched");
}

#[test]
fn only_invalid_certificates_are_rejected() {
    let settings = Settings { sites: 12, pages: 30, https: 1.0, bad_certificates: 0.6, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let collection = Collection::of_web(&web, "");
    std::fs::write(collection.path().join("roots.pem"), &web.authority_pem).unwrap();
    let settings = reach(&web)
        + "fetch.ca_file = 'roots.pem'\n[politeness]\ndelay = '1ms'\n[crawl]\nmax_idle = '100ms'\n";
    collection.set(&settings);
    collection.crawl(&[]);
    let mut counts = [0, 0];
    for site in web.world.site_indexes() {
        let truth = web.world.site_ground_truth(site);
        let report = collection.why(&web.world.url(PageRef { site, page: 0 }));
        let found = (report["stage"].as_str(), report["reason"].as_str());
        let is_invalid =
            truth.certificate.is_some_and(|certificate| certificate != simweb::Certificate::Good);
        counts[usize::from(is_invalid)] += 1;
        assert_eq!(
            found,
            if is_invalid {
                (Some("discovered"), Some("invalid-certificate"))
            } else {
                (Some("fetched"), None)
            },
            "{report:#}"
        );
    }
    assert!(counts[0] > 1 && counts[1] > 1, "{counts:?}");
}

/// Gzip bomb: this number of megabytes, compressed to 0.1 %.
fn gzip_bomb(megabytes: usize) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::best(), false);
    let mut one = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![b' '; 1 << 20], &mut one, FlushCompress::Full).unwrap();
    // A full flush after each megabyte, so that the same bytes can be repeated.
    let mut second = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![b' '; 1 << 20], &mut second, FlushCompress::Full).unwrap();
    assert!(second.len() < 4_000);
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut bomb = [&head[..], &one].concat();
    (1..megabytes).for_each(|_| bomb.extend(&second));
    bomb
}

/// Compressed sitemap with 300,000 URLs.
fn sitemap_bomb() -> Arc<[u8]> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(b"<urlset>").unwrap();
    let some: String = (0..1000).map(|n| format!("<url><loc>/page{n}.html</loc></url>")).collect();
    (0..300).for_each(|_| zip.write_all(some.as_bytes()).unwrap());
    zip.finish().unwrap().into()
}
