//! Revisits: conditional requests, detected changes and estimated change rates, checked with ground truth and log.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use crawl::CrawlLimits;
use fetch::{NetworkFilter, SiteHeaders};
use harvest::{CrawlClock, CrawlSettings, RevisitIntervals, SiteMatch, SiteOverride};
use model::UrlBatch;
use model::{PageId, Reason, UrlRules};
use simweb::{Settings, SimRequest, SimWeb};
use store::{Collection, PageFlags, PageRecord, PageStage, PageStoreReader, PageStoreSettings, count_rows};
use warc::WarcType;

use crate::web::{collection, run, settings, start};

const DAY: Duration = Duration::from_secs(86_400);
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Fetches every page that was not fetched within half a day, at the time of the Web.
fn fetch_due(collection: &mut Collection, web: &SimWeb, change: impl Fn(&mut CrawlSettings)) {
    fetch_due_until(collection, web, CrawlLimits::default(), change);
}

fn fetch_due_until(
    collection: &mut Collection,
    web: &SimWeb,
    limits: CrawlLimits,
    change: impl Fn(&mut CrawlSettings),
) {
    let mut settings = settings(web);
    settings.clock = Some(CrawlClock::with_speed(web.clock.now() * 1_000, 1.0));
    settings.revisits = RevisitIntervals { success_s: 43_200, ..RevisitIntervals::default() };
    settings.max_idle_ms = 0;
    change(&mut settings);
    run(collection, settings, limits);
}

/// All pages with content, with URL and record.
fn pages(collection: &Collection) -> Vec<(PageId, String, PageRecord)> {
    let reader = collection.page_state.reader();
    let all = (0..reader.pages()).map(|page| (PageId(page), reader.get(PageId(page)).unwrap().unwrap()));
    all.filter(|(_, record)| record.content_hash != 0)
        .map(|(page, record)| (page, collection.urls.reader().url(page).unwrap().unwrap(), record))
        .collect()
}

/// Version of a page at a time: its ETag or its text.
fn version(web: &SimWeb, url: &str, seconds: u64) -> String {
    let page = web.world.page_by_url(url).unwrap();
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;
    let response =
        web.world.respond(&web.world.site(page.site), &SimRequest::new(&format!("/{path}"), seconds));
    response.etag.unwrap_or_else(|| String::from_utf8_lossy(&response.body).into_owned())
}

fn records(dir: &Path, collection: &Collection) -> (usize, usize) {
    let reader = PageStoreReader::open(dir, collection.manifest().unwrap()).unwrap();
    let records: Vec<_> = reader.records().map(|record| record.unwrap().1).collect();
    let responses = records.iter().filter(|record| record.header.warc_type() == WarcType::Response).count();
    let not_modified =
        records.iter().filter(|record| record.header.get("WARC-Profile") == Some(NOT_MODIFIED));
    assert_eq!(reader.check(|_| Ok(())).unwrap().corruptions, []);
    (responses, not_modified.count())
}

