//! Can anybody harm a crawl, or keep it from others? Servers that do their worst are crawled together with one that means
//! well; the crawl must end soon, in little memory, and tell what each of them did.

use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress, write::GzEncoder};
use serde_json::Value;
use simweb::{Endpoints, PageRef, Settings, SimWeb};

use crate::process::{Collection, memory_bytes, reach};
use crate::servers::{Peer, Server, name_server};

/// Far less than what the servers send or have expanded.
const MOST_MEMORY_BYTES: u64 = 400 << 20;
const MOST_PAGES: usize = 40;
const SETTINGS: &str = "\
[fetch]
body = '1500 kB'
head = '8 KiB'
connect_timeout = '2s'
first_byte_timeout = '1s'
total_timeout = '6s'
speed_grace = '1s'
[limits]
pages_per_site = 40
depth_static = 6
redirects = 3
[politeness]
wait = '1ms'
large_site_wait = '1ms'
back_off = '1ms'
most_back_off = '1ms'
tries = 1
[sitemaps]
longest = '100 kB'
urls = 30
[parse]
links = 500
[crawl]
longest_pause = '100ms'
";

/// A page of a hostile server, and what should be told about it.
struct Case {
    server: Server,
    path: &'static str,
    state: &'static str,
    reason: Option<&'static str>,
}

fn case(
    number: u8,
    name: &str,
    state: &'static str,
    reason: Option<&'static str>,
    serve: impl Fn(&str, &mut Peer) + Send + Sync + 'static,
) -> Case {
    Case { server: Server::site(name, [127, 77, 9, number], serve), path: "/", state, reason }
}

/// Those that break the rules of transfer.
fn bad_answers() -> Vec<Case> {
    let html = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n";
    let lost = Some("connection-lost");
    vec![
        case(1, "endless", "fetched", None, move |_, peer| {
            peer.say(format!("{html}\r\n<p>"));
            peer.say_for_ever([b'x'; 8192]);
        }),
        case(2, "drop-by-drop", "fetched", Some("too-slow"), move |_, peer| {
            peer.say(format!("{html}\r\n<p>"));
            while peer.say("x") {
                std::thread::sleep(Duration::from_secs(1));
            }
        }),
        case(3, "headers", "failed", Some("head-too-long"), move |_, peer| {
            peer.say(html);
            peer.say_for_ever("X-More: and more\r\n");
        }),
        case(4, "too-long", "fetched", lost, move |_, peer| {
            peer.say(format!("{html}Content-Length: 5000\r\n\r\nshorter"));
        }),
        case(5, "too-short", "fetched", None, move |_, peer| {
            peer.say(format!("{html}Content-Length: 5\r\n\r\nlonger than it said"));
        }),
        case(6, "chunks", "fetched", Some("bad-body"), move |_, peer| {
            peer.say(format!("{html}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno number\r\n"));
        }),
        case(7, "reset", "failed", lost, |_, peer| peer.interrupt("HTTP/1.1 200 OK\r\nContent-Type: te")),
        case(8, "oldest", "failed", Some("bad-answer"), |_, peer| {
            peer.say("<html>A page without a head</html>");
        }),
        case(9, "garbage", "failed", Some("bad-answer"), |_, peer| {
            peer.say("HTTP/1.1 2OO \0\u{1}\r\nContent-Length: x\r\n\r\n");
        }),
        case(10, "mute", "failed", Some("first-byte-timed-out"), |_, peer| {
            peer.say("");
            std::thread::sleep(Duration::from_secs(3));
        }),
        case(11, "bomb", "fetched", None, |_, peer| {
            peer.content("text/html", "Content-Encoding: gzip\r\n", gzip_bomb(10));
        }),
        case(12, "large-bomb", "fetched", None, |_, peer| {
            peer.content("text/html", "Content-Encoding: gzip\r\n", gzip_bomb(1024));
        }),
        case(13, "line-ends", "fetched", None, |path, peer| match path {
            "/" => peer.status("302 Found", "Location: /next\rHost: evil\r\nLocation: /other\nX: y\r\n"),
            _ => peer.page("here"),
        }),
    ]
}

