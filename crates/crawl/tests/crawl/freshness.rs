//! Freshness of a continuous crawl by priority, compared with uniform revisits of the same number of requests, over months of a
//! changing synthetic Web, and with the margin that the simulator predicts.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use crawl::CrawlLimits;
use frontier::{Objective, Politeness, PriorityModel};
use harvest::{CrawlClock, CrawlSettings, RevisitIntervals};
use model::{PageId, SiteId};
use simulate::{RefreshParams, RefreshPolicy, WebModel, WebPage, WebSite, simulate_refresh};
use simweb::{PageRef, Settings, SimRequest, SimWeb};

use crate::web::{collection, run, settings, start};

/// Days of the Web per real second, duration of a crawl in days, and its first days, which are not measured.
const DAYS_PER_SECOND: f64 = 5.0;
const DAYS: u32 = 180;
const LEARNING_DAYS: u32 = 70;
const DAY_S: f64 = 86_400.0;
/// Page requests per change of a page.
const BUDGET_SHARE: f64 = 0.1;

fn web() -> SimWeb {
    start(Settings {
        sites: 6,
        pages: 300,
        validators: 1.0,
        changing_pages: 1.0,
        changes_per_day: 0.2,
        change_rate_sigma: 1.5,
        clock: DAYS_PER_SECOND * DAY_S,
        ..Settings::plain()
    })
}

/// Result of a crawl.
struct Measurement {
    freshness: f64,
    requests_per_day: f64,
}

/// Crawls a Web for months with these settings.
fn crawl_for_months(requests_per_day: u32, change: impl Fn(&mut CrawlSettings)) -> Measurement {
    let web = web();
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    settings.clock = Some(CrawlClock::with_speed(web.clock.now() * 1_000, DAYS_PER_SECOND * DAY_S));
    settings.max_requests_per_day = requests_per_day;
    (settings.sitemaps.enabled, settings.sitemaps.robots_rdf) = (false, false);
    settings.robots.max_age_s = u32::MAX / 2;
    change(&mut settings);
    let duration = Some(Duration::from_secs(86_400) * DAYS);
    run(&mut collection, settings, CrawlLimits { duration, continuous: true, ..CrawlLimits::default() });
    measure(&web)
}

/// Mean share of up-to-date copies over all days after the learning period, from the server's log and ground truth alone.
fn measure(web: &SimWeb) -> Measurement {
    // Clock and log start together.
    let start_s = (web.world.settings.start_day * DAY_S) as u64;
    let mut fetch_times: BTreeMap<PageRef, Vec<u64>> = BTreeMap::new();
    for entry in web.log.entries().iter().filter(|entry| matches!(entry.status, 200 | 304)) {
        let url = format!("http://{}:{}{}", entry.host, web.http.port(), entry.path);
        let time_s = start_s + (entry.start_us as f64 / 1e6 * DAYS_PER_SECOND * DAY_S) as u64;
        if let Some(page) = web.world.page_by_url(&url) {
            fetch_times.entry(page).or_default().push(time_s);
        }
    }
    let day = |day: u32| start_s + u64::from(day) * DAY_S as u64;
    let (mut fresh, mut requests) = (0, 0);
    let days = LEARNING_DAYS..DAYS;
    let pages = pages(web);
    for page in &pages {
        let times = fetch_times.get(page).map_or(&[][..], Vec::as_slice);
        requests += times.iter().filter(|time_s| (day(days.start)..day(days.end)).contains(time_s)).count();
        for now_s in days.clone().map(day) {
            let last_s = times[..times.partition_point(|time_s| *time_s <= now_s)].last();
            fresh += usize::from(
                last_s.is_some_and(|last_s| version(web, *page, *last_s) == version(web, *page, now_s)),
            );
        }
    }
    Measurement {
        freshness: fresh as f64 / (pages.len() * days.len()) as f64,
        requests_per_day: requests as f64 / days.len() as f64,
    }
}

fn pages(web: &SimWeb) -> Vec<PageRef> {
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    sites
        .flat_map(|site| {
            let all = (0..site.pages)
                .filter(|page| web.world.page_ground_truth(&site, *page).crawlable)
                .collect::<Vec<_>>();
            all.into_iter().map(move |page| PageRef { site: site.index, page })
        })
        .collect()
}

