//! Delays of sites and IP addresses across robots.txt redirects between sites, restarts, copied batches and reloaded
//! settings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::{Collection, run};
use crate::servers::{LoggedRequest, Server, hosts, name_server};

/// Settings with a negligible delay of IP addresses, so that only the delays of sites are measured.
const SITE_DELAY: &str = "[politeness]\ndelay = '1500ms'\nip_delay = '1ms'\nback_off = '10ms'\nretry_delay = '1h'\n\
                    [crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";
const SITE_DELAY_MS: u128 = 1_500;

/// Site whose robots.txt redirects to another site.
fn redirecting_site(number: u8, target: &str) -> Server {
    let target = target.to_owned();
    Server::start(&format!("refers{number}"), [127, 77, 5, 100 + number], move |path, peer| match path {
        "/robots.txt" => peer.redirect(&target),
        _ => peer.page(&format!("page {number}")),
    })
}

fn add_seed(collection: &Collection, server: &Server) {
    let added = run(&["seeder", &collection.dir(), "--seed", &server.url("/")]);
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
}

fn ok(arguments: &[&str]) {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Times between the end of a request and the start of the next, over all of these servers.
fn gaps(servers: &[&Server]) -> Vec<(u128, String)> {
    let mut log: Vec<LoggedRequest> = servers.iter().flat_map(|server| server.log()).collect();
    log.sort_by_key(|request| request.began);
    let gap = |pair: &[LoggedRequest]| {
        pair[1].began.saturating_duration_since(pair[0].ended.unwrap()).as_millis() + 1
    };
    log.windows(2).map(|pair| (gap(pair), format!("{} and {}", pair[0].path, pair[1].path))).collect()
}

fn assert_gaps(server: &Server, min_ms: u128) {
    let gaps = gaps(&[server]);
    assert!(!gaps.is_empty() && gaps.iter().all(|(gap, _)| *gap >= min_ms), "{gaps:?}: {:?}", server.log());
}

#[test]
fn a_robots_txt_request_of_another_site_obeys_retry_after_of_an_earlier_run() {
    let target_site = Server::start("target", [127, 77, 5, 1], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nAllow: /\n"),
        _ => peer.status("503 Service Unavailable", "Retry-After: 4\r\n"),
    });
    let other = redirecting_site(1, &target_site.url("/robots.txt"));
    let collection = Collection::new(&[target_site.url("/")], &(hosts(&[&target_site, &other]) + SITE_DELAY));
    collection.crawl(&[]);
    assert_eq!(target_site.paths(), ["/robots.txt", "/"]);
    add_seed(&collection, &other);
    collection.crawl(&[]);
    assert_eq!(target_site.paths(), ["/robots.txt", "/", "/robots.txt"]);
    assert_eq!(other.paths(), ["/robots.txt", "/"]);
    let last = gaps(&[&target_site]).pop().unwrap();
    assert!(last.0 >= 4_000, "{last:?}");
}

#[test]
fn robots_txt_requests_of_other_sites_count_for_the_delay_over_restarts() {
    let target_site = Server::site("target", [127, 77, 5, 2], |_, peer| peer.page("target"));
    let others = [2, 3, 4].map(|number| redirecting_site(number, &target_site.url("/robots.txt")));
    let all = [&target_site, &others[0], &others[1], &others[2]];
    let seeds = [others[0].url("/"), others[1].url("/")];
    let collection = Collection::new(&seeds, &(hosts(&all) + SITE_DELAY));
    collection.crawl(&[]);
    assert_eq!(target_site.paths(), ["/robots.txt"; 2]);
    add_seed(&collection, &others[2]);
    collection.crawl(&[]);
    add_seed(&collection, &target_site);
    collection.crawl(&[]);
    assert_eq!(target_site.paths(), ["/robots.txt", "/robots.txt", "/robots.txt", "/robots.txt", "/"]);
    assert_gaps(&target_site, SITE_DELAY_MS);
}

