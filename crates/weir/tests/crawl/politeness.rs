//! Is any server ever asked too much? A crawl of many sites on fewer addresses, stopped and killed again and again, is judged
//! by the servers' own log.

use std::collections::HashMap;

use simweb::{Endpoints, LogEntry, RobotsKind, Settings, SimWeb};

use crate::long;
use crate::process::{Collection, Crawl, reach};
use crate::request_log::Requests;
use crate::servers::{Asked, Server, hosts};

const WAIT_MS: u64 = 300;
const LARGE_SITE_WAIT_MS: u64 = 200;
const LARGE_SITE_PAGES: u32 = 20;
const RETRY_AFTER_S: u64 = 2;
const CRAWL_DELAY_S: u64 = 1;

/// How large the Web is, and how often the crawl is interrupted.
struct Size {
    sites: u64,
    addresses: u64,
    pages: u64,
    interruptions: usize,
    /// Requests between two of them.
    requests: usize,
}

fn size() -> Size {
    if long() {
        Size { sites: 500, addresses: 300, pages: 10_000, interruptions: 12, requests: 1_200 }
    } else {
        Size { sites: 60, addresses: 36, pages: 600, interruptions: 6, requests: 70 }
    }
}

#[test]
fn no_site_and_no_address_is_asked_too_soon_where_addresses_have_a_wait_of_their_own() {
    prove(Some(250));
}

#[test]
fn no_site_and_no_address_is_asked_too_soon_where_addresses_wait_as_long_as_their_sites() {
    prove(None);
}

/// Crawls with interruptions of both kinds, and looks at what the servers have seen.
fn prove(address_wait_ms: Option<u64>) {
    let web = web(&size());
    let own_waits = own_waits(&web);
    let collection = Collection::of_web(&web, "");
    collection.set(&settings(&web, address_wait_ms, &own_waits));
    let kills_us = crawl_with_interruptions(&collection, &web);
    collection.assert_sound();

    let requests = Requests::of(&web, kills_us);
    let wait_ms = |entry: &LogEntry| wait_ms(&web, &own_waits, entry);
    requests.assert_gaps(|entry| (entry.host.clone(), entry.tls), wait_ms);
    requests.assert_gaps(|entry| entry.address, |entry| address_wait_ms.unwrap_or_else(|| wait_ms(entry)));
    requests.assert_robots_first_and_once();
    requests.assert_nothing_forbidden();
    assert_retry_after(&requests);
    assert_worth_it(&requests);
}