/// ETag of a page at a time.
fn version(web: &SimWeb, page: PageRef, seconds: u64) -> Option<String> {
    let url = web.world.url(page);
    let path = format!("/{}", url.split_once("://")?.1.split_once('/')?.1);
    let request = SimRequest { if_none_match: Some("*"), ..SimRequest::new(&path, seconds) };
    web.world.respond(&web.world.site(page.site), &request).etag
}

/// The pages as a model for the simulator.
fn simulated(web: &SimWeb, pages: &[PageRef]) -> WebModel {
    let page = |page: &PageRef| WebPage {
        site: SiteId(page.site),
        is_dynamic: false,
        changes_per_day: web.world.page_ground_truth(&web.world.site(page.site), page.page).changes_per_day
            as f32,
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
    WebModel::new(pages.iter().map(page).collect(), web.world.site_indexes().map(site).collect(), all)
}

/// Freshness that the simulator predicts for revisits by priority and for uniform revisits, with this number of requests per
/// change. It is the mean of several random Webs, because the variance of a single small one is high.
fn predict(web: &WebModel, requests_per_change: f64) -> (f64, f64) {
    let of = |guide| {
        let scores = (0..WEBS).map(|seed| {
            let rules = RefreshParams {
                politeness: Politeness { site_delay_ms: 0, large_site_delay_ms: 0, ..Politeness::default() },
                requests_per_change,
                learning_days: f64::from(LEARNING_DAYS),
                measured_days: f64::from(DAYS - LEARNING_DAYS),
                seed,
                ..RefreshParams::default()
            };
            simulate_refresh(web, guide, &rules).freshness
        });
        scores.sum::<f64>() / WEBS as f64
    };
    (
        of(RefreshPolicy::Estimated(
            PriorityModel { objective: Objective::Freshness, ..PriorityModel::default() },
            None,
        )),
        of(RefreshPolicy::Uniform),
    )
}

const WEBS: u64 = 8;

#[test]
#[allow(clippy::print_stderr, reason = "prints the measured values")]
fn revisits_by_priority_are_fresher_than_uniform_ones_with_as_many_requests() {
    let web = web();
    let pages = pages(&web);
    let simulated = simulated(&web, &pages);
    let changes: f64 = simulated.pages.iter().map(|page| f64::from(page.changes_per_day)).sum();
    let budget = (changes * BUDGET_SHARE).round();
    let (by_priority, uniform) = predict(&simulated, budget / changes);
    drop(web);

    // A page that becomes due waits for the next day, half a day on average.
    let period_s = ((pages.len() as f64 / budget - 0.5) * DAY_S) as u32;
    let uniform_run = thread::spawn(move || {
        crawl_for_months(budget as u32, |settings| {
            settings.revisits = RevisitIntervals { success_s: period_s, ..RevisitIntervals::default() };
        })
    });
    let priority_run = crawl_for_months(budget as u32, |settings| {
        settings.revisits = RevisitIntervals { success_s: 3_600, ..RevisitIntervals::default() };
        settings.priority = PriorityModel {
            quality_exponent: 0.0,
            objective: Objective::Freshness,
            ..PriorityModel::default()
        };
    });
    let uniform_run = uniform_run.join().unwrap();
    let found = format!(
        "{} pages, {changes:.0} changes per day: priority {:.3} with {:.1} requests per day, uniform {:.3} with {:.1}; \
         predicted {by_priority:.3} and {uniform:.3} with {budget}",
        pages.len(),
        priority_run.freshness,
        priority_run.requests_per_day,
        uniform_run.freshness,
        uniform_run.requests_per_day,
    );
    eprintln!("{found}");
    assert!(priority_run.requests_per_day <= budget * 1.02, "{found}");
    assert!(by_priority > uniform + 0.03, "the simulator must predict a gain: {found}");
    // On a busy machine some days have fewer requests.
    assert!(priority_run.freshness > uniform_run.freshness + 0.6 * (by_priority - uniform), "{found}");
}
