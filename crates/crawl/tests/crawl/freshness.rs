//! Is a collection fresher that is kept by our choice of pages than one whose pages are all visited equally often? For weeks of
//! a changing Web, with the same requests, by the truth of its server; and by the margin that the simulator predicts?

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use crawl::{Clock, CrawlEnd, CrawlSettings, Revisits};
use frontier::{Aim, Profit, Waits};
use model::{PageId, SiteId};
use simulate::{RefreshGuide, RefreshRules, Web, WebPage, WebSite, keep_fresh};
use simweb::{Ask, PageRef, Settings, SimWeb};

use crate::web::{collection, run, settings, start};

/// Days of the Web in a real second, and how many a crawl goes on; the first are for learning.
const DAYS_PER_SECOND: f64 = 5.0;
const DAYS: u32 = 180;
const LEARNING_DAYS: u32 = 70;
const DAY_S: f64 = 86_400.0;
/// A tenth of what changes can be asked for.
const BUDGET_SHARE: f64 = 0.1;

fn web() -> SimWeb {
    start(Settings {
        sites: 6,
        pages: 300,
        validators: 1.0,
        changing: 1.0,
        changes_per_day: 0.2,
        change_spread: 1.5,
        clock: DAYS_PER_SECOND * DAY_S,
        ..Settings::plain()
    })
}

/// What one way of keeping a collection came to.
struct Kept {
    freshness: f64,
    requests_per_day: f64,
}

/// Crawls a Web for months by these settings.
fn keep(requests_per_day: u32, change: impl Fn(&mut CrawlSettings)) -> Kept {
    let web = web();
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    settings.clock = Some(Clock::sped_up(web.clock.now() * 1_000, DAYS_PER_SECOND * DAY_S));
    settings.requests_per_day = requests_per_day;
    (settings.sitemaps, settings.robots_rdf) = (false, false);
    settings.robots_period_s = u32::MAX / 2;
    change(&mut settings);
    let duration = Some(Duration::from_secs(86_400) * DAYS);
    run(&mut collection, settings, CrawlEnd { duration, continuous: true, ..CrawlEnd::default() });
    measure(&web)
}

/// How many copies were as their pages, on the mean of all days after the learning period: by the server's log and truth
/// alone.
fn measure(web: &SimWeb) -> Kept {
    // Clock and log begin together.
    let began_s = (web.world.settings.start_day * DAY_S) as u64;
    let mut asked: BTreeMap<PageRef, Vec<u64>> = BTreeMap::new();
    for entry in web.log.entries().iter().filter(|entry| matches!(entry.status, 200 | 304)) {
        let url = format!("http://{}:{}{}", entry.host, web.http.port(), entry.path);
        let time_s = began_s + (entry.start_us as f64 / 1e6 * DAYS_PER_SECOND * DAY_S) as u64;
        if let Some(page) = web.world.page_by_url(&url) {
            asked.entry(page).or_default().push(time_s);
        }
    }
    let day = |day: u32| began_s + u64::from(day) * DAY_S as u64;
    let (mut fresh, mut requests) = (0, 0);
    let days = LEARNING_DAYS..DAYS;
    let pages = pages(web);
    for page in &pages {
        let times = asked.get(page).map_or(&[][..], Vec::as_slice);
        requests += times.iter().filter(|time_s| (day(days.start)..day(days.end)).contains(time_s)).count();
        for now_s in days.clone().map(day) {
            let last_s = times[..times.partition_point(|time_s| *time_s <= now_s)].last();
            fresh += usize::from(
                last_s.is_some_and(|last_s| version(web, *page, *last_s) == version(web, *page, now_s)),
            );
        }
    }
    Kept {
        freshness: fresh as f64 / (pages.len() * days.len()) as f64,
        requests_per_day: requests as f64 / days.len() as f64,
    }
}

fn pages(web: &SimWeb) -> Vec<PageRef> {
    let sites = web.world.site_indexes().map(|site| web.world.site(site));
    sites
        .flat_map(|site| {
            let all = (0..site.pages)
                .filter(|page| web.world.page_truth(&site, *page).crawlable)
                .collect::<Vec<_>>();
            all.into_iter().map(move |page| PageRef { site: site.index, page })
        })
        .collect()
}