#[test]
fn revisits_are_conditional_and_unchanged_pages_are_not_stored_again() {
    let web = start(Settings {
        sites: 5,
        pages: 200,
        validators: 1.0,
        volatile_content: 0.2,
        changing_pages: 0.5,
        changes_per_day: 0.05,
        clock: 0.0,
        ..Settings::plain()
    });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    fetch_due(&mut collection, &web, |_| {});
    let first_s = web.clock.seconds();
    let rows = |collection: &Collection, table| {
        count_rows(dir.path(), collection.manifest().unwrap(), table).unwrap()
    };
    let (documents, links) = (rows(&collection, "documents"), rows(&collection, "links"));
    let (responses, not_modified) = records(dir.path(), &collection);
    assert_eq!(not_modified, 0);

    web.log.clear();
    web.clock.advance(DAY * 20);
    fetch_due(&mut collection, &web, |_| {});
    let all = pages(&collection);
    assert!(all.len() > 150, "{}", all.len());
    let mut changed = 0;
    for (_, url, record) in &all {
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        changed += usize::from(is_changed);
        let counts = (record.status, record.comparable_visits, record.change_count, record.stage);
        let expected = if is_changed { (200, 1, 1) } else { (304, 1, 0) };
        assert_eq!(counts, (expected.0, expected.1, expected.2, PageStage::Fetched), "{url}");
        // The time since the last change counts as unchanged, and so does the age of the first version.
        let since_change_s = record.last_visit_s - record.last_change_s;
        if is_changed {
            assert!(record.unchanged_time_s >= since_change_s && since_change_s < 20 * 86_400, "{url}");
        } else {
            let unchanged_s = record.unchanged_time_s;
            assert!(unchanged_s.abs_diff(since_change_s) < 60, "{url}: {unchanged_s} {since_change_s}");
        }
        assert!(record.flags.has(PageFlags::HAS_LAST_MODIFIED) && record.changes_per_day > 0.0, "{url}");
    }
    assert!((20..all.len() - 20).contains(&changed), "{changed} changed");
    let not_modified = web.log.entries().iter().filter(|entry| entry.status == 304).count();
    assert_eq!(not_modified, all.len() - changed, "a 304 for each unchanged page");
    assert_eq!(records(dir.path(), &collection), (responses + changed, not_modified));
    assert_eq!(rows(&collection, "documents"), documents + changed as u64);
    assert!(rows(&collection, "links") > links);
    let visits = rows(&collection, "fetches");
    assert!(visits >= 2 * all.len() as u64, "each fetch has a row: {visits}");

    // The stored record is still the last content, whose validators the third fetch uses.
    web.log.clear();
    web.clock.advance(DAY);
    fetch_due(&mut collection, &web, |_| {});
    let again = web.log.entries().iter().filter(|entry| entry.status == 304).count();
    assert!(again * 10 > all.len() * 8, "{again} of {}", all.len());
}

#[test]
fn volatile_content_does_not_count_as_a_change() {
    let noisy = Settings {
        sites: 3,
        pages: 100,
        volatile_content: 1.0,
        changing_pages: 0.5,
        changes_per_day: 0.1,
        clock: 0.0,
        ..Settings::plain()
    };
    let web = start(noisy);
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    fetch_due(&mut collection, &web, |_| {});
    let (first_s, before) = (web.clock.seconds(), pages(&collection));
    web.clock.advance(DAY * 10);
    fetch_due(&mut collection, &web, |_| {});
    let (mut noise, mut changes) = (0, 0);
    for ((_, url, old), (_, _, new)) in before.iter().zip(pages(&collection)) {
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        noise += usize::from(!is_changed && old.content_hash != new.content_hash);
        changes += usize::from(is_changed);
        assert_eq!((new.comparable_visits, new.change_count), (1, u16::from(is_changed)), "{url}");
        assert!(!new.flags.has(PageFlags::HAS_LAST_MODIFIED), "{url}: there was no date");
    }
    assert!(noise > 20 && changes > 10, "{noise} pages with other bytes, {changes} changed");
}

