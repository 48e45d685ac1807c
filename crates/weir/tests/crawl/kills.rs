//! What does a crawl lose that is killed again and again? Nothing but the last seconds' work, which it does again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use simweb::{Endpoints, LogEntry, Settings, SimWeb};
use store::{PageRecord, Stage};

use crate::long;
use crate::process::{Collection, now_us};
use crate::request_log::Requests;

const COMMIT_MS: u64 = 1_000;
/// What came so long before a kill is not lost: the time between two commits, and that of a commit on a busy machine.
const LAST_US: u64 = (COMMIT_MS + 1_600) * 1_000;

#[test]
fn a_crawl_that_is_killed_ends_with_the_same_pages_as_one_that_is_not() {
    let (kills, sites, pages) = if long() { (10, 200, 10_000) } else { (3, 20, 500) };
    let settings = Settings { sites, pages, page_bytes: 4_000.0, ..Settings::plain() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let slow = format!(
        "[commit]\ninterval = '{COMMIT_MS}ms'\n[politeness]\nwait = '100ms'\nlarge_site_wait = '100ms'\n"
    );
    let killed = Collection::of_web(&web, &slow);
    let kills_us = crawl_with_kills(&killed, &web, kills);
    killed.assert_sound();
    let requests = Requests::of(&web, kills_us);
    assert!(requests.kills_us.len() >= kills.min(3), "the crawl was over after {:?}", requests.kills_us);
    requests.assert_robots_first_and_once();
    assert_little_again(&requests);

    let unharmed = Collection::of_web(&web, "[politeness]\nwait = '1ms'\nlarge_site_wait = '1ms'\n");
    unharmed.crawl(&[]);
    let fetched = |record: &PageRecord| record.stage == Stage::Fetched;
    assert_eq!(killed.urls(fetched), unharmed.urls(fetched));
    assert_eq!(killed.urls(fetched), truth(&web));
}

/// Kills at moments that the clock chooses, and lets the last crawl end by itself.
fn crawl_with_kills(collection: &Collection, web: &SimWeb, kills: usize) -> Vec<u64> {
    let mut kills_us = Vec::new();
    for _ in 0..kills {
        let mut crawl = collection.start(&[]);
        let luck_ms = now_us() % COMMIT_MS;
        let (began, before) = (Instant::now(), web.log.entries().len());
        let lifetime = Duration::from_millis(COMMIT_MS + luck_ms);
        if !crawl.until_or_end(|| began.elapsed() > lifetime && web.log.entries().len() > before + 20) {
            break;
        }
        kills_us.push(crawl.kill());
    }
    collection.crawl(&[]);
    kills_us
}

/// Whatever is asked for a second time was last asked for shortly before a kill.
fn assert_little_again(requests: &Requests<'_>) {
    let mut last: BTreeMap<(&str, &str), &LogEntry> = BTreeMap::new();
    let mut again = 0;
    for entry in &requests.entries {
        let Some(before) = last.insert((&entry.host, &entry.path), entry) else { continue };
        again += 1;
        let lost = |kill_us: &&u64| (before.wall_us..before.wall_us + LAST_US).contains(*kill_us);
        let killed_between =
            requests.kills_us.iter().find(lost).is_some_and(|kill_us| *kill_us < entry.wall_us);
        assert!(
            killed_between,
            "asked again without need: {before:?} and {entry:?}, kills {:?}",
            requests.kills_us
        );
    }
    let in_last_seconds = requests.entries.iter().filter(|entry| {
        requests.kills_us.iter().any(|kill_us| (entry.wall_us..entry.wall_us + LAST_US).contains(kill_us))
    });
    assert!(again <= in_last_seconds.count());
}

/// What a polite crawler should have in the end.
fn truth(web: &SimWeb) -> std::collections::BTreeSet<String> {
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    let pages = sites.flat_map(|site| (0..site.pages).map(move |page| (site, page)));
    let truths = pages.map(|(site, page)| web.world.page_truth(&site, page));
    truths.filter(|page| page.crawlable).map(|page| page.url).collect()
}
