//! Politeness of a crawl of many sites on fewer IP addresses, stopped and killed repeatedly, checked by the request log of
//! the servers.

use std::collections::HashMap;

use simweb::{Endpoints, LogEntry, RobotsKind, Settings, SimWeb};

use crate::long;
use crate::process::{Collection, Crawl, reach};
use crate::request_log::Requests;
use crate::servers::{LoggedRequest, Server, hosts};

const DELAY_MS: u64 = 300;
const LARGE_SITE_DELAY_MS: u64 = 200;
const LARGE_SITE_PAGES: u32 = 20;
const RETRY_AFTER_S: u64 = 2;
const CRAWL_DELAY_S: u64 = 1;

/// Size of the Web, and number of interruptions.
struct Size {
    sites: u64,
    max_ips: u64,
    pages: u64,
    interruptions: usize,
    /// Requests between two of them.
    requests: usize,
}

fn size() -> Size {
    if long() {
        Size { sites: 500, max_ips: 300, pages: 10_000, interruptions: 12, requests: 900 }
    } else {
        Size { sites: 60, max_ips: 36, pages: 600, interruptions: 6, requests: 70 }
    }
}

#[test]
fn delays_hold_with_a_separate_delay_of_ip_addresses() {
    check(Some(250));
}

#[test]
fn delays_hold_with_the_same_delay_of_sites_and_ip_addresses() {
    check(None);
}

/// Crawls with interruptions of both kinds, and checks the request log.
fn check(ip_delay_ms: Option<u64>) {
    let web = web(&size());
    let site_delays = site_delays(&web);
    let collection = Collection::of_web(&web, "");
    collection.set(&settings(&web, ip_delay_ms, &site_delays));
    let kills_us = crawl_with_interruptions(&collection, &web);
    collection.assert_sound();

    let requests = Requests::of(&web, kills_us);
    let delay_ms = |entry: &LogEntry| delay_ms(&web, &site_delays, entry);
    requests.assert_gaps(|entry| (entry.host.clone(), entry.tls), delay_ms);
    requests.assert_gaps(|entry| entry.ip_address, |entry| ip_delay_ms.unwrap_or_else(|| delay_ms(entry)));
    requests.assert_robots_first_and_once();
    requests.assert_nothing_disallowed();
    assert_retry_after(&requests);
    assert_cases_occur(&requests);
}