/// Creates a batch and returns its directory.
fn create_batch(collection: &Collection) -> Option<PathBuf> {
    let output = run(&["manager", &collection.dir(), "--json"]);
    let output: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(output["batches"].as_array()?.first()?["directory"].as_str()?.into())
}

const QUICK: &str =
    "[politeness]\ndelay = '800ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

#[test]
fn an_ip_address_is_in_one_batch_even_before_its_first_request() {
    let ip = [127, 77, 5, 3];
    let one = Server::site("one", ip, |_, peer| peer.page("one"));
    let two = Server::site("two", ip, |_, peer| peer.page("two"));
    let collection = Collection::new(&[one.url("/")], &(hosts(&[&one, &two]) + QUICK));
    let batch = create_batch(&collection).unwrap();
    add_seed(&collection, &two);
    assert_eq!(create_batch(&collection), None, "its IP address is in the first batch");
    // A crawl does not contact it either, until the batch is gathered.
    collection.crawl(&[]);
    assert_eq!(two.paths(), [""; 0]);
    ok(&["harvester", &collection.dir()]);
    ok(&["gatherer", &collection.dir()]);
    ok(&["seeder", &collection.dir()]);
    assert!(!batch.exists());
    collection.crawl(&[]);
    assert_eq!((one.paths().len(), two.paths().len()), (2, 2));
    let gaps = gaps(&[&one, &two]);
    assert!(gaps.iter().all(|(gap, _)| *gap >= 800), "{gaps:?}");
}

#[test]
fn a_site_is_not_fetched_at_an_ip_address_outside_its_batch() {
    let one = Server::site("one", [127, 77, 5, 4], |_, peer| peer.page("one"));
    // The second lookup returns another address.
    let moves = |_: &str, times: usize| Some([127, 77, 5, if times == 0 { 5 } else { 4 }].into());
    let dns = format!("[dns]\nservers = ['{}']\nmin_ttl = '0s'\n", name_server(moves));
    let settings = format!("network.allowed_networks = ['127.0.0.0/8']\n{QUICK}{dns}");
    let collection = Collection::new(&[one.url("/")], &settings);
    create_batch(&collection).unwrap();
    ok(&["harvester", &collection.dir()]);
    assert_eq!(one.paths(), [""; 0], "its batch has claimed the other address");
    ok(&["gatherer", &collection.dir()]);
    ok(&["seeder", &collection.dir()]);
    let report = collection.why(&one.url("/"));
    assert_eq!(
        (&report["stage"], &report["site"]["ip_address"]),
        (&"discovered".into(), &"127.77.5.4".into()),
        "{report}"
    );
    collection.crawl(&[]);
    assert_eq!(one.paths(), ["/robots.txt", "/"]);
}

#[test]
fn the_journal_of_a_killed_harvester_is_used_by_the_next_whatever_its_output() {
    let requested = AtomicBool::new(false);
    let site = Server::start("site", [127, 77, 5, 6], move |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nAllow: /\n"),
        // The first harvester is killed before the response.
        _ if !requested.swap(true, Ordering::Relaxed) => std::thread::sleep(Duration::from_secs(10)),
        _ => peer.page("page"),
    });
    let collection = Collection::new(&[site.url("/")], &(hosts(&[&site]) + QUICK));
    let batch = create_batch(&collection).unwrap();
    let settings = collection.path().join("weir.toml");
    let harvest = |out: &str| {
        let out = collection.path().join(out);
        let arguments = [
            "harvester",
            "--batch",
            text(&batch),
            "--out",
            text(&out),
            "--settings",
            text(&settings),
            "--json",
        ];
        collection.start_as(&arguments)
    };
    let mut first = harvest("first");
    first.until(|| site.paths().len() == 2);
    first.kill();
    let second = harvest("second").wait();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(site.paths(), ["/robots.txt", "/", "/"], "robots.txt is in the journal");
    let log = site.log();
    assert!(log[2].began.duration_since(log[1].began) >= Duration::from_millis(800), "{log:?}");
    assert!(!collection.path().join("batches/000001.journal").exists());
}

