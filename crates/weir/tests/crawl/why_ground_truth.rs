//! Answers of `weir why` for URLs drawn from a synthetic Web, compared with its ground truth.

use crawl::CrawlLimits;
use fetch::NetworkFilter;
use harvest::{CrawlHandle, CrawlSettings};
use inspect::{UrlReport, explain_url};
use model::{UrlBatch, UrlRules};
use simweb::{Certificate, Endpoints, Health, PageRef, RobotsKind, Settings, SimWeb, Site};
use store::{Cancellation, Collection, PageFlags, PageRecord, PageStoreSettings, Snapshot};

/// Number of URLs; in the long version of the test, 1,000.
fn sample_size() -> usize {
    if crate::long() { 1_000 } else { 200 }
}

/// A Web with all faults that are not a matter of time.
fn web() -> SimWeb {
    let settings = Settings {
        sites: 80,
        pages: 2_500,
        page_bytes: 4_000.0,
        crawl_delay_s: 0,
        mirrors: 0.0,
        aliases: 0.05,
        traps: 0.0,
        session_ids: 0.0,
        rate_limited: 0.0,
        slow: 0.0,
        slow_body: 0.0,
        flaky: 0.0,
        unresponsive: 0.0,
        robots_slow: 0.0,
        clock: 0.0,
        ..Settings::default()
    };
    SimWeb::start(settings, &Endpoints::default()).unwrap()
}

fn settings(web: &SimWeb) -> CrawlSettings {
    let mut settings = CrawlSettings::default();
    let mut networks = NetworkFilter::public();
    networks.allow("127.0.0.0/8").unwrap();
    settings.fetch.network_filter = networks;
    settings.fetch.extra_ca_pem = web.authority_pem.clone().into_bytes();
    settings.dns.name_servers = web.dns.into_iter().collect();
    (settings.politeness.site_delay_ms, settings.politeness.large_site_delay_ms) = (0, 0);
    (settings.retry.initial_back_off_ms, settings.retry.max_back_off_ms) = (20, 200);
    (settings.retry.initial_page_retry_ms, settings.retry.max_page_retry_ms) = (50, 200);
    settings.max_idle_ms = 500;
    settings.follow_links_of_duplicates = true;
    settings
}

/// Crawls the Web from its portal.
fn crawl_web(web: &SimWeb, settings: &CrawlSettings, dir: &std::path::Path) {
    let mut collection = Collection::create(dir, PageStoreSettings::default().into()).unwrap();
    let mut seeds = UrlBatch::new();
    let portal = web.world.url(PageRef { site: 0, page: 0 });
    seeds.push(&UrlRules::default().canonical(&portal).unwrap());
    collection.resolve(&seeds, 0, |page| PageRecord::new(page.site, 0, PageFlags::SEED)).unwrap();
    collection.commit(0).unwrap();
    crawl::crawl(&mut collection, &CrawlHandle::new(settings.clone()), CrawlLimits::default()).unwrap();
}

/// Judges an answer; the error says what was expected.
fn judge(web: &SimWeb, site: &Site, index: u32, report: &UrlReport) -> Result<(), String> {
    let truth = web.world.page_ground_truth(site, index);
    let (stage, reason) = (report.stage, report.reason);
    let expect = |is_right: bool, expected: &str| if is_right { Ok(()) } else { Err(expected.to_owned()) };
    if matches!(truth.kind, "image" | "pdf") {
        return expect(reason == Some("file-extension"), "a file that is not fetched");
    }
    if report.site.as_ref().is_some_and(|site| site.alias_of.is_some()) {
        return expect(reason == Some("site-alias") || stage == "fetched", "an alias of another site");
    }
    // A page of a site without content is known only if another site links to it.
    let is_of_site = |reasons: &[&str]| match reason {
        Some(reason) => reasons.contains(&reason),
        None => stage == "unknown" && index > 0,
    };
    match site.health {
        Health::NxDomain => return expect(is_of_site(&["dns-not-found"]), "a name that does not exist"),
        Health::ServFail => return expect(is_of_site(&["dns-failed"]), "a name server that fails"),
        Health::Down => return expect(is_of_site(&["robots-unreachable"]), "a site that is down"),
        _ => {}
    }
    if site.https && site.certificate != Certificate::Good {
        let reasons = ["robots-unreachable", "invalid-certificate", "site-failing"];
        return expect(is_of_site(&reasons), "an invalid certificate");
    }
    match site.robots {
        RobotsKind::ServerError => {
            return expect(is_of_site(&["robots-unreachable"]), "an unreachable robots.txt");
        }
        _ if !truth.allowed => {
            return expect(reason == Some("robots-disallowed"), "disallowed by robots.txt");
        }
        _ => {}
    }
    if !truth.reachable {
        return expect((stage, reason) == ("unknown", None), "a page without links to it");
    }
    match truth.kind {
        "not_found" | "gone" => {
            expect((stage, reason) == ("failed", Some("client-error")), "HTTP 404 or 410")
        }
        "server_error" => expect((stage, reason) == ("failed", Some("server-error")), "HTTP 500"),
        "truncated" | "reset" => expect(reason.is_some(), "an incomplete body"),
        kind => expect((stage, reason) == ("fetched", None), kind),
    }
}

#[test]
fn why_is_right_for_randomly_drawn_urls() {
    let web = web();
    let settings = settings(&web);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c");
    crawl_web(&web, &settings, &path);
    let snapshot = Snapshot::open(&path, None).unwrap();
    let all: Vec<(u32, u32)> = web
        .world
        .site_indexes()
        .flat_map(|site| (0..web.world.site(site).pages).map(move |page| (site, page)))
        .collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut wrong = Vec::new();
    for _ in 0..sample_size() {
        // Xorshift: the same URLs in each run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (site, page) = all[(state % all.len() as u64) as usize];
        let url = web.world.url(PageRef { site, page });
        let report = explain_url(&snapshot, &settings, &url, 0, &Cancellation::default()).unwrap();
        if let Err(expected) = judge(&web, &web.world.site(site), page, &report) {
            wrong.push(format!("{url}: {} ({:?}), expected {expected}", report.stage, report.reason));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        sample_size(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}