/// Those that never come to an end.
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
            let luck =
                |n: u32| path.bytes().fold(n, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
            let links: String = (0..30).map(|n| format!("<a href=/{:x}/{n}>on</a> ", luck(n))).collect();
            peer.page(&format!("{path} {links}"));
        }),
        case(22, "links", "fetched", None, |path, peer| {
            peer.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n");
            let some: String = (0..1000).map(|n| format!("<a href='{path}{n}.html'>{n}</a>")).collect();
            // 100 MB, if somebody wants them.
            let _ = (0..100_000_000 / some.len()).all(|_| peer.say(&some));
        }),
        case(23, "loop", "fetched", None, |path, peer| {
            peer.redirect(if path == "/" { "/again" } else { "/" })
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

/// Those whose robots.txt and sitemaps have no end.
fn bad_robots() -> Vec<Case> {
    let robots = Server::start("robots", [127, 77, 9, 30], |path, peer| match path {
        "/robots.txt" => {
            peer.say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1073741824\r\n\r\nUser-agent: *\n");
            peer.say("Disallow: /first\n");
            let some = "# and so on, for a gigabyte\n".repeat(1000);
            let _ = (0..(1 << 30) / some.len()).all(|_| peer.say(&some));
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
        Case { server: robots, path: "/first", state: "rejected", reason: Some("robots-forbid") },
        Case { server: sitemaps, path: "/", state: "fetched", reason: None },
    ]
}

#[test]
fn a_crawl_goes_on_among_hostile_servers_and_tells_what_they_did() {
    let cases: Vec<Case> = [bad_answers(), endless_sites(), bad_robots()].into_iter().flatten().collect();
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
    let settings =
        format!("dns.servers = ['{names}']\nnetwork.allowed = ['127.0.0.0/8']\nscope.accept = ['.test']\n");
    let seeds: Vec<String> =
        cases.iter().map(|case| &case.server).chain([&good]).map(|server| server.url("/")).collect();
    let collection = Collection::new(&seeds, &(settings + SETTINGS));
    crawl_within_bounds(&collection);

    for Case { server, path, state, reason } in &cases {
        let story = collection.why(&server.url(path));
        let told = (story["state"].as_str(), story["reason"].as_str());
        assert_eq!(told, (Some(*state), *reason), "{}: {story:#}", server.url(path));
        let pages =
            server.paths().iter().filter(|path| !path.contains("robots") && !path.contains(".xml")).count();
        assert!(pages <= MOST_PAGES, "{} was asked for {pages} pages", server.name);
    }
    assert_eq!(good.paths().len(), MOST_PAGES + 2, "robots.txt, robots.rdf and all pages that may be known");
    assert_contained(&collection, &cases);
    collection.assert_sound();
}

fn ip(server: &Server) -> Ipv4Addr {
    match server.address.ip() {
        std::net::IpAddr::V4(ip) => ip,
        std::net::IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}

fn crawl_within_bounds(collection: &Collection) {
    let began = Instant::now();
    let mut crawl = collection.start(&[]);
    let (process, most) = (crawl.id(), std::cell::Cell::new(0));
    crawl.until_or_end(|| {
        most.set(most.get().max(memory_bytes(process).unwrap_or(0)));
        began.elapsed() > Duration::from_secs(60)
    });
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert!((1..MOST_MEMORY_BYTES).contains(&most.get()), "{} bytes", most.get());
}

/// What single servers must not have achieved.
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
    assert_eq!(beyond["reason"], "site-full", "{beyond:#}");
    let story = collection.why(&server("endless").url("/"));
    assert_eq!(story["history"][0]["bytes"], 1_500_000, "{story:#}");
}

#[test]
fn blocked_addresses_are_never_asked_however_one_gets_there() {
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
    // Of this name the first address may be asked; by the time of its second page there is another.
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
        "dns.servers = ['{names}']\ndns.least_ttl = '0s'\n\
         network.allowed = ['127.0.0.0/8']\nnetwork.blocked = ['127.66.0.0/16']\n"
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
        let story: Value = collection.why(url);
        assert_eq!(story["reason"], "blocked-address", "{url}: {story:#}");
    }
    assert_eq!(secret.paths(), [""; 0]);
    assert_eq!(hidden.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(collection.why(&open.url("/"))["state"], "fetched");
}

#[test]
fn bad_certificates_are_told_and_others_are_trusted() {
    let settings = Settings { sites: 12, pages: 30, https: 1.0, bad_certificates: 0.6, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let collection = Collection::of_web(&web, "");
    std::fs::write(collection.path().join("roots.pem"), &web.authority_pem).unwrap();
    let settings = reach(&web)
        + "fetch.roots = 'roots.pem'\n[politeness]\nwait = '1ms'\n[crawl]\nlongest_pause = '100ms'\n";
    collection.set(&settings);
    collection.crawl(&[]);
    let mut seen = [0, 0];
    for site in web.world.site_indexes() {
        let truth = web.world.site_truth(site);
        let story = collection.why(&web.world.url(PageRef { site, page: 0 }));
        let told = (story["state"].as_str(), story["reason"].as_str());
        let bad = truth.certificate.is_some_and(|certificate| certificate != simweb::Certificate::Good);
        seen[usize::from(bad)] += 1;
        assert_eq!(
            told,
            if bad { (Some("new"), Some("certificate")) } else { (Some("fetched"), None) },
            "{story:#}"
        );
    }
    assert!(seen[0] > 1 && seen[1] > 1, "{seen:?}");
}

/// So many megabytes of blanks in a thousandth of that.
fn gzip_bomb(megabytes: usize) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::best(), false);
    let mut one = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![b' '; 1 << 20], &mut one, FlushCompress::Full).unwrap();
    // Each megabyte stands on its own, so that the same bytes can be repeated.
    let mut second = Vec::with_capacity(64 << 10);
    deflate.compress_vec(&vec![b' '; 1 << 20], &mut second, FlushCompress::Full).unwrap();
    assert!(second.len() < 4_000);
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut bomb = [&head[..], &one].concat();
    (1..megabytes).for_each(|_| bomb.extend(&second));
    bomb
}

/// A sitemap of endlessly many pages.
fn sitemap_bomb() -> Arc<[u8]> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(b"<urlset>").unwrap();
    let some: String = (0..1000).map(|n| format!("<url><loc>/page{n}.html</loc></url>")).collect();
    (0..300).for_each(|_| zip.write_all(some.as_bytes()).unwrap());
    zip.finish().unwrap().into()
}
