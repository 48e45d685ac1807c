//! What does a second visit teach, and what does it cost? The server's truth and its log tell.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use crawl::{Clock, CrawlEnd, CrawlSettings, Revisits, SiteMatch, SiteOverride};
use fetch::{Networks, SiteRequest};
use model::{PageId, Reason, UrlRules};
use simweb::{Ask, Settings, SimWeb};
use store::{
    Collection, PageFlags, PageReader, PageRecord, PageSettings, Stage, UrlBatch, WarcKind, count_rows,
};

use crate::web::{collection, run, settings, start};

const DAY: Duration = Duration::from_secs(86_400);
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Visits every page that was not visited within a day, at the time of the Web.
fn visit(collection: &mut Collection, web: &SimWeb, change: impl Fn(&mut CrawlSettings)) {
    visit_until(collection, web, CrawlEnd::default(), change);
}

fn visit_until(
    collection: &mut Collection,
    web: &SimWeb,
    end: CrawlEnd,
    change: impl Fn(&mut CrawlSettings),
) {
    let mut settings = settings(web);
    settings.clock = Some(Clock::sped_up(web.clock.now() * 1_000, 1.0));
    settings.revisits = Revisits { ok_s: 43_200, ..Revisits::default() };
    settings.longest_pause_ms = 0;
    change(&mut settings);
    run(collection, settings, end);
}

/// All pages with content, and their URLs.
fn pages(collection: &Collection) -> Vec<(PageId, String, PageRecord)> {
    let reader = collection.pages.reader();
    let all = (0..reader.pages()).map(|page| (PageId(page), reader.get(PageId(page)).unwrap().unwrap()));
    all.filter(|(_, record)| record.content_hash != 0)
        .map(|(page, record)| (page, collection.urls.known().url(page).unwrap().unwrap(), record))
        .collect()
}

/// The text of a page at a time, or what else names its version: the same as long as it has not changed.
fn version(web: &SimWeb, url: &str, seconds: u64) -> String {
    let page = web.world.page_by_url(url).unwrap();
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;
    let answer = web.world.answer(&web.world.site(page.site), &Ask::new(&format!("/{path}"), seconds));
    answer.etag.unwrap_or_else(|| String::from_utf8_lossy(&answer.body).into_owned())
}

fn records(folder: &Path, collection: &Collection) -> (usize, usize) {
    let reader = PageReader::open(folder, collection.manifest().unwrap()).unwrap();
    let records: Vec<_> = reader.records().map(|record| record.unwrap().1).collect();
    let responses = records.iter().filter(|record| record.header.kind() == WarcKind::Response).count();
    let words = records.iter().filter(|record| record.header.get("WARC-Profile") == Some(NOT_MODIFIED));
    assert_eq!(reader.check().unwrap().damages, []);
    (responses, words.count())
}

#[test]
fn second_visits_are_conditional_and_what_has_not_changed_is_not_stored_again() {
    let web = start(Settings {
        sites: 5,
        pages: 200,
        validators: 1.0,
        noisy: 0.2,
        changing: 0.5,
        changes_per_day: 0.05,
        clock: 0.0,
        ..Settings::plain()
    });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    visit(&mut collection, &web, |_| {});
    let first_s = web.clock.seconds();
    let rows = |collection: &Collection, table| {
        count_rows(folder.path(), collection.manifest().unwrap(), table).unwrap()
    };
    let (documents, links) = (rows(&collection, "documents"), rows(&collection, "links"));
    let (responses, words) = records(folder.path(), &collection);
    assert_eq!(words, 0);

    web.log.clear();
    web.clock.advance(DAY * 20);
    visit(&mut collection, &web, |_| {});
    let all = pages(&collection);
    assert!(all.len() > 150, "{}", all.len());
    let mut changed = 0;
    for (_, url, record) in &all {
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        changed += usize::from(is_changed);
        let counts = (record.status, record.compared, record.changes, record.stage);
        let expected = if is_changed { (200, 1, 1) } else { (304, 1, 0) };
        assert_eq!(counts, (expected.0, expected.1, expected.2, Stage::Fetched), "{url}");
        let twenty_days = 20 * 86_400;
        if is_changed {
            assert!(record.unchanged_s < twenty_days, "{url}: since the change, as the server tells");
        } else {
            assert!(record.unchanged_s.abs_diff(twenty_days) < 60, "{url}: {}", record.unchanged_s);
        }
        assert!(record.flags.has(PageFlags::DATED) && record.changes_per_day > 0.0, "{url}");
    }
    assert!((20..all.len() - 20).contains(&changed), "{changed} changed");
    let not_modified = web.log.entries().iter().filter(|entry| entry.status == 304).count();
    assert_eq!(not_modified, all.len() - changed, "a 304 for each page that has not changed");
    assert_eq!(records(folder.path(), &collection), (responses + changed, not_modified));
    assert_eq!(rows(&collection, "documents"), documents + changed as u64);
    assert!(rows(&collection, "links") > links);
    let visits = rows(&collection, "fetches");
    assert!(visits >= 2 * all.len() as u64, "every visit has its row: {visits}");

    // What is stored of a page is still its last content, from which the third visit takes its conditions.
    web.log.clear();
    web.clock.advance(DAY);
    visit(&mut collection, &web, |_| {});
    let again = web.log.entries().iter().filter(|entry| entry.status == 304).count();
    assert!(again * 10 > all.len() * 8, "{again} of {}", all.len());
}

