//! Are the clocks of sites and addresses heeded where they are easily lost? By requests on behalf of other sites, over
//! restarts, in batches that are harvested elsewhere, and after a change of settings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::{Collection, run};
use crate::servers::{Asked, Server, hosts, name_server};

/// Addresses need not wait, so that the clocks of sites are seen alone.
const WAIT: &str = "[politeness]\nwait = '1500ms'\naddress_wait = '1ms'\nback_off = '10ms'\npage_retry = '1h'\n\
                    [crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n";
const WAIT_MS: u128 = 1_500;

/// A site whose robots.txt is that of another.
fn refers(number: u8, target: &str) -> Server {
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

/// The times between the end of each request and the beginning of the next, whichever of these servers it went to.
fn gaps(servers: &[&Server]) -> Vec<(u128, String)> {
    let mut log: Vec<Asked> = servers.iter().flat_map(|server| server.log()).collect();
    log.sort_by_key(|asked| asked.began);
    let gap =
        |pair: &[Asked]| pair[1].began.saturating_duration_since(pair[0].ended.unwrap()).as_millis() + 1;
    log.windows(2).map(|pair| (gap(pair), format!("{} and {}", pair[0].path, pair[1].path))).collect()
}

fn assert_gaps(server: &Server, least_ms: u128) {
    let gaps = gaps(&[server]);
    assert!(!gaps.is_empty() && gaps.iter().all(|(gap, _)| *gap >= least_ms), "{gaps:?}: {:?}", server.log());
}

#[test]
fn an_errand_heeds_what_a_site_asked_for_in_an_earlier_run() {
    let kept = Server::start("kept", [127, 77, 5, 1], |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nAllow: /\n"),
        _ => peer.status("503 Service Unavailable", "Retry-After: 4\r\n"),
    });
    let other = refers(1, &kept.url("/robots.txt"));
    let collection = Collection::new(&[kept.url("/")], &(hosts(&[&kept, &other]) + WAIT));
    collection.crawl(&[]);
    assert_eq!(kept.paths(), ["/robots.txt", "/"]);
    add_seed(&collection, &other);
    collection.crawl(&[]);
    assert_eq!(kept.paths(), ["/robots.txt", "/", "/robots.txt"]);
    assert_eq!(other.paths(), ["/robots.txt", "/"]);
    let last = gaps(&[&kept]).pop().unwrap();
    assert!(last.0 >= 4_000, "{last:?}");
}

#[test]
fn a_site_that_was_asked_on_an_errand_rests_over_a_restart_and_between_errands() {
    let kept = Server::site("kept", [127, 77, 5, 2], |_, peer| peer.page("kept"));
    let others = [2, 3, 4].map(|number| refers(number, &kept.url("/robots.txt")));
    let all = [&kept, &others[0], &others[1], &others[2]];
    let seeds = [others[0].url("/"), others[1].url("/")];
    let collection = Collection::new(&seeds, &(hosts(&all) + WAIT));
    collection.crawl(&[]);
    assert_eq!(kept.paths(), ["/robots.txt"; 2]);
    add_seed(&collection, &others[2]);
    collection.crawl(&[]);
    add_seed(&collection, &kept);
    collection.crawl(&[]);
    assert_eq!(kept.paths(), ["/robots.txt", "/robots.txt", "/robots.txt", "/robots.txt", "/"]);
    assert_gaps(&kept, WAIT_MS);
}

/// Makes a batch; tells its folder.
fn manage(collection: &Collection) -> Option<PathBuf> {
    let output = run(&["manager", &collection.dir(), "--json"]);
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(made["batches"].as_array()?.first()?["folder"].as_str()?.into())
}

const QUICK: &str =
    "[politeness]\nwait = '800ms'\n[crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n";