#[test]
fn change_rates_are_estimated_within_their_expected_error() {
    for validators in [0.0, 1.0] {
        let web = start(Settings {
            sites: 3,
            pages: 150,
            validators,
            changing_pages: 1.0,
            changes_per_day: 0.4,
            change_rate_sigma: 0.8,
            clock: 0.0,
            ..Settings::plain()
        });
        let dir = tempfile::tempdir().unwrap();
        let mut collection = collection(dir.path(), &web);
        let visits = 25;
        for _ in 0..visits {
            fetch_due(&mut collection, &web, |_| {});
            web.clock.advance(DAY);
        }
        let errors: Vec<f64> = pages(&collection)
            .iter()
            .map(|(_, url, record)| {
                let page = web.world.page_by_url(url).unwrap();
                let truth =
                    web.world.page_ground_truth(&web.world.site(page.site), page.page).changes_per_day;
                assert_eq!(u32::from(record.comparable_visits), visits - 1, "{url}");
                (f64::from(record.changes_per_day) / truth).ln()
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let deviation = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
        // About ten changes per page: the expected error of the logarithm of a rate is about one third.
        assert!(errors.len() > 100 && mean.abs() < 0.1, "{} pages, bias {mean}", errors.len());
        assert!(deviation < 0.45, "deviation {deviation}");
    }
}

#[test]
fn sitemap_dates_mark_copies_as_stale_without_fetches() {
    let web = start(Settings {
        sites: 2,
        pages: 120,
        sitemaps: 1.0,
        changing_pages: 0.5,
        changes_per_day: 0.05,
        clock: 0.0,
        ..Settings::plain()
    });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    fetch_due(&mut collection, &web, |_| {});
    let first_s = web.clock.seconds();
    // With an interval of a year only the front pages are due, and the sitemap is fetched with them.
    let all = pages(&collection);
    let ids: Vec<PageId> = all.iter().map(|(page, ..)| *page).collect();
    let is_front = |url: &str| url.ends_with('/') && url.matches('/').count() == 3;
    collection
        .page_state
        .update(&ids, |index, record| {
            if is_front(&all[index].1) {
                (record.stage, record.earliest_visit_s) = (PageStage::Failed, 0);
            }
        })
        .unwrap();
    web.log.clear();
    web.clock.advance(DAY * 20);
    let in_a_year = |settings: &mut CrawlSettings| {
        settings.revisits.polls.min_s = 60;
        settings.revisits.success_s = 365 * 86_400;
    };
    fetch_due_until(
        &mut collection,
        &web,
        CrawlLimits { batches: Some(1), ..CrawlLimits::default() },
        in_a_year,
    );
    let requests = web.log.entries().len();
    assert!(requests < 20, "{requests} requests");
    let mut stale = 0;
    for (_, url, record) in pages(&collection).iter().filter(|(_, url, _)| !is_front(url)) {
        let page = web.world.page_by_url(url).unwrap();
        let listed = web.world.page_ground_truth(&web.world.site(page.site), page.page).in_sitemap;
        // A text sitemap has no dates.
        let dated = web.world.site_ground_truth(page.site).sitemap != Some(simweb::SitemapKind::Text);
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        assert_eq!(record.flags.has(PageFlags::REPORTED_STALE), listed && dated && is_changed, "{url}");
        stale += usize::from(record.flags.has(PageFlags::REPORTED_STALE));
    }
    assert!(stale > 10, "{stale}");

    // A stale page does not wait for a year. The fetch clears the flag, and takes the date of the change from the sitemap, since
    // the page itself has none.
    web.log.clear();
    fetch_due(&mut collection, &web, in_a_year);
    let requests = web.log.entries().len();
    assert!((stale..stale + 10).contains(&requests), "{requests} requests for {stale} pages");
    for (_, url, record) in pages(&collection) {
        assert!(!record.flags.has(PageFlags::REPORTED_STALE), "{url}");
    }
    let dated = pages(&collection)
        .iter()
        .filter(|(_, _, record)| record.flags.has(PageFlags::HAS_LAST_MODIFIED))
        .count();
    assert!(dated * 10 >= stale * 9, "{dated} dated of {stale}");
}

#[test]
fn a_304_without_a_conditional_request_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap_or(0);
            let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
            assert!(!request.contains("If-"), "{request}");
            let status = if request.starts_with("GET / ") { "304 Not Modified" } else { "404 Not Found" };
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(response.as_bytes());
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = Collection::create(dir.path(), PageStoreSettings::default().into()).unwrap();
    let mut seeds = UrlBatch::new();
    seeds.push(&UrlRules::default().canonical(&format!("http://127.0.0.1:{port}/")).unwrap());
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    let mut settings = CrawlSettings { max_idle_ms: 0, ..CrawlSettings::default() };
    let mut networks = NetworkFilter::public();
    networks.allow("127.0.0.0/8").unwrap();
    settings.fetch.network_filter = networks;
    settings.politeness.site_delay_ms = 0;
    run(&mut collection, settings, CrawlLimits::default());
    let record = collection.page_state.reader().get(PageId(0)).unwrap().unwrap();
    assert_eq!((record.stage, record.status), (PageStage::Failed, 304));
    assert_eq!(record.reason, Some(Reason::UnexpectedNotModified));
    let manifest = collection.manifest().unwrap();
    let visits = store::fetch_history(
        dir.path(),
        manifest,
        PageId(0),
        10,
        usize::MAX,
        &store::Cancellation::default(),
    )
    .unwrap();
    assert_eq!(visits.len(), 1);
    assert_eq!(
        (visits[0].outcome.as_str(), visits[0].reason.as_deref()),
        ("unexpected_status", Some("unexpected-not-modified"))
    );
}

#[test]
fn a_shorter_revisit_interval_applies_to_pages_fetched_before() {
    let web = start(Settings { sites: 2, pages: 30, clock: 0.0, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    fetch_due(&mut collection, &web, |settings| settings.revisits = RevisitIntervals::default());
    let fetched = pages(&collection).len();
    web.clock.advance(DAY * 2);
    web.log.clear();
    fetch_due(&mut collection, &web, |settings| settings.revisits = RevisitIntervals::default());
    let requests = web.log.entries();
    let pages_requested = requests.iter().filter(|entry| &*entry.path != "/robots.txt").count();
    assert_eq!(pages_requested, 0, "the default interval of half a year has not passed");
    fetch_due(&mut collection, &web, |settings| settings.revisits.success_s = 86_400);
    let again = pages(&collection).iter().filter(|(_, _, record)| record.fetch_count == 2).count();
    assert!(fetched > 20 && again == fetched, "{again} of {fetched}");
}

#[test]
fn at_the_page_limit_of_a_site_only_fetched_pages_are_revisited() {
    let limits: [fn(&mut CrawlSettings); 2] = [
        |settings| {
            settings.limits.domain.base_pages = 5;
            settings.limits.domain.pages_per_linking_domain = 0;
        },
        |settings| {
            settings.site_overrides = vec![SiteOverride {
                sites: SiteMatch::Suffix(".test".to_owned()),
                delay_ms: None,
                max_pages: Some(5),
                max_depth: None,
                headers: SiteHeaders::default(),
                robots_agent: None,
                ignores_robots: false,
                skip: false,
            }];
        },
    ];
    for limit in limits {
        let web = start(Settings { sites: 3, pages: 60, clock: 0.0, ..Settings::plain() });
        let dir = tempfile::tempdir().unwrap();
        let mut collection = collection(dir.path(), &web);
        let with_limit = |settings: &mut CrawlSettings| {
            settings.max_batch_pages_per_site = 1;
            limit(settings);
        };
        fetch_due(&mut collection, &web, with_limit);
        let before: Vec<PageId> = pages(&collection).iter().map(|(page, ..)| *page).collect();
        web.clock.advance(DAY);
        fetch_due(&mut collection, &web, with_limit);
        let after = pages(&collection);
        let again: Vec<PageId> =
            after.iter().filter(|(_, _, record)| record.fetch_count == 2).map(|(page, ..)| *page).collect();
        assert!(before.len() >= 5 && before.len() <= 20, "{}", before.len());
        assert_eq!((again, after.len()), (before.clone(), before.len()));
    }
}

#[test]
fn the_daily_request_count_needs_no_commit_per_batch() {
    let web = start(Settings { sites: 4, pages: 80, clock: 0.0, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    (settings.max_requests_per_day, settings.max_batch_pages) = (10_000, 4);
    settings.commits.interval_ms = 3_600_000;
    let batches = run(&mut collection, settings, CrawlLimits::default()).progress.batches;
    let commits = collection.manifest().unwrap().generation;
    assert!(batches > 10 && commits < 10, "{commits} commits for {batches} batches");
}