/// Web with all kinds of robots.txt, aliases and rate limits. Without responses that the client aborts, since the server
/// would log their end later than the client.
fn web(size: &Size) -> SimWeb {
    let settings = Settings {
        sites: size.sites,
        max_ips: size.max_ips,
        pages: size.pages,
        page_bytes: 4_000.0,
        aliases: 0.06,
        robots_crawl_delay: 0.12,
        robots_server_error: 0.05,
        robots_disallow_all: 0.05,
        crawl_delay_s: CRAWL_DELAY_S,
        rate_limited: 0.08,
        rate_limit_ms: 1_200,
        retry_after_s: RETRY_AFTER_S,
        slow_ms: 100,
        slow_body: 0.0,
        unresponsive: 0.0,
        traps: 0.0,
        ..Settings::default()
    };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// Delays of `[[site]]` entries, by host.
fn site_delays(web: &SimWeb) -> HashMap<String, u64> {
    let sites = web.world.site_indexes();
    let delays = sites.filter_map(|site| match site % 7 {
        3 => Some((web.world.name(site), 700)),
        5 => Some((web.world.name(site), 100)),
        _ => None,
    });
    delays.collect()
}

fn settings(web: &SimWeb, ip_delay_ms: Option<u64>, site_delays: &HashMap<String, u64>) -> String {
    let ip_delay = ip_delay_ms.map_or("none".to_owned(), |ms| format!("{ms}ms"));
    let mut text = reach(web);
    text.push_str(&format!(
        "fetch.ca_file = 'roots.pem'\n\
         [commit]\ninterval = '1s'\n\
         [politeness]\ndelay = '{DELAY_MS}ms'\nlarge_site_delay = '{LARGE_SITE_DELAY_MS}ms'\n\
         large_site_pages = {LARGE_SITE_PAGES}\nip_delay = '{ip_delay}'\n\
         back_off = '100ms'\nretry_delay = '1s'\n"
    ));
    for (host, delay_ms) in site_delays {
        text.push_str(&format!("[[site]]\nmatch = '{host}'\ndelay = '{delay_ms}ms'\n"));
    }
    text
}

/// Interrupts a crawl repeatedly, every second time with SIGKILL. Returns the times of the kills.
fn crawl_with_interruptions(collection: &Collection, web: &SimWeb) -> Vec<u64> {
    std::fs::write(collection.path().join("roots.pem"), &web.authority_pem).unwrap();
    let Size { interruptions, requests, .. } = size();
    let mut kills_us = Vec::new();
    for number in 0..interruptions {
        let mut crawl: Crawl = collection.start(&[]);
        let before = web.log.entries().len();
        // Some interruptions come early, before the first request of most sites.
        let more = requests * (1 + number % 3) / 3;
        if !crawl.until_or_end(|| web.log.entries().len() >= before + more) {
            let ended = crawl.wait();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            break;
        }
        if number % 2 == 0 {
            kills_us.push(crawl.kill());
        } else {
            crawl.signal("TERM");
            let ended = crawl.wait();
            assert_eq!(ended.code, Some(130), "{}", ended.stderr);
            assert_eq!(collection.journals(), None);
        }
    }
    kills_us
}

/// Minimum delay after a request.
fn delay_ms(web: &SimWeb, site_delays: &HashMap<String, u64>, entry: &LogEntry) -> u64 {
    let Some(site) = entry.site.map(|site| web.world.site(site)) else { return LARGE_SITE_DELAY_MS };
    // More URLs than pages may be known: redirects, sitemaps.
    let may_be_large = 2 * site.pages + 5 > LARGE_SITE_PAGES;
    let general_ms = if may_be_large { LARGE_SITE_DELAY_MS } else { DELAY_MS };
    let crawl_delay_ms = if site.robots == RobotsKind::CrawlDelay { CRAWL_DELAY_S * 1_000 } else { 0 };
    site_delays.get(&*entry.host).copied().unwrap_or(general_ms).max(crawl_delay_ms)
}

/// Checks that Retry-After is obeyed.
fn assert_retry_after(requests: &Requests<'_>) {
    let mut banned: HashMap<&str, &LogEntry> = HashMap::new();
    for entry in &requests.entries {
        if let Some(before) = banned.remove(&*entry.host) {
            let until_us = before.end_us + RETRY_AFTER_S * 1_000_000;
            let obeyed = entry.start_us >= until_us || requests.may_be_unprocessed(before);
            assert!(obeyed, "{} µs too soon: {before:?} and {entry:?}", until_us - entry.start_us);
        }
        if entry.status == 429 {
            banned.insert(&entry.host, entry);
        }
    }
}

/// Checks that the log contains all cases of interest.
fn assert_cases_occur(requests: &Requests<'_>) {
    let count = |condition: &dyn Fn(&LogEntry) -> bool| {
        requests.entries.iter().filter(|entry| condition(entry)).count()
    };
    let of_kind =
        |kind| count(&|entry| entry.site.is_some_and(|site| requests.web.world.site(site).robots == kind));
    let hosts: std::collections::HashSet<&str> = requests.entries.iter().map(|entry| &*entry.host).collect();
    let addresses: std::collections::HashSet<_> =
        requests.entries.iter().map(|entry| entry.ip_address).collect();
    let pages = count(&|entry| entry.status == 200 && &*entry.path != "/robots.txt");
    let counts = (
        pages,
        count(&|entry| entry.status == 429),
        of_kind(RobotsKind::CrawlDelay),
        of_kind(RobotsKind::ServerError),
    );
    assert!(counts.0 > 50 && counts.1 > 0 && counts.2 > 3 && counts.3 > 0, "{counts:?}");
    assert!(hosts.len() * 2 > requests.web.world.settings.sites as usize, "{} hosts", hosts.len());
    assert!(hosts.len() > addresses.len(), "{} hosts, {} addresses", hosts.len(), addresses.len());
}

#[test]
fn a_robots_txt_that_other_sites_redirect_to_is_fetched_politely() {
    let target_site = Server::start("target", [127, 77, 1, 1], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nCrawl-delay: 1\nDisallow: /no\n"),
        "/" => peer.page("<a href=/a>a</a>"),
        _ => peer.page("end"),
    });
    let target = target_site.url("/robots.txt");
    let redirecting = |number: u8| {
        let target = target.clone();
        Server::start(&format!("refers{number}"), [127, 77, 1, 1 + number], move |path, peer| match path {
            "/robots.txt" => peer.redirect(&target),
            _ => peer.page(&format!("<a href=/no>no</a> {number}")),
        })
    };
    let others = [redirecting(1), redirecting(2)];
    let servers = [&target_site, &others[0], &others[1]];
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    let settings =
        "[politeness]\ndelay = '100ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&seeds, &(hosts(&servers) + settings));
    collection.crawl(&[]);
    let log: Vec<LoggedRequest> = target_site.log();
    assert_eq!(log.iter().filter(|request| request.path == "/robots.txt").count(), 3, "{log:?}");
    assert_eq!(log.len(), 5, "{log:?}");
    let first = log.iter().position(|request| request.path == "/").unwrap();
    for pair in log.windows(2) {
        // Its Crawl-delay applies once its own robots.txt is known.
        let min_ms = if pair[1].began >= log[first].began { 1_000 } else { 100 };
        let gap = pair[1].began.saturating_duration_since(pair[0].ended.unwrap());
        assert!(gap.as_millis() >= min_ms - 1, "{gap:?}: {log:?}");
    }
    for other in others {
        assert_eq!(other.paths(), ["/robots.txt", "/"]);
        assert_eq!(collection.why(&other.url("/no"))["reason"], "robots-disallowed");
    }
}
