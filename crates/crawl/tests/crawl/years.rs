//! A collection that is crawled for years, while sites come and go, move, disallow and allow again, sitemaps grow, and settings
//! change: at each anniversary the pages are those that the Web and the settings imply, and as fresh as the simulator predicts.
//!
//! `WEIR_LONG=1` crawls for ten years instead of one.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crawl::CrawlLimits;
use fetch::SiteHeaders;
use frontier::{Politeness, PollIntervals};
use harvest::{CrawlClock, CrawlSettings, RevisitIntervals, SiteMatch, SiteOverride};
use model::{PageId, SiteId, UrlRules};
use simulate::{RefreshParams, RefreshPolicy, WebModel, WebPage, WebSite, simulate_refresh};
use simweb::{PageRef, PathClass, Settings, SimRequest, SimWeb};
use store::{Collection, PageRecord, PageStage};

use crate::web::{collection, run, settings, start, urls};

const DAY_S: u64 = 86_400;
/// Days between two crawls.
const STEP_DAYS: u64 = 7;
/// Revisit interval in the first half of each year, and in the second.
const INTERVAL_DAYS: [u64; 2] = [21, 14];
/// Changes of a site within this time may not be known: the longest interval of polls and revisits, and the steps between.
const NOTICE_DAYS: u64 = 42;
const STEPS_PER_YEAR: u64 = 52;

fn web() -> SimWeb {
    start(Settings {
        sites: 30,
        pages: 450,
        page_bytes: 2_000.0,
        validators: 1.0,
        sitemaps: 0.6,
        isolated: 0.15,
        mirrors: 0.1,
        robots_disallow_some: 0.3,
        private: 0.1,
        intermittent_sites: 0.2,
        changing_robots: 0.3,
        moving_mirrors: 1.0,
        growing_sitemaps: 1.0,
        changing_pages: 0.8,
        changes_per_day: 0.02,
        change_rate_sigma: 1.0,
        clock: 0.0,
        ..Settings::plain()
    })
}

/// Settings of a step of a year: in the second half, revisits are more frequent within a daily limit, and one site is skipped.
fn settings_of(web: &SimWeb, step: u64, skipped: &str) -> CrawlSettings {
    let second_half = step % STEPS_PER_YEAR >= STEPS_PER_YEAR / 2;
    let mut settings = settings(web);
    settings.clock = Some(CrawlClock::with_speed(web.clock.now() * 1_000, 1.0));
    settings.max_idle_ms = 0;
    settings.follow_links_of_duplicates = true;
    settings.commits.interval_ms = 60_000;
    settings.max_requests_per_day = if second_half { 600 } else { 0 };
    let interval_s = (INTERVAL_DAYS[usize::from(second_half)] * DAY_S) as u32;
    settings.revisits = RevisitIntervals {
        success_s: interval_s,
        client_error_s: interval_s,
        failure_s: interval_s,
        polls: PollIntervals { max_s: (21 * DAY_S) as u32, ..PollIntervals::default() },
    };
    if second_half {
        settings.site_overrides = vec![SiteOverride {
            sites: SiteMatch::Host(skipped.to_owned()),
            delay_ms: None,
            max_pages: None,
            max_depth: None,
            headers: SiteHeaders::default(),
            robots_agent: None,
            skip: true,
            ignores_robots: false,
        }];
    }
    settings
}

/// Pages that the Web implies at a time, and those about which a change may not be known yet.
struct Expected {
    pages: BTreeSet<String>,
    undecided: BTreeSet<String>,
}

