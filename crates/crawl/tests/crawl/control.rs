//! Control of a running crawl (pause, stop, rate) and its live status, checked with the servers' log.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crawl::{CrawlLimits, CrawlSummary, crawl};
use harvest::{CrawlHandle, CrawlSettings, FetchOutcome, LiveStatus, StopMode};
use simweb::{LogEntry, Settings, SimWeb};
use store::Collection;

use crate::ground_truth::{assert_same, truth};
use crate::web::{collection, fetched, settings, start, urls};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Crawls while another thread controls the crawl.
fn crawl_with(
    collection: &mut Collection,
    handle: &CrawlHandle,
    control: impl FnOnce(&CrawlHandle) + Send,
) -> CrawlSummary {
    thread::scope(|scope| {
        let controller = scope.spawn(|| control(handle));
        let summary = crawl(collection, handle, CrawlLimits::default()).unwrap();
        controller.join().unwrap();
        summary
    })
}

/// Waits until the live status matches.
fn wait_for(handle: &CrawlHandle, mut matches: impl FnMut(&LiveStatus) -> bool) -> LiveStatus {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let live = handle.status();
        if matches(&live) {
            return live;
        }
        assert!(Instant::now() < deadline && !live.finished, "{live:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Pauses, and waits until no request is in flight and none has started for a while.
fn pause(handle: &CrawlHandle) {
    handle.pause();
    let mut last = (handle.progress().requests, handle.status().now_ms);
    wait_for(handle, |live| {
        if live.progress.requests != last.0 || live.progress.requests_in_flight > 0 {
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
    web.log.entries().into_iter().filter(|entry| (from_us..to_us).contains(&entry.unix_us)).collect()
}

/// Web and settings for a crawl that takes some seconds.
fn slow_web() -> (SimWeb, CrawlSettings) {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let mut settings = settings(&web);
    settings.politeness.site_delay_ms = 20;
    settings.politeness.large_site_delay_ms = 20;
    (web, settings)
}

#[test]
fn a_paused_crawl_sends_no_requests_and_loses_no_pages() {
    let (web, settings) = slow_web();
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let handle = CrawlHandle::new(settings);
    let (mut pauses, mut seen) = (Vec::new(), None);
    crawl_with(&mut collection, &handle, |handle| {
        for pages in [30, 150] {
            wait_for(handle, |live| live.progress.pages_fetched >= pages);
            pause(handle);
            let from_us = now_us();
            let paused = handle.status();
            // Received pages are committed while the crawl is paused.
            wait_for(handle, |live| live.now_ms > paused.now_ms + 1_500);
            pauses.push((from_us, now_us()));
            seen = Some(handle.status());
            handle.resume();
        }
    });
    for (from_us, to_us) in pauses {
        assert_eq!(within(&web, from_us, to_us).len(), 0);
        assert!(!within(&web, 0, from_us).is_empty() && !within(&web, to_us, u64::MAX).is_empty());
    }
    let paused = seen.unwrap();
    assert!(paused.progress.paused && !handle.status().progress.paused);
    let open: u32 = paused.batches.iter().map(|batch| batch.pages_remaining).sum();
    assert!(paused.progress.pages_queued > 0 && u64::from(open) >= paused.progress.pages_queued);
    assert!(paused.last_commit.is_some_and(|commit| commit.time_ms > paused.now_ms - 2_500), "{paused:?}");
    assert_same(&truth(&web), &urls(&collection, fetched));
}

#[test]
fn a_paused_crawl_can_be_stopped() {
    let (web, settings) = slow_web();
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let handle = CrawlHandle::new(settings);
    let summary = crawl_with(&mut collection, &handle, |handle| {
        wait_for(handle, |live| live.progress.pages_fetched >= 30);
        pause(handle);
        handle.stop(StopMode::Graceful);
    });
    assert!(summary.stopped_early && handle.status().finished);
    assert!(urls(&collection, fetched).len() as u64 >= 30);
}

#[test]
fn the_maximum_rate_applies_to_all_sites_together_until_it_is_changed() {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let handle = CrawlHandle::new(CrawlSettings { max_requests_per_second: 40.0, ..settings(&web) });
    let mut spans = Vec::new();
    crawl_with(&mut collection, &handle, |handle| {
        let mut limited = |per_second: f64, requests: u64| {
            let (from_us, before) = (now_us(), handle.progress().requests);
            wait_for(handle, |live| live.progress.requests >= before + requests);
            assert_eq!(handle.status().max_requests_per_second, Some(per_second));
            spans.push((per_second, from_us, now_us()));
        };
        limited(40.0, 60);
        handle.set_max_requests_per_second(Some(10.0));
        limited(10.0, 10);
        handle.set_max_requests_per_second(None);
    });
    assert_eq!(handle.status().max_requests_per_second, None);
    for (per_second, from_us, to_us) in spans {
        let (requests, seconds) = (within(&web, from_us, to_us).len() as f64, (to_us - from_us) as f64 / 1e6);
        // One request may have started before, one is acquired ahead, and two threads may be about to send.
        assert!(requests <= per_second * seconds + 4.0, "{requests} in {seconds} s at {per_second}");
    }
    assert_same(&truth(&web), &urls(&collection, fetched));
}

#[test]
fn the_live_status_of_a_crawl_is_consistent() {
    let web = start(Settings {
        sites: 60,
        pages: 1_500,
        crawl_delay_s: 0,
        slow_ms: 20,
        slow_body: 0.0,
        ..Settings::default()
    });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    (settings.max_idle_ms, settings.limits.pages_per_site) = (0, 100);
    settings.fetch.first_byte_timeout = Duration::from_secs(1);
    let handle = CrawlHandle::new(settings);
    assert_eq!((handle.status().started_ms, handle.status().finished), (None, false));
    crawl(
        &mut collection,
        &handle,
        CrawlLimits { duration: Some(Duration::from_secs(5)), ..CrawlLimits::default() },
    )
    .unwrap();
    let live = handle.status();
    let progress = live.progress;
    assert!(live.finished && live.started_ms.is_some_and(|started_ms| started_ms <= live.now_ms));
    assert_eq!(progress.requests_in_flight, 0);
    let visits: u64 = progress.outcomes.iter().map(|(_, visits)| visits).sum();
    assert_eq!(visits, progress.pages_fetched + progress.failed_fetches);
    assert!(
        progress.outcomes.of(FetchOutcome::Success) > 100
            && progress.outcomes.of(FetchOutcome::ClientError) > 0
    );
    assert!(progress.requests >= visits, "robots.txt and sitemaps are additional requests");
    let commit = live.last_commit.unwrap();
    assert_eq!(commit.generation, collection.manifest().unwrap().generation);
    let failures = |site: &harvest::LiveSite| site.failed_fetches.max(u64::from(site.consecutive_failures));
    assert!(live.failing_sites.is_sorted_by(|one, other| failures(one) >= failures(other)));
    assert!(live.slowest_sites.is_sorted_by(|one, other| one.mean_duration_ms >= other.mean_duration_ms));
    assert!(
        !live.failing_sites.is_empty() && !live.slowest_sites.is_empty() && live.slowest_sites.len() <= 20
    );
    for site in live.failing_sites.iter().chain(&live.slowest_sites) {
        assert!(collection.urls.reader().find_site(&site.site).is_some(), "{site:?}");
    }
    assert!(
        live.samples.is_sorted_by(
            |one, other| one.time_ms < other.time_ms && one.pages_fetched <= other.pages_fetched
        )
    );
}