#[test]
fn the_delay_of_an_ip_address_holds_after_a_harvester_was_stopped_immediately() {
    let ip = [127, 77, 5, 7];
    let slow = Server::site("slow", ip, |_, peer| {
        std::thread::sleep(Duration::from_secs(5));
        peer.page("slow");
    });
    let other = Server::site("other", ip, |_, peer| peer.page("other"));
    let settings = QUICK.replace("[crawl]\n", "max_crawl_delay = '2s'\n[crawl]\n").replace("100ms", "5s");
    let collection = Collection::new(&[slow.url("/")], &(hosts(&[&slow, &other]) + &settings));
    create_batch(&collection).unwrap();
    let mut harvester = collection.start_as(&["harvester", &collection.dir(), "--json", "--progress"]);
    harvester.until(|| slow.paths().len() == 2);
    harvester.signal("TERM");
    harvester.wait_for("Ctrl-C again");
    harvester.signal("TERM");
    let stopped = std::time::Instant::now();
    assert_eq!(harvester.wait().code, Some(130));
    ok(&["gatherer", &collection.dir()]);
    ok(&["seeder", &collection.dir()]);
    add_seed(&collection, &other);
    collection.crawl(&["--max-pages", "1"]);
    let first =
        other.log()[0].began.min(slow.log().get(2).map_or(other.log()[0].began, |request| request.began));
    assert!(first >= stopped + Duration::from_millis(1_900), "{:?}", first - stopped);
}

#[test]
fn the_longer_delay_after_a_429_outlives_the_batch() {
    let busy = Server::site("busy", [127, 77, 5, 8], |path, peer| match path {
        "/" => peer.page("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a><a href=/d>d</a>"),
        "/a" => peer.status("429 Too Many Requests", ""),
        _ => peer.page(path),
    });
    let settings = "[politeness]\ndelay = '400ms'\nback_off = '10ms'\nretry_delay = '1h'\n[crawl]\nmax_batch_pages = 1\n\
                    max_idle = '1s'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&[busy.url("/")], &(hosts(&[&busy]) + settings));
    collection.crawl(&[]);
    let paths = busy.paths();
    assert_eq!(paths.len(), 6, "{paths:?}");
    let throttled = paths.iter().position(|path| path == "/a").unwrap();
    let gaps = &gaps(&[&busy])[throttled..];
    // Twice the delay, reduced by 1/64 with each success.
    assert!(gaps.len() >= 2 && gaps.iter().all(|(gap, _)| *gap >= 700), "{gaps:?}");
}

#[test]
fn a_reloaded_robots_agent_applies_at_once() {
    let links: String = (0..40).map(|number| format!("<a href=/{number}>{number}</a>")).collect();
    let site = Server::start("site", [127, 77, 5, 9], move |path, peer| match path {
        "/robots.txt" => {
            peer.content("text/plain", "", "User-agent: *\nAllow: /\n\nUser-agent: other\nDisallow: /\n");
        }
        "/" => peer.page(&links),
        _ => peer.page(path),
    });
    let settings = |more: &str| {
        hosts(&[&site])
            + "[politeness]\ndelay = '100ms'\n[crawl]\nmax_idle = '100ms'\n[sitemaps]\nrobots_rdf = false\n"
            + more
    };
    let collection = Collection::new(&[site.url("/")], &settings(""));
    let mut crawl = collection.start(&[]);
    crawl.until(|| site.paths().len() > 5);
    collection.set(&settings("[[site]]\nmatch = 'site.test'\nrobots_agent = 'other'\n"));
    crawl.signal("HUP");
    crawl.wait_for("settings reloaded");
    let requested = site.paths().len();
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // One request may have been in flight, and another have started meanwhile.
    assert!(site.paths().len() <= requested + 2, "{:?}", site.paths());
    assert_eq!(site.paths().iter().filter(|path| *path == "/robots.txt").count(), 1);
    let disallowed = (0..40)
        .filter(|number| collection.why(&site.url(&format!("/{number}")))["reason"] == "robots-disallowed");
    assert!(disallowed.count() > 20);
}