fn expected(web: &SimWeb, start_s: u64, now_s: u64) -> Expected {
    let (mut pages, mut undecided) = (BTreeSet::new(), BTreeSet::new());
    let world = &web.world;
    let noticed_s = now_s - NOTICE_DAYS * DAY_S;
    for site in world.site_indexes().map(|site| world.site(site)) {
        let is_settled = world.site_changed_s(&site, now_s) < noticed_s;
        // Copies of an absent site are kept, if it was there since the crawl began.
        let was_present =
            (start_s..noticed_s).step_by(DAY_S as usize).any(|time_s| !world.is_absent(&site, time_s));
        for index in 0..site.pages {
            let truth = world.page_ground_truth(&site, index);
            let listed_s = world.listed_s(&site, index);
            if index >= site.linked && listed_s.is_none() {
                continue;
            }
            let robots = world.robots_at(&site, now_s);
            let is_allowed = match truth.path_class {
                PathClass::Private | PathClass::Draft => truth.allowed && robots == site.robots,
                _ => robots == site.robots,
            };
            let is_listed = listed_s.is_none_or(|listed_s| listed_s < noticed_s);
            if !is_settled
                || listed_s.is_some_and(|listed_s| (noticed_s..now_s).contains(&listed_s))
                || (listed_s.is_some() && world.is_absent(&site, now_s))
            {
                undecided.insert(truth.url);
            } else if is_allowed && is_listed && was_present && !world.has_moved(&site, now_s) {
                pages.insert(truth.url);
            }
        }
    }
    Expected { pages, undecided }
}

/// URLs of all pages of the Web whose last fetch returned content; a sitemap can be a page of the crawl, too.
fn found(web: &SimWeb, collection: &Collection) -> BTreeSet<String> {
    let with_content =
        |record: &PageRecord| record.stage == PageStage::Fetched && matches!(record.status, 200 | 304);
    let pages = urls(collection, with_content).into_iter();
    pages.filter(|url| web.world.page_by_url(url).is_some()).collect()
}

/// ETag of a page at a time.
fn version(web: &SimWeb, page: PageRef, seconds: u64) -> Option<String> {
    let url = web.world.url(page);
    let path = format!("/{}", url.split_once("://")?.1.split_once('/')?.1);
    let request = SimRequest { if_none_match: Some("*"), ..SimRequest::new(&path, seconds) };
    web.world.respond(&web.world.site(page.site), &request).etag
}

/// Pages of sites without a history, which are revisited at regular intervals. Dates of sitemaps make copies fresher than the
/// simulator, which has none, predicts.
fn regular_pages(web: &SimWeb, skipped: &str, until_s: u64) -> Vec<PageRef> {
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    let regular = sites.filter(|site| {
        let has_history = web.world.site_changed_s(site, until_s) > 0;
        !has_history
            && site.sitemap.is_none()
            && site.replica.is_none()
            && web.world.name(site.index) != skipped
    });
    let pages = regular.flat_map(|site| {
        let crawlable = |page: &u32| web.world.page_ground_truth(&site, *page).crawlable;
        (0..site.linked)
            .filter(crawlable)
            .map(move |page| PageRef { site: site.index, page })
            .collect::<Vec<_>>()
    });
    pages.collect()
}

/// Shares of fresh copies at days between this crawl and the next.
fn freshness(web: &SimWeb, collection: &Collection, pages: &[PageRef]) -> (usize, usize) {
    let (rules, start_s) = (UrlRules::default(), simweb::EPOCH);
    let (mut fresh, mut samples) = (0, 0);
    for page in pages {
        let id = collection.urls.reader().find(&rules.canonical(&web.world.url(*page)).unwrap()).unwrap();
        let record: Option<PageRecord> = id
            .and_then(|id| collection.page_state.reader().get(id).unwrap())
            .filter(|record| record.last_success_s > 0);
        let copy = record.map(|record| version(web, *page, u64::from(record.last_success_s) - start_s));
        for day in 0..STEP_DAYS {
            let now_s = web.clock.seconds() + day * DAY_S + DAY_S / 2;
            samples += 1;
            fresh += usize::from(copy == Some(version(web, *page, now_s)));
        }
    }
    (fresh, samples)
}

