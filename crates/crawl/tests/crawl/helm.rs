//! Does a crawl obey whoever is at its helm, and does it look like what it is? The servers' log tells.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crawl::{CrawlEnd, CrawlSettings, CrawlSummary, Helm, Live, Outcome, Stop, crawl};
use simweb::{LogEntry, Settings, SimWeb};
use store::Collection;

use crate::ground_truth::{assert_same, truth};
use crate::web::{collection, fetched, settings, start, urls};

const LONGEST: Duration = Duration::from_secs(60);

/// Crawls, while somebody else is at the helm.
fn crawl_with(collection: &mut Collection, helm: &Helm, steer: impl FnOnce(&Helm) + Send) -> CrawlSummary {
    thread::scope(|scope| {
        let at_helm = scope.spawn(|| steer(helm));
        let summary = crawl(collection, helm, CrawlEnd::default()).unwrap();
        at_helm.join().unwrap();
        summary
    })
}

/// Waits until the crawl looks like this.
fn wait_for(helm: &Helm, mut wanted: impl FnMut(&Live) -> bool) -> Live {
    let deadline = Instant::now() + LONGEST;
    loop {
        let live = helm.live();
        if wanted(&live) {
            return live;
        }
        assert!(Instant::now() < deadline && !live.ended, "{live:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Pauses, and waits until nothing is under way and nothing has begun for a while.
fn pause(helm: &Helm) {
    helm.pause();
    let mut last = (helm.progress().requests, helm.live().now_ms);
    wait_for(helm, |live| {
        if live.progress.requests != last.0 || live.progress.requests_under_way > 0 {
            last = (live.progress.requests, live.now_ms);
        }
        live.now_ms > last.1 + 100
    });
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

fn within(web: &SimWeb, from_us: u64, to_us: u64) -> Vec<LogEntry> {
    assert_eq!(web.log.dropped(), 0);
    web.log.entries().into_iter().filter(|entry| (from_us..to_us).contains(&entry.wall_us)).collect()
}

/// A Web and settings by which it is crawled in some seconds, not at once.
fn slow_web() -> (SimWeb, CrawlSettings) {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let mut settings = settings(&web);
    settings.waits.wait_ms = 20;
    settings.waits.large_site_wait_ms = 20;
    (web, settings)
}

#[test]
fn nothing_is_asked_for_while_a_crawl_is_paused_and_nothing_is_lost() {
    let (web, settings) = slow_web();
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let helm = Helm::new(settings);
    let (mut pauses, mut seen) = (Vec::new(), None);
    crawl_with(&mut collection, &helm, |helm| {
        for pages in [30, 150] {
            wait_for(helm, |live| live.progress.pages >= pages);
            pause(helm);
            let from_us = now_us();
            let paused = helm.live();
            // What has come is committed, and time goes by.
            wait_for(helm, |live| live.now_ms > paused.now_ms + 1_500);
            pauses.push((from_us, now_us()));
            seen = Some(helm.live());
            helm.resume();
        }
    });
    for (from_us, to_us) in pauses {
        assert_eq!(within(&web, from_us, to_us).len(), 0);
        assert!(!within(&web, 0, from_us).is_empty() && !within(&web, to_us, u64::MAX).is_empty());
    }
    let paused = seen.unwrap();
    assert!(paused.progress.paused && !helm.live().progress.paused);
    let open: u32 = paused.batches.iter().map(|batch| batch.pages_open).sum();
    assert!(paused.progress.waiting_pages > 0 && u64::from(open) >= paused.progress.waiting_pages);
    assert!(paused.commit.is_some_and(|commit| commit.time_ms > paused.now_ms - 2_500), "{paused:?}");
    assert_same(&truth(&web), &urls(&collection, fetched));
}

#[test]
fn a_paused_crawl_can_be_stopped() {
    let (web, settings) = slow_web();
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let helm = Helm::new(settings);
    let summary = crawl_with(&mut collection, &helm, |helm| {
        wait_for(helm, |live| live.progress.pages >= 30);
        pause(helm);
        helm.stop(Stop::InOrder);
    });
    assert!(summary.stopped && helm.live().ended);
    assert!(urls(&collection, fetched).len() as u64 >= 30);
}

#[test]
fn a_rate_holds_for_all_sites_together_until_it_is_changed() {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let helm = Helm::new(CrawlSettings { requests_per_second: 40.0, ..settings(&web) });
    let mut spans = Vec::new();
    crawl_with(&mut collection, &helm, |helm| {
        let mut limited = |per_second: f64, requests: u64| {
            let (from_us, before) = (now_us(), helm.progress().requests);
            wait_for(helm, |live| live.progress.requests >= before + requests);
            assert_eq!(helm.live().requests_per_second, Some(per_second));
            spans.push((per_second, from_us, now_us()));
        };
        limited(40.0, 60);
        helm.set_rate(Some(10.0));
        limited(10.0, 10);
        helm.set_rate(None);
    });
    assert_eq!(helm.live().requests_per_second, None);
    for (per_second, from_us, to_us) in spans {
        let (requests, seconds) = (within(&web, from_us, to_us).len() as f64, (to_us - from_us) as f64 / 1e6);
        // One may have begun before, one is taken ahead, and two threads may be on their way.
        assert!(requests <= per_second * seconds + 4.0, "{requests} in {seconds} s at {per_second}");
    }
    assert_same(&truth(&web), &urls(&collection, fetched));
}

#[test]
fn the_picture_of_a_crawl_adds_up() {
    let web = start(Settings {
        sites: 60,
        pages: 1_500,
        crawl_delay_s: 0,
        slow_ms: 20,
        dripping: 0.0,
        ..Settings::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    (settings.longest_pause_ms, settings.limits.pages_per_site) = (0, 100);
    settings.fetch.first_byte_timeout = Duration::from_secs(1);
    let helm = Helm::new(settings);
    assert_eq!((helm.live().began_ms, helm.live().ended), (None, false));
    crawl(&mut collection, &helm, CrawlEnd { duration: Some(Duration::from_secs(5)), ..CrawlEnd::default() })
        .unwrap();
    let live = helm.live();
    let progress = live.progress;
    assert!(live.ended && live.began_ms.is_some_and(|began_ms| began_ms <= live.now_ms));
    assert_eq!(progress.requests_under_way, 0);
    let visits: u64 = progress.outcomes.iter().map(|(_, visits)| visits).sum();
    assert_eq!(visits, progress.pages + progress.errors);
    assert!(progress.outcomes.of(Outcome::Ok) > 100 && progress.outcomes.of(Outcome::ClientError) > 0);
    assert!(progress.requests >= visits, "robots.txt and sitemaps come on top");
    let commit = live.commit.unwrap();
    assert_eq!(commit.generation, collection.manifest().unwrap().generation);
    let failures = |site: &crawl::LiveSite| site.failures.max(u64::from(site.errors_in_a_row));
    assert!(live.failing.is_sorted_by(|one, other| failures(one) >= failures(other)));
    assert!(live.slowest.is_sorted_by(|one, other| one.mean_ms >= other.mean_ms));
    assert!(!live.failing.is_empty() && !live.slowest.is_empty() && live.slowest.len() <= 20);
    for site in live.failing.iter().chain(&live.slowest) {
        assert!(collection.urls.known().find_site(&site.site).is_some(), "{site:?}");
    }
    assert!(live.history.is_sorted_by(|one, other| one.time_ms < other.time_ms && one.pages <= other.pages));
}