#[test]
fn an_address_is_in_one_batch_even_before_anybody_has_been_there() {
    let place = [127, 77, 5, 3];
    let one = Server::site("one", place, |_, peer| peer.page("one"));
    let two = Server::site("two", place, |_, peer| peer.page("two"));
    let collection = Collection::new(&[one.url("/")], &(hosts(&[&one, &two]) + QUICK));
    let batch = manage(&collection).unwrap();
    add_seed(&collection, &two);
    assert_eq!(manage(&collection), None, "its address is in the first batch");
    // Nor does a crawl go there, until the batch is back.
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
fn a_site_that_has_moved_is_not_followed_out_of_a_lent_batch() {
    let one = Server::site("one", [127, 77, 5, 4], |_, peer| peer.page("one"));
    // Whoever asks again is told of another address, at once.
    let moves = |_: &str, times: usize| Some([127, 77, 5, if times == 0 { 5 } else { 4 }].into());
    let dns = format!("[dns]\nservers = ['{}']\nleast_ttl = '0s'\n", name_server(moves));
    let settings = format!("network.allowed = ['127.0.0.0/8']\n{QUICK}{dns}");
    let collection = Collection::new(&[one.url("/")], &settings);
    manage(&collection).unwrap();
    ok(&["harvester", &collection.dir()]);
    assert_eq!(one.paths(), [""; 0], "its batch owns the other address");
    ok(&["gatherer", &collection.dir()]);
    ok(&["seeder", &collection.dir()]);
    let story = collection.why(&one.url("/"));
    assert_eq!(
        (&story["state"], &story["site"]["address"]),
        (&"new".into(), &"127.77.5.4".into()),
        "{story}"
    );
    collection.crawl(&[]);
    assert_eq!(one.paths(), ["/robots.txt", "/"]);
}

#[test]
fn what_a_dead_harvester_was_told_is_found_wherever_its_harvest_was_to_go() {
    let asked = AtomicBool::new(false);
    let site = Server::start("site", [127, 77, 5, 6], move |path, peer| match path {
        "/robots.txt" => peer.content("text/plain", "", "User-agent: *\nAllow: /\n"),
        // The first who comes does not live to see the answer.
        _ if !asked.swap(true, Ordering::Relaxed) => std::thread::sleep(Duration::from_secs(10)),
        _ => peer.page("page"),
    });
    let collection = Collection::new(&[site.url("/")], &(hosts(&[&site]) + QUICK));
    let batch = manage(&collection).unwrap();
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
    assert_eq!(site.paths(), ["/robots.txt", "/", "/"], "robots.txt is known");
    let log = site.log();
    assert!(log[2].began.duration_since(log[1].began) >= Duration::from_millis(800), "{log:?}");
    assert!(!collection.path().join("batches/000001.journal").exists());
}

#[test]
fn an_address_rests_after_a_harvester_that_was_stopped_at_once() {
    let place = [127, 77, 5, 7];
    let slow = Server::site("slow", place, |_, peer| {
        std::thread::sleep(Duration::from_secs(5));
        peer.page("slow");
    });
    let other = Server::site("other", place, |_, peer| peer.page("other"));
    let settings = QUICK.replace("[crawl]\n", "most_crawl_delay = '2s'\n[crawl]\n").replace("100ms", "5s");
    let collection = Collection::new(&[slow.url("/")], &(hosts(&[&slow, &other]) + &settings));
    manage(&collection).unwrap();
    let mut harvester = collection.start_as(&["harvester", &collection.dir(), "--json", "--progress"]);
    harvester.until(|| slow.paths().len() == 2);
    harvester.signal("TERM");
    harvester.wait_for("once more");
    harvester.signal("TERM");
    let stopped = std::time::Instant::now();
    assert_eq!(harvester.wait().code, Some(130));
    ok(&["gatherer", &collection.dir()]);
    ok(&["seeder", &collection.dir()]);
    add_seed(&collection, &other);
    collection.crawl(&["--pages", "1"]);
    let first = other.log()[0].began.min(slow.log().get(2).map_or(other.log()[0].began, |asked| asked.began));
    assert!(first >= stopped + Duration::from_millis(1_900), "{:?}", first - stopped);
}

#[test]
fn a_wait_that_a_site_asked_for_outlives_the_batch() {
    let busy = Server::site("busy", [127, 77, 5, 8], |path, peer| match path {
        "/" => peer.page("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a><a href=/d>d</a>"),
        "/a" => peer.status("429 Too Many Requests", ""),
        _ => peer.page(path),
    });
    let settings = "[politeness]\nwait = '400ms'\nback_off = '10ms'\npage_retry = '1h'\n[crawl]\nbatch_pages = 1\n\
                    longest_pause = '1s'\n[sitemaps]\nrobots_rdf = false\n";
    let collection = Collection::new(&[busy.url("/")], &(hosts(&[&busy]) + settings));
    collection.crawl(&[]);
    let paths = busy.paths();
    assert_eq!(paths.len(), 6, "{paths:?}");
    let complained = paths.iter().position(|path| path == "/a").unwrap();
    let gaps = &gaps(&[&busy])[complained..];
    // Twice the wait, but for a 64th with each answer that is good.
    assert!(gaps.len() >= 2 && gaps.iter().all(|(gap, _)| *gap >= 700), "{gaps:?}");
}

#[test]
fn rules_for_another_agent_hold_as_soon_as_the_settings_say_so() {
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
            + "[politeness]\nwait = '100ms'\n[crawl]\nlongest_pause = '100ms'\n[sitemaps]\nrobots_rdf = false\n"
            + more
    };
    let collection = Collection::new(&[site.url("/")], &settings(""));
    let mut crawl = collection.start(&[]);
    crawl.until(|| site.paths().len() > 5);
    collection.set(&settings("[[site]]\nsite = 'site.test'\nrobots_agent = 'other'\n"));
    crawl.signal("HUP");
    crawl.wait_for("new settings hold");
    let asked = site.paths().len();
    let ended = crawl.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // One request may have been under way, and another begun meanwhile.
    assert!(site.paths().len() <= asked + 2, "{:?}", site.paths());
    assert_eq!(site.paths().iter().filter(|path| *path == "/robots.txt").count(), 1);
    let forbidden = (0..40)
        .filter(|number| collection.why(&site.url(&format!("/{number}")))["reason"] == "robots-forbid");
    assert!(forbidden.count() > 20);
}
