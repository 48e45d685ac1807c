//! A crawl that is killed repeatedly loses only the work since its last commit, and repeats that.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use simweb::{Endpoints, LogEntry, Settings, SimWeb};
use store::{PageRecord, PageStage};

use crate::long;
use crate::process::{Collection, now_us};
use crate::request_log::Requests;

const COMMIT_MS: u64 = 1_000;
/// Time before a kill in which work may be lost: the commit interval and the duration of a commit on a busy machine.
const UNCOMMITTED_US: u64 = (COMMIT_MS + 1_600) * 1_000;

#[test]
fn a_crawl_that_was_killed_ends_with_the_same_pages_as_another() {
    let (kills, sites, pages, delay_ms) = if long() { (10, 200, 6_000, 40) } else { (3, 20, 500, 100) };
    let settings = Settings { sites, pages, page_bytes: 4_000.0, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let slow = format!(
        "[commit]\ninterval = '{COMMIT_MS}ms'\n[politeness]\ndelay = '{delay_ms}ms'\nlarge_site_delay = '{delay_ms}ms'\n"
    );
    let killed = Collection::of_web(&web, &slow);
    let kills_us = crawl_with_kills(&killed, &web, kills);
    killed.assert_sound();
    let requests = Requests::of(&web, kills_us);
    assert!(
        requests.kills_us.len() >= kills.min(3),
        "the crawl ended after kills at {:?}",
        requests.kills_us
    );
    requests.assert_robots_first_and_once();
    assert_few_repeated(&requests);

    let other = Collection::of_web(&web, "[politeness]\ndelay = '1ms'\nlarge_site_delay = '1ms'\n");
    other.crawl(&[]);
    let fetched = |record: &PageRecord| record.stage == PageStage::Fetched;
    assert_eq!(killed.urls(fetched), other.urls(fetched));
    assert_eq!(killed.urls(fetched), ground_truth(&web));
}

/// Kills the crawl at arbitrary times, and lets the last run complete.
fn crawl_with_kills(collection: &Collection, web: &SimWeb, kills: usize) -> Vec<u64> {
    let mut kills_us = Vec::new();
    for _ in 0..kills {
        let mut crawl = collection.start(&[]);
        let random_ms = now_us() % COMMIT_MS;
        let (start, before) = (Instant::now(), web.log.entries().len());
        let lifetime = Duration::from_millis(COMMIT_MS + random_ms);
        if !crawl.until_or_end(|| start.elapsed() > lifetime && web.log.entries().len() > before + 20) {
            let ended = crawl.wait();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            break;
        }
        kills_us.push(crawl.kill());
    }
    collection.crawl(&[]);
    kills_us
}

/// Checks that a repeated request was first made shortly before a kill.
fn assert_few_repeated(requests: &Requests<'_>) {
    let mut last: BTreeMap<(&str, &str), &LogEntry> = BTreeMap::new();
    let mut again = 0;
    for entry in &requests.entries {
        let Some(before) = last.insert((&entry.host, &entry.path), entry) else { continue };
        again += 1;
        let lost = |kill_us: &&u64| (before.unix_us..before.unix_us + UNCOMMITTED_US).contains(*kill_us);
        let killed_between =
            requests.kills_us.iter().find(lost).is_some_and(|kill_us| *kill_us < entry.unix_us);
        assert!(
            killed_between,
            "repeated without need: {before:?} and {entry:?}, kills {:?}",
            requests.kills_us
        );
    }
    let uncommitted = requests.entries.iter().filter(|entry| {
        requests
            .kills_us
            .iter()
            .any(|kill_us| (entry.unix_us..entry.unix_us + UNCOMMITTED_US).contains(kill_us))
    });
    assert!(again <= uncommitted.count());
}

/// Pages that a polite crawler can fetch.
fn ground_truth(web: &SimWeb) -> std::collections::BTreeSet<String> {
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    let pages = sites.flat_map(|site| (0..site.pages).map(move |page| (site, page)));
    let truths = pages.map(|(site, page)| web.world.page_ground_truth(&site, page));
    truths.filter(|page| page.crawlable).map(|page| page.url).collect()
}