/// All kinds of robots.txt, names that are the same site, sites that ask to be left alone. No site is left by the client
/// before its answer is complete: then the server learns of the end later than the client.
fn web(size: &Size) -> SimWeb {
    let settings = Settings {
        sites: size.sites,
        addresses: size.addresses,
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
        dripping: 0.0,
        silent: 0.0,
        traps: 0.0,
        ..Settings::default()
    };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

/// What is different for some sites, by host.
fn own_waits(web: &SimWeb) -> HashMap<String, u64> {
    let sites = web.world.site_indexes();
    let own = sites.filter_map(|site| match site % 7 {
        3 => Some((web.world.name(site), 700)),
        5 => Some((web.world.name(site), 100)),
        _ => None,
    });
    own.collect()
}

fn settings(web: &SimWeb, address_wait_ms: Option<u64>, own_waits: &HashMap<String, u64>) -> String {
    let address_wait = address_wait_ms.map_or("none".to_owned(), |ms| format!("{ms}ms"));
    let mut text = reach(web);
    text.push_str(&format!(
        "fetch.roots = 'roots.pem'\n\
         [commit]\ninterval = '1s'\n\
         [politeness]\nwait = '{WAIT_MS}ms'\nlarge_site_wait = '{LARGE_SITE_WAIT_MS}ms'\n\
         large_site_pages = {LARGE_SITE_PAGES}\naddress_wait = '{address_wait}'\n\
         back_off = '100ms'\npage_retry = '1s'\n"
    ));
    for (host, wait_ms) in own_waits {
        text.push_str(&format!("[[site]]\nsite = '{host}'\nwait = '{wait_ms}ms'\n"));
    }
    text
}

/// Interrupts a crawl again and again, every other time without warning; tells when it was killed.
fn crawl_with_interruptions(collection: &Collection, web: &SimWeb) -> Vec<u64> {
    std::fs::write(collection.path().join("roots.pem"), &web.authority_pem).unwrap();
    let Size { interruptions, requests, .. } = size();
    let mut kills_us = Vec::new();
    for number in 0..interruptions {
        let mut crawl: Crawl = collection.start(&[]);
        let before = web.log.entries().len();
        // Some interruptions come early, while most sites are still waiting for their first turn.
        let more = requests * (1 + number % 3) / 3;
        if !crawl.until_or_end(|| web.log.entries().len() >= before + more) {
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

/// The least that a site must be left alone after a request.
fn wait_ms(web: &SimWeb, own_waits: &HashMap<String, u64>, entry: &LogEntry) -> u64 {
    let Some(site) = entry.site.map(|site| web.world.site(site)) else { return LARGE_SITE_WAIT_MS };
    // It may be known by more URLs than it has pages: hops of redirects, sitemaps.
    let may_be_large = 2 * site.pages + 5 > LARGE_SITE_PAGES;
    let general_ms = if may_be_large { LARGE_SITE_WAIT_MS } else { WAIT_MS };
    let crawl_delay_ms = if site.robots == RobotsKind::CrawlDelay { CRAWL_DELAY_S * 1_000 } else { 0 };
    own_waits.get(&*entry.host).copied().unwrap_or(general_ms).max(crawl_delay_ms)
}

/// Who asked us to come back later is left alone for so long.
fn assert_retry_after(requests: &Requests<'_>) {
    let mut banned: HashMap<&str, &LogEntry> = HashMap::new();
    for entry in &requests.entries {
        if let Some(before) = banned.remove(&*entry.host) {
            let until_us = before.end_us + RETRY_AFTER_S * 1_000_000;
            let obeyed = entry.start_us >= until_us || requests.may_be_unheard(before);
            assert!(obeyed, "{} µs too soon: {before:?} and {entry:?}", until_us - entry.start_us);
        }
        if entry.status == 429 {
            banned.insert(&entry.host, entry);
        }
    }
}

/// A log without the cases in question would prove nothing.
fn assert_worth_it(requests: &Requests<'_>) {
    let count =
        |wanted: &dyn Fn(&LogEntry) -> bool| requests.entries.iter().filter(|entry| wanted(entry)).count();
    let of_kind =
        |kind| count(&|entry| entry.site.is_some_and(|site| requests.web.world.site(site).robots == kind));
    let hosts: std::collections::HashSet<&str> = requests.entries.iter().map(|entry| &*entry.host).collect();
    let addresses: std::collections::HashSet<_> =
        requests.entries.iter().map(|entry| entry.address).collect();
    let pages = count(&|entry| entry.status == 200 && &*entry.path != "/robots.txt");
    let seen = (
        pages,
        count(&|entry| entry.status == 429),
        of_kind(RobotsKind::CrawlDelay),
        of_kind(RobotsKind::ServerError),
    );
    assert!(seen.0 > 50 && seen.1 > 0 && seen.2 > 3 && seen.3 > 0, "{seen:?}");
    assert!(hosts.len() * 2 > requests.web.world.settings.sites as usize, "{} hosts", hosts.len());
    assert!(hosts.len() > addresses.len(), "{} hosts, {} addresses", hosts.len(), addresses.len());
}

#[test]
fn a_robots_txt_that_another_site_refers_to_is_asked_for_as_politely() {
    let kept = Server::start("kept", [127, 77, 1, 1], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nCrawl-delay: 1\nDisallow: /no\n"),
        "/" => peer.page("<a href=/a>a</a>"),
        _ => peer.page("end"),
    });
    let target = kept.url("/robots.txt");
    let refers = |number: u8| {
        let target = target.clone();
        Server::start(&format!("refers{number}"), [127, 77, 1, 1 + number], move |path, peer| match path {
            "/robots.txt" => peer.redirect(&target),
            _ => peer.page(&format!("<a href=/no>no</a> {number}")),
        })
    };
    let others = [refers(1), refers(2)];
    let servers = [&kept, &others[0], &others[1]];
    let seeds: Vec<String> = servers.iter().map(|server| server.url("/")).collect();
    let settings =
        "[politeness]\nwait = '100ms'\n[crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&seeds, &(hosts(&servers) + settings));
    collection.crawl(&[]);
    let log: Vec<Asked> = kept.log();
    assert_eq!(log.iter().filter(|asked| asked.path == "/robots.txt").count(), 3, "{log:?}");
    assert_eq!(log.len(), 5, "{log:?}");
    let first = log.iter().position(|asked| asked.path == "/").unwrap();
    for pair in log.windows(2) {
        // What it asks for is known when its own robots.txt is.
        let least_ms = if pair[1].began >= log[first].began { 1_000 } else { 100 };
        let gap = pair[1].began.saturating_duration_since(pair[0].ended.unwrap());
        assert!(gap.as_millis() >= least_ms - 1, "{gap:?}: {log:?}");
    }
    for other in others {
        assert_eq!(other.paths(), ["/robots.txt", "/"]);
        assert_eq!(collection.why(&other.url("/no"))["reason"], "robots-forbid");
    }
}