/// The tag of a page at a time.
fn version(web: &SimWeb, page: PageRef, seconds: u64) -> Option<String> {
    let url = web.world.url(page);
    let path = format!("/{}", url.split_once("://")?.1.split_once('/')?.1);
    let ask = Ask { if_none_match: Some("*"), ..Ask::new(&path, seconds) };
    web.world.answer(&web.world.site(page.site), &ask).etag
}

/// The pages as the simulator sees them.
fn simulated(web: &SimWeb, pages: &[PageRef]) -> Web {
    let page = |page: &PageRef| WebPage {
        site: SiteId(page.site),
        dynamic: false,
        changes_per_day: web.world.page_truth(&web.world.site(page.site), page.page).changes_per_day as f32,
        dated: true,
        has_content: true,
    };
    let site = |_| WebSite {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        front_page: None,
        answer_ms: 1,
        crawl_delay_ms: 0,
    };
    let all = (0..pages.len() as u32).map(PageId).collect();
    Web::new(pages.iter().map(page).collect(), web.world.site_indexes().map(site).collect(), all)
}

/// The freshness that the simulator predicts for our choice and for uniform visits, with so many requests for each change: on the
/// mean of a few Webs, since in one of so few pages there is much chance.
fn predict(web: &Web, requests_per_change: f64) -> (f64, f64) {
    let of = |guide| {
        let scores = (0..WEBS).map(|seed| {
            let rules = RefreshRules {
                waits: Waits { wait_ms: 0, large_site_wait_ms: 0, ..Waits::default() },
                requests_per_change,
                learning_days: f64::from(LEARNING_DAYS),
                measured_days: f64::from(DAYS - LEARNING_DAYS),
                seed,
                ..RefreshRules::default()
            };
            keep_fresh(web, guide, &rules).freshness
        });
        scores.sum::<f64>() / WEBS as f64
    };
    (of(RefreshGuide::Estimated(Profit::default(), None)), of(RefreshGuide::Uniform))
}

const WEBS: u64 = 8;

#[test]
#[allow(clippy::print_stderr, reason = "the figures are worth more than that they suffice")]
fn a_collection_is_fresher_than_by_uniform_visits_of_as_many_requests() {
    let web = web();
    let pages = pages(&web);
    let simulated = simulated(&web, &pages);
    let changes: f64 = simulated.pages.iter().map(|page| f64::from(page.changes_per_day)).sum();
    let budget = (changes * BUDGET_SHARE).round();
    let (chosen, uniform) = predict(&simulated, budget / changes);
    drop(web);

    // A page that becomes due waits for the next day, half a day on the mean.
    let period_s = ((pages.len() as f64 / budget - 0.5) * DAY_S) as u32;
    let by_turns = thread::spawn(move || {
        keep(budget as u32, |settings| {
            settings.revisits = Revisits { ok_s: period_s, ..Revisits::default() };
        })
    });
    let ours = keep(budget as u32, |settings| {
        settings.revisits = Revisits { ok_s: 3_600, ..Revisits::default() };
        settings.profit = Profit { quality_exponent: 0.0, aim: Aim::Freshness, ..Profit::default() };
    });
    let by_turns = by_turns.join().unwrap();
    let found = format!(
        "{} pages, {changes:.0} changes a day: ours {:.3} by {:.1} requests a day, uniform {:.3} by {:.1}; \
         predicted {chosen:.3} and {uniform:.3} by {budget}",
        pages.len(),
        ours.freshness,
        ours.requests_per_day,
        by_turns.freshness,
        by_turns.requests_per_day,
    );
    eprintln!("{found}");
    assert!(ours.requests_per_day <= budget * 1.02, "{found}");
    assert!(chosen > uniform + 0.03, "there is something to gain: {found}");
    // On a busy machine days pass in which less is asked for.
    assert!(ours.freshness > by_turns.freshness + 0.6 * (chosen - uniform), "{found}");
}