/// Freshness that the simulator predicts for revisits of all pages at an interval.
fn predicted(web: &SimWeb, pages: &[PageRef], interval_days: f64) -> f64 {
    let page = |page: &PageRef| WebPage {
        site: SiteId(page.site),
        is_dynamic: false,
        changes_per_day: web.world.changes_per_day(&web.world.site(page.site), page.page) as f32,
        has_last_modified: true,
        has_content: true,
    };
    let site = |_| WebSite {
        ip_address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        front_page: None,
        response_ms: 1,
        crawl_delay_ms: 0,
    };
    let all = (0..pages.len() as u32).map(PageId).collect();
    let model =
        WebModel::new(pages.iter().map(page).collect(), web.world.site_indexes().map(site).collect(), all);
    let changes: f64 = model.pages.iter().map(|page| f64::from(page.changes_per_day)).sum();
    let scores = (0..4).map(|seed| {
        let params = RefreshParams {
            politeness: Politeness { site_delay_ms: 0, large_site_delay_ms: 0, ..Politeness::default() },
            requests_per_change: pages.len() as f64 / interval_days / changes,
            learning_days: 100.0,
            measured_days: 182.0,
            seed,
            ..RefreshParams::default()
        };
        simulate_refresh(&model, RefreshPolicy::Uniform, &params).freshness
    });
    scores.sum::<f64>() / 4.0
}

#[test]
#[allow(clippy::print_stderr, reason = "prints the measured values")]
fn a_collection_stays_complete_and_fresh_for_years() {
    let years = if std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0") {
        10
    } else {
        1
    };
    let web = web();
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let start_s = web.clock.seconds();
    let end_s = start_s + years * STEPS_PER_YEAR * STEP_DAYS * DAY_S;
    // A site that is skipped in the second half of each year keeps its copies; it has no sitemap that could grow.
    let sites = web.world.site_indexes().skip(1).map(|site| web.world.site(site));
    let mut plain = sites.filter(|site| web.world.site_changed_s(site, end_s) == 0 && site.sitemap.is_none());
    let skipped = plain.next().map(|site| web.world.name(site.index)).unwrap();
    let regular = regular_pages(&web, &skipped, end_s);
    let (mut fresh, mut samples) = (0, 0);
    for step in 0..years * STEPS_PER_YEAR {
        run(&mut collection, settings_of(&web, step, &skipped), CrawlLimits::default());
        // The first weeks of a half have the intervals of the other one.
        if step % STEPS_PER_YEAR >= STEPS_PER_YEAR / 2 + 3 {
            let (step_fresh, step_samples) = freshness(&web, &collection, &regular);
            (fresh, samples) = (fresh + step_fresh, samples + step_samples);
        }
        if (step + 1) % STEPS_PER_YEAR == 0 {
            let expected = expected(&web, start_s, web.clock.seconds());
            let found = found(&web, &collection);
            let missing: Vec<_> = expected.pages.difference(&found).take(9).collect();
            let unexpected =
                found.difference(&expected.pages).filter(|url| !expected.undecided.contains(*url));
            let unexpected: Vec<_> = unexpected.take(9).collect();
            assert!(
                missing.is_empty() && unexpected.is_empty(),
                "missing {missing:?}, unexpected {unexpected:?}"
            );
            let (all, undecided) = (expected.pages.len(), expected.undecided.len());
            assert!(all > 200 && undecided * 2 < all, "{all} pages, {undecided} undecided");
        }
        web.clock.advance(Duration::from_secs(STEP_DAYS * DAY_S));
    }
    let measured = fresh as f64 / samples as f64;
    let predicted = predicted(&web, &regular, INTERVAL_DAYS[1] as f64);
    eprintln!("{} pages: freshness {measured:.3}, predicted {predicted:.3}", regular.len());
    assert!((measured - predicted).abs() <= 0.03, "freshness {measured:.3}, predicted {predicted:.3}");
}