#[test]
fn noise_is_no_change() {
    let noisy = Settings {
        sites: 3,
        pages: 100,
        noisy: 1.0,
        changing: 0.5,
        changes_per_day: 0.1,
        clock: 0.0,
        ..Settings::plain()
    };
    let web = start(noisy);
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    visit(&mut collection, &web, |_| {});
    let (first_s, before) = (web.clock.seconds(), pages(&collection));
    web.clock.advance(DAY * 10);
    visit(&mut collection, &web, |_| {});
    let (mut noise, mut changes) = (0, 0);
    for ((_, url, old), (_, _, new)) in before.iter().zip(pages(&collection)) {
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        noise += usize::from(!is_changed && old.content_hash != new.content_hash);
        changes += usize::from(is_changed);
        assert_eq!((new.compared, new.changes), (1, u16::from(is_changed)), "{url}");
        assert!(!new.flags.has(PageFlags::DATED), "{url}: nobody told a date");
    }
    assert!(noise > 20 && changes > 10, "{noise} pages with other bytes, {changes} changed");
}

#[test]
fn known_rates_are_estimated_within_their_error() {
    for validators in [0.0, 1.0] {
        let web = start(Settings {
            sites: 3,
            pages: 150,
            validators,
            changing: 1.0,
            changes_per_day: 0.4,
            change_spread: 0.8,
            clock: 0.0,
            ..Settings::plain()
        });
        let folder = tempfile::tempdir().unwrap();
        let mut collection = collection(folder.path(), &web);
        let visits = 25;
        for _ in 0..visits {
            visit(&mut collection, &web, |_| {});
            web.clock.advance(DAY);
        }
        let errors: Vec<f64> = pages(&collection)
            .iter()
            .map(|(_, url, record)| {
                let page = web.world.page_by_url(url).unwrap();
                let truth = web.world.page_truth(&web.world.site(page.site), page.page).changes_per_day;
                assert_eq!(u32::from(record.compared), visits - 1, "{url}");
                (f64::from(record.changes_per_day) / truth).ln()
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let deviation = (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt();
        // About ten changes a page: the logarithm of a rate is known within a third or so.
        assert!(errors.len() > 100 && mean.abs() < 0.1, "{} pages, bias {mean}", errors.len());
        assert!(deviation < 0.45, "deviation {deviation}");
    }
}

#[test]
fn a_site_that_tells_of_changes_needs_no_visits_to_be_known_as_stale() {
    let web = start(Settings {
        sites: 2,
        pages: 120,
        sitemaps: 1.0,
        changing: 0.5,
        changes_per_day: 0.05,
        clock: 0.0,
        ..Settings::plain()
    });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    visit(&mut collection, &web, |_| {});
    let first_s = web.clock.seconds();
    // A year is long; the front pages alone are asked for again, and with them comes the sitemap.
    let all = pages(&collection);
    let ids: Vec<PageId> = all.iter().map(|(page, ..)| *page).collect();
    let is_front = |url: &str| url.ends_with('/') && url.matches('/').count() == 3;
    collection
        .pages
        .update(&ids, |index, record| {
            if is_front(&all[index].1) {
                (record.stage, record.not_before_s) = (Stage::Failed, 0);
            }
        })
        .unwrap();
    web.log.clear();
    web.clock.advance(DAY * 20);
    let in_a_year = |settings: &mut CrawlSettings| {
        settings.sitemap_period_s = 60;
        settings.revisits.ok_s = 365 * 86_400;
    };
    visit_until(&mut collection, &web, CrawlEnd { cycles: Some(1), ..CrawlEnd::default() }, in_a_year);
    let asked = web.log.entries().len();
    assert!(asked < 20, "{asked} requests");
    let mut stale = 0;
    for (_, url, record) in pages(&collection).iter().filter(|(_, url, _)| !is_front(url)) {
        let page = web.world.page_by_url(url).unwrap();
        let listed = web.world.page_truth(&web.world.site(page.site), page.page).in_sitemap;
        // A list of URLs alone has no dates.
        let dated = web.world.site_truth(page.site).sitemap != Some(simweb::SitemapKind::Text);
        let is_changed = version(&web, url, first_s) != version(&web, url, web.clock.seconds());
        assert_eq!(record.flags.has(PageFlags::STALE), listed && dated && is_changed, "{url}");
        stale += usize::from(record.flags.has(PageFlags::STALE));
    }
    assert!(stale > 10, "{stale}");

    // Who is known to have changed does not wait for a year. A visit clears it, and takes the date of the change from the
    // list: the page itself tells none.
    web.log.clear();
    visit(&mut collection, &web, in_a_year);
    let asked = web.log.entries().len();
    assert!((stale..stale + 10).contains(&asked), "{asked} requests for {stale} pages");
    for (_, url, record) in pages(&collection) {
        assert!(!record.flags.has(PageFlags::STALE), "{url}");
    }
    let dated = pages(&collection).iter().filter(|(_, _, record)| record.flags.has(PageFlags::DATED)).count();
    assert!(dated * 10 >= stale * 9, "{dated} dated of {stale}");
}

#[test]
fn not_modified_is_no_answer_to_a_request_without_a_condition() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap_or(0);
            let asked = String::from_utf8_lossy(&request[..length]).into_owned();
            assert!(!asked.contains("If-"), "{asked}");
            let status = if asked.starts_with("GET / ") { "304 Not Modified" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = Collection::create(folder.path(), PageSettings::default().into()).unwrap();
    let mut seeds = UrlBatch::new();
    seeds.push(&UrlRules::default().canonical(&format!("http://127.0.0.1:{port}/")).unwrap());
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    let mut settings = CrawlSettings { longest_pause_ms: 0, ..CrawlSettings::default() };
    let mut networks = Networks::public();
    networks.allow("127.0.0.0/8").unwrap();
    settings.fetch.networks = networks;
    settings.waits.wait_ms = 0;
    run(&mut collection, settings, CrawlEnd::default());
    let record = collection.pages.reader().get(PageId(0)).unwrap().unwrap();
    assert_eq!((record.stage, record.status), (Stage::Failed, 304));
    assert_eq!(Reason::from_code(record.reason), Some(Reason::NotModifiedUnasked));
    let manifest = collection.manifest().unwrap();
    let visits = store::visits_of(folder.path(), manifest, PageId(0), 10, usize::MAX).unwrap();
    assert_eq!(visits.len(), 1);
    assert_eq!(
        (visits[0].outcome.as_str(), visits[0].reason.as_deref()),
        ("unexpected", Some("not-modified-unasked"))
    );
}

#[test]
fn a_shorter_time_between_visits_holds_for_pages_that_were_fetched_before() {
    let web = start(Settings { sites: 2, pages: 30, clock: 0.0, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    visit(&mut collection, &web, |settings| settings.revisits = Revisits::default());
    let fetched = pages(&collection).len();
    web.clock.advance(DAY * 2);
    web.log.clear();
    visit(&mut collection, &web, |settings| settings.revisits = Revisits::default());
    assert_eq!(web.log.entries().len(), 0, "half a year is not over");
    visit(&mut collection, &web, |settings| settings.revisits.ok_s = 86_400);
    let again = pages(&collection).iter().filter(|(_, _, record)| record.visits == 2).count();
    assert!(fetched > 20 && again == fetched, "{again} of {fetched}");
}

#[test]
fn pages_of_a_site_that_is_full_are_visited_again_and_no_others() {
    let limits: [fn(&mut CrawlSettings); 2] = [
        |settings| {
            settings.limits.domain.base = 5;
            settings.limits.domain.per_linking_domain = 0;
        },
        |settings| {
            settings.sites = vec![SiteOverride {
                sites: SiteMatch::Suffix(".test".to_owned()),
                wait_ms: None,
                pages: Some(5),
                depth: None,
                request: SiteRequest::default(),
                robots_agent: None,
                skip: false,
            }];
        },
    ];
    for limit in limits {
        let web = start(Settings { sites: 3, pages: 60, clock: 0.0, ..Settings::plain() });
        let folder = tempfile::tempdir().unwrap();
        let mut collection = collection(folder.path(), &web);
        let with_limit = |settings: &mut CrawlSettings| {
            settings.batch_pages_per_site = 1;
            limit(settings);
        };
        visit(&mut collection, &web, with_limit);
        let before: Vec<PageId> = pages(&collection).iter().map(|(page, ..)| *page).collect();
        web.clock.advance(DAY);
        visit(&mut collection, &web, with_limit);
        let after = pages(&collection);
        let again: Vec<PageId> =
            after.iter().filter(|(_, _, record)| record.visits == 2).map(|(page, ..)| *page).collect();
        assert!(before.len() >= 5 && before.len() <= 20, "{}", before.len());
        assert_eq!((again, after.len()), (before.clone(), before.len()));
    }
}

#[test]
fn a_days_requests_are_kept_account_of_without_a_commit_for_each_batch() {
    let web = start(Settings { sites: 4, pages: 80, clock: 0.0, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    (settings.requests_per_day, settings.batch_pages) = (10_000, 4);
    settings.commit_every_ms = 3_600_000;
    let cycles = run(&mut collection, settings, CrawlEnd::default()).progress.cycles;
    let commits = collection.manifest().unwrap().generation;
    assert!(cycles > 10 && commits < 10, "{commits} commits for {cycles} batches");
}
