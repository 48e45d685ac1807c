//! Tests of the server: each fault and feature over a real socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{Reply, connect, exchange, get, lookup, read_reply};
use simweb::{Endpoints, Page, PageKind, PageRef, RobotsKind, Settings, SimWeb, Site, SitemapKind};

fn plain() -> Settings {
    Settings { sites: 12, pages: 600, seed: 3, clock: 0.0, ..Settings::plain() }
}

fn start(settings: Settings) -> SimWeb {
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Requests a path of a site on its IP address.
fn request(running: &SimWeb, site: u32, path: &str, headers: &str) -> Reply {
    let address = SocketAddr::from((running.world.ip_address(site), running.http.port()));
    get(address, &authority(running, site), path, headers).unwrap()
}

fn authority(running: &SimWeb, site: u32) -> String {
    format!("{}:{}", running.world.name(site), running.http.port())
}

fn path(running: &SimWeb, site: u32, page: u32) -> String {
    let url = running.world.url(PageRef { site, page });
    url[url.match_indices('/').nth(2).unwrap().0..].to_owned()
}

/// Finds the first page that satisfies a condition.
fn find(running: &SimWeb, fits: impl Fn(&Site, &Page) -> bool) -> (u32, u32) {
    let sites = running.world.site_indexes().map(|index| running.world.site(index));
    let mut pages = sites.flat_map(|site| (0..site.linked).map(move |page| (site, page)));
    let fitting = pages.find(|(site, page)| fits(site, &running.world.page(site, *page)));
    fitting.map(|(site, page)| (site.index, page)).expect("such a page")
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_gives_others() {
    let ports = simweb::Ports { http: 80, https: 443 };
    let bytes = |seed| {
        let world = simweb::World::new(Settings { seed, sites: 20, ..Settings::default() }, ports).unwrap();
        let sites = world.site_indexes().map(|index| world.site(index));
        let answers = sites.flat_map(|site| {
            let urls = (0..site.pages.min(30)).map(|page| world.url(PageRef { site: site.index, page }));
            let urls: Vec<String> = urls.collect();
            urls.into_iter().map(|url| (url, site)).collect::<Vec<_>>()
        });
        answers
            .map(|(url, site)| {
                let path = &url[url.match_indices('/').nth(2).unwrap().0..];
                (world.respond(&site, &simweb::SimRequest::new(path, 1_000_000)), url)
            })
            .collect::<Vec<_>>()
    };
    assert!(bytes(7) == bytes(7));
    assert!(bytes(7) != bytes(8));
}

#[test]
fn served_bytes_are_equal_to_those_of_the_library() {
    let running = start(plain());
    let reply = request(&running, 3, "/", "");
    let world = &running.world;
    let answer = world.respond(&world.site(3), &simweb::SimRequest::new("/", running.clock.seconds()));
    assert_eq!(reply.body, answer.body);
    assert_eq!(reply.header("content-type"), Some(&*answer.content_type));
}

#[test]
fn a_site_is_served_on_its_own_ip_address_only() {
    let running = start(plain());
    let elsewhere = SocketAddr::from((running.world.ip_address(5), running.http.port()));
    assert_eq!(get(elsewhere, &authority(&running, 4), "/", "").unwrap().status, 421);
    assert_eq!(get(elsewhere, &authority(&running, 5), "/", "").unwrap().status, 200);
    assert_eq!(get(elsewhere, "unknown.example", "/", "").unwrap().status, 421);
}

#[test]
fn sites_can_be_browsed_by_ip_address_and_localhost() {
    let running = start(plain());
    let portal = get(running.http, &running.http.to_string(), "/", "").unwrap();
    assert!(portal.text().contains("This is a synthetic Web"));
    let host = format!("{}.localhost:{}", running.world.name(1), running.http.port());
    assert!(portal.text().contains(&format!("http://{host}/")), "links lead on without a name server");
    assert_eq!(get(running.http, &host, "/", "").unwrap().status, 200);
    let own = SocketAddr::from((running.world.ip_address(2), running.http.port()));
    assert_eq!(get(own, &own.to_string(), &path(&running, 2, 1), "").unwrap().status, 200);
}

#[test]
fn all_sites_can_share_one_ip_address() {
    let endpoints = Endpoints { single_ip: true, ..Endpoints::default() };
    let running = SimWeb::start(plain(), &endpoints).unwrap();
    assert_eq!(lookup(running.dns.unwrap(), &running.world.name(7)), (0, Some("127.0.0.1".parse().unwrap())));
    assert_eq!(get(running.http, &authority(&running, 7), "/", "").unwrap().status, 200);
    let other = SocketAddr::from(([127, 1, 0, 8], running.http.port()));
    assert!(TcpStream::connect(other).is_err(), "no listener on other addresses");
}

#[test]
fn unchanged_pages_are_304_until_they_change() {
    let running = start(Settings { validators: 1.0, changing_pages: 1.0, changes_per_day: 1.0, ..plain() });
    let first = request(&running, 1, "/", "");
    let (etag, modified) = (first.header("etag").unwrap(), first.header("last-modified").unwrap());
    for condition in [format!("If-None-Match: {etag}\r\n"), format!("If-Modified-Since: {modified}\r\n")] {
        let again = request(&running, 1, "/", &condition);
        assert_eq!((again.status, again.body.len()), (304, 0), "{condition}");
        assert_eq!(again.header("etag"), Some(etag));
    }
    let older = "If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
    assert_eq!(request(&running, 1, "/", older).status, 200);
    running.clock.advance(Duration::from_secs(100 * 86_400));
    let changed = request(&running, 1, "/", &format!("If-None-Match: {etag}\r\n"));
    assert_eq!(changed.status, 200);
    assert_ne!(changed.body, first.body);
    assert!(changed.header("last-modified") != Some(modified));
}

#[test]
fn requests_that_are_too_fast_get_429_with_retry_after() {
    let running =
        start(Settings { rate_limited: 1.0, rate_limit_ms: 3_600_000, retry_after_s: 7, ..plain() });
    assert_eq!(request(&running, 1, "/", "").status, 200);
    let hasty = request(&running, 1, "/", "");
    assert_eq!((hasty.status, hasty.header("retry-after")), (429, Some("7")));
    assert_eq!(request(&running, 2, "/", "").status, 200, "other sites are not concerned");
    assert_eq!(request(&running, 0, "/", "").status, 200);
    assert_eq!(request(&running, 0, "/", "").status, 200, "the portal has patience");
}

#[test]
fn a_rate_limited_client_is_accepted_again_after_the_delay() {
    let running = start(Settings { rate_limited: 1.0, rate_limit_ms: 500, retry_after_s: 1, ..plain() });
    let until = |expected: u16| {
        let asked = Instant::now();
        while request(&running, 1, "/", "").status != expected {
            assert!(asked.elapsed() < Duration::from_secs(30), "never {expected}");
        }
        asked.elapsed()
    };
    until(429);
    until(200);
    let waited = running.log.entries();
    let banned = waited.iter().find(|entry| entry.status == 429).unwrap();
    let freed = waited.iter().find(|entry| entry.status == 200 && entry.start_us > banned.start_us).unwrap();
    assert!(freed.start_us - banned.start_us > 900_000, "the wait was real");
}

#[test]
fn the_https_address_is_reported() {
    let https = "127.0.0.2:0".parse().unwrap();
    for single_ip in [true, false] {
        let web = SimWeb::start(plain(), &Endpoints { https, single_ip, ..Endpoints::default() }).unwrap();
        assert_eq!(web.https.ip(), https.ip());
        assert!(TcpStream::connect(web.https).is_ok());
        assert_eq!(web.world.single_ip.is_some(), single_ip || web.fallback.is_some());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_of_the_request_log_is_reported_at_the_end() {
    let endpoints = Endpoints { log: Some("/dev/full".into()), ..Endpoints::default() };
    let web = SimWeb::start(plain(), &endpoints).unwrap();
    assert_eq!(request(&web, 1, "/", "").status, 200);
    assert_eq!(web.stop().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert!(start(plain()).stop().is_ok());
}

#[test]
fn each_kind_of_robots_txt_is_served() {
    let cases: [(&str, RobotsKind, u16, &str); 10] = [
        ("robots_missing", RobotsKind::Missing, 404, ""),
        ("robots_disallow_some", RobotsKind::DisallowSome, 200, "Disallow: /private/\n"),
        ("robots_disallow_all", RobotsKind::DisallowAll, 200, "Disallow: /\n"),
        ("robots_crawl_delay", RobotsKind::CrawlDelay, 200, "Crawl-delay: 2\n"),
        ("robots_server_error", RobotsKind::ServerError, 503, ""),
        ("robots_forbidden", RobotsKind::Forbidden, 403, ""),
        ("robots_redirected", RobotsKind::Redirected, 301, ""),
        ("robots_slow", RobotsKind::Slow, 200, "Disallow: /private/\n"),
        ("robots_huge", RobotsKind::Huge, 200, "Disallow: /private/\n"),
        ("robots_malformed", RobotsKind::Malformed, 200, "disallow : /private/"),
    ];
    for (name, kind, status, line) in cases {
        let mut settings = Settings { slow_ms: 30, ..plain() };
        settings.set(name, 1.0).unwrap();
        let running = start(settings);
        assert_eq!(running.world.site(1).robots, kind);
        let began = Instant::now();
        let reply = request(&running, 1, "/robots.txt", "");
        assert_eq!(reply.status, status, "{name}");
        assert!(reply.text().contains(line), "{name}");
        if let Some(location) = reply.header("location") {
            assert!(request(&running, 1, location, "").text().contains("Disallow: /private/\n"));
        }
        assert_eq!(reply.body.len() > 500 * 1024, kind == RobotsKind::Huge);
        assert!(kind != RobotsKind::Slow || began.elapsed() >= Duration::from_millis(30));
    }
}

#[test]
fn sitemaps_list_the_pages_with_their_dates() {
    let running = start(Settings {
        sitemaps: 1.0,
        changing_pages: 1.0,
        robots_rdf: 1.0,
        sites: 40,
        pages: 2_000,
        ..plain()
    });
    let mut seen = Vec::new();
    for index in running.world.site_indexes() {
        let site = running.world.site(index);
        let robots = request(&running, index, "/robots.txt", "").text();
        let url = robots.split_once("Sitemap: ").expect("a sitemap").1.trim().to_owned();
        let reply = request(&running, index, &url[url.match_indices('/').nth(2).unwrap().0..], "");
        assert_eq!(reply.status, 200, "{url}");
        let text = match site.sitemap.unwrap() {
            SitemapKind::Gzip => {
                let mut text = String::new();
                flate2::read::GzDecoder::new(&reply.body[..]).read_to_string(&mut text).unwrap();
                text
            }
            SitemapKind::Index => {
                assert!(reply.text().contains("/sitemap-0.xml</loc>"));
                request(&running, index, "/sitemap-0.xml", "").text()
            }
            SitemapKind::Xml | SitemapKind::Text => reply.text(),
        };
        for page in (0..site.linked).map(|page| running.world.page_ground_truth(&site, page)) {
            assert_eq!(page.in_sitemap, text.contains(&page.url.replace('&', "&amp;")), "{}", page.url);
        }
        let rdf = request(&running, index, "/robots.rdf", "").text();
        assert!(rdf.contains(&format!(
            "rdf:about=\"{}\"><dc:date>20",
            running.world.url(PageRef { site: index, page: 0 })
        )));
        seen.push(site.sitemap.unwrap());
    }
    seen.dedup();
    assert!(seen.len() > 4, "all forms are met");
}

#[test]
fn compression_is_used_only_when_accepted() {
    let running = start(Settings { compressed: 1.0, ..plain() });
    let bare = request(&running, 1, "/", "");
    assert_eq!(bare.header("content-encoding"), None);
    assert_eq!(request(&running, 1, "/", "Accept-Encoding: gzip;q=0, br\r\n").body, bare.body);
    let packed = request(&running, 1, "/", "Accept-Encoding: br, gzip\r\n");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut body).unwrap();
    assert_eq!(body, bare.body);
}

#[test]
fn chunked_sites_omit_the_content_length() {
    let running = start(Settings { chunked: 1.0, ..plain() });
    let reply = request(&running, 1, "/", "");
    assert_eq!((reply.header("content-length"), reply.header("transfer-encoding")), (None, Some("chunked")));
    assert!(reply.complete && reply.text().ends_with("</html>\n"));
}

#[test]
fn truncated_and_reset_bodies_are_incomplete() {
    let running = start(Settings { truncated: 0.3, reset: 0.3, ..plain() });
    for kind in [PageKind::Truncated, PageKind::Reset] {
        let (site, page) = find(&running, |_, page| page.kind == kind);
        let reply = request(&running, site, &path(&running, site, page), "");
        assert_eq!(reply.status, 200);
        assert!(!reply.complete && !reply.body.is_empty(), "{kind:?}");
        assert_eq!(reply.header("content-length").is_some(), kind == PageKind::Truncated);
    }
}

#[test]
fn each_kind_of_faulty_site_fails_as_configured() {
    let running = start(Settings { down: 1.0, ..plain() });
    assert_eq!(request(&running, 1, "/robots.txt", "").status, 503);

    let running = start(Settings { unresponsive: 1.0, unresponsive_s: 1, ..plain() });
    let address = SocketAddr::from((running.world.ip_address(1), running.http.port()));
    let began = Instant::now();
    assert!(get(address, &authority(&running, 1), "/", "").is_err(), "closed without a response");
    assert!(began.elapsed() >= Duration::from_secs(1));

    let running = start(Settings { flaky: 1.0, flaky_failures: 0.5, ..plain() });
    let failures = (0..100).filter(|_| request(&running, 1, "/", "").status >= 500).count();
    assert!((30..70).contains(&failures), "{failures} of 100");
    assert!((0..50).all(|_| request(&running, 1, "/robots.txt", "").status == 200));

    let running = start(Settings { nxdomain: 0.5, servfail: 0.5, ..plain() });
    let codes: Vec<u8> =
        (1..12).map(|site| lookup(running.dns.unwrap(), &running.world.name(site)).0).collect();
    assert!(codes.contains(&2) && codes.contains(&3) && !codes.contains(&0), "{codes:?}");
}

#[test]
fn slow_bodies_take_two_seconds() {
    let running = start(Settings { slow_body: 1.0, ..plain() });
    let began = Instant::now();
    assert!(request(&running, 1, "/", "").complete);
    assert!(began.elapsed() > Duration::from_millis(1_500));
}

#[test]
fn session_ids_are_new_in_each_session_and_kept_within_one() {
    let running = start(Settings { session_ids: 1.0, ..plain() });
    for site in 1..12 {
        let (first, second) =
            (request(&running, site, "/", "").text(), request(&running, site, "/", "").text());
        assert_ne!(first, second);
        let href =
            first.split("<li><a href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
        let (_, id) = href.rsplit_once('=').unwrap();
        let follow = request(&running, site, &href, "");
        assert_eq!(follow.status, 200, "{href}");
        assert!(follow.text().contains(id), "the id stays in the links");
    }
}

#[test]
fn traps_are_endless() {
    let running = start(Settings { traps: 1.0, ..plain() });
    for site in 1..12 {
        let entrance = running
            .world
            .links_ground_truth(&running.world.site(site), 0)
            .find(|link| link.target_page.is_none());
        let url = url::Url::parse(&entrance.unwrap().target).unwrap();
        let mut place = url.path().to_owned();
        for _ in 0..30 {
            let reply = request(&running, site, &place, "");
            assert_eq!(reply.status, 200, "{place}");
            let text = reply.text();
            let next = text.rsplit("<a href=\"").next().unwrap().split('"').next().unwrap();
            let next = url.join(&place).unwrap().join(next).unwrap().path().to_owned();
            assert_ne!(next, place);
            place = next;
        }
    }
}

#[test]
fn the_log_contains_every_request_with_its_times() {
    let file = std::env::temp_dir().join(format!("simweb-log-{}.jsonl", std::process::id()));
    let endpoints = Endpoints { log: Some(file.clone()), ..Endpoints::default() };
    let running = SimWeb::start(Settings { slow: 1.0, slow_ms: 50, ..plain() }, &endpoints).unwrap();
    let address = SocketAddr::from((running.world.ip_address(1), running.http.port()));
    let mut stream = connect(address).unwrap();
    let first = exchange(&mut stream, &authority(&running, 1), "/", "").unwrap();
    exchange(&mut stream, &authority(&running, 1), "/nowhere?x=1", "").unwrap();
    get(address, "unknown.example", "/", "").unwrap();

    let deadline = Instant::now() + Duration::from_secs(5);
    while running.log.entries().len() < 3 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    let log = running.log.entries();
    let seen: Vec<_> =
        log.iter().map(|entry| (entry.site, entry.status, &*entry.path, &*entry.agent)).collect();
    assert_eq!(
        seen,
        [
            (Some(1), 200, "/", "naive/1"),
            (Some(1), 404, "/nowhere?x=1", "naive/1"),
            (None, 421, "/", "naive/1")
        ]
    );
    assert_eq!(log[0].bytes, first.body.len() as u64);
    assert!(log[0].end_us - log[0].start_us >= 50_000, "the wait is part of the request");
    assert!(log[1].start_us >= log[0].end_us);
    assert!(log[0].connection == log[1].connection && log[1].connection != log[2].connection);
    assert!(
        log.iter()
            .all(|entry| entry.ip_address == running.world.ip_address(1) && entry.protocol == "HTTP/1.1")
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as u64;
    assert!(now - log[0].unix_us < 60_000_000);
    assert_eq!(running.log.dropped(), 0);
    drop(running);
    let lines = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.contains("\"path\":\"/nowhere?x=1\""));
}

#[test]
fn a_full_log_drops_the_oldest_entries_and_counts_them() {
    let running = start(Settings { max_log_entries: 4, ..plain() });
    (0..20).for_each(|_| drop(request(&running, 1, "/robots.txt", "")));
    let deadline = Instant::now() + Duration::from_secs(5);
    while running.log.dropped() + (running.log.entries().len() as u64) < 20 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(running.log.entries().len() <= 4);
    assert_eq!(running.log.dropped() + running.log.entries().len() as u64, 20);
}

#[test]
fn hostile_clients_do_not_stop_the_server() {
    let running = start(Settings { max_connections: 40, ..plain() });
    let talk = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(running.http).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        // The server may close the connection before everything is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert!(talk(b"\0\xff\xfe garbage \r\n\r\n").starts_with("HTTP/1.1 400"));
    let huge = format!("GET / HTTP/1.1\r\nHost: portal.test\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(!talk(huge.as_bytes()).starts_with("HTTP/1.1 200"));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(5_000));
    assert!(!talk(many.as_bytes()).starts_with("HTTP/1.1 200"));
    assert!(talk(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert!(
        talk(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 405")
    );
    let long =
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "a/".repeat(10_000));
    assert!(talk(long.as_bytes()).starts_with("HTTP/1.1 404"));
    assert!(
        talk(b"GET /x-99999999999999999999.html HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 404")
    );
    talk(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    // More idle connections than the maximum: the others are closed immediately, and the server continues.
    let silent: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(running.http).unwrap()).collect();
    drop(silent);
    let deadline = Instant::now() + Duration::from_secs(5);
    let answered = || {
        let mut stream = connect(running.http).ok()?;
        stream.get_mut().write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
        read_reply(&mut stream).ok().map(|reply| reply.status)
    };
    while answered() != Some(200) {
        assert!(Instant::now() < deadline, "the server is gone");
    }
}
