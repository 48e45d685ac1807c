//! Traps cost little, and real sites are crawled whole, measured against the ground truth.

use std::collections::BTreeSet;

use crawl::CrawlLimits;
use simweb::{Settings, SimWeb};
use store::PageRecord;

use crate::ground_truth::{copied_sites, long, truth};
use crate::web::{collection, fetched, run, settings, start, urls};

/// Share of the fetched pages that are in the truth, and share of the truth that is fetched.
fn precision_and_recall(truth: &BTreeSet<String>, found: &BTreeSet<String>) -> (f64, f64) {
    let both = truth.intersection(found).count() as f64;
    (both / found.len() as f64, both / truth.len() as f64)
}

/// Web with all phenomena at their default shares in the long version, and a small one with traps and sessions otherwise.
fn web_with_traps() -> SimWeb {
    let sites = std::env::var("WEIR_TRAP_SITES").ok().and_then(|sites| sites.parse::<u64>().ok());
    match sites.or(long().then_some(2_000)) {
        Some(sites) => start(Settings {
            sites,
            pages: sites * 110,
            crawl_delay_s: 0,
            slow_ms: 20,
            slow_body: 0.0,
            unresponsive: 0.0,
            rate_limited: 0.0,
            ..Settings::default()
        }),
        None => start(Settings {
            sites: 20,
            pages: 3_000,
            traps: 0.1,
            session_ids: 0.1,
            duplicates: 0.05,
            near_duplicates: 0.05,
            dynamic: 0.15,
            ..Settings::plain()
        }),
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "shows the measured values")]
fn traps_cost_little_and_sites_are_crawled_whole() {
    let web = web_with_traps();
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    settings.retry.initial_back_off_ms = 50;
    settings.retry.max_back_off_ms = 500;
    settings.retry.initial_page_retry_ms = 100;
    settings.retry.max_page_retry_ms = 500;
    settings.retry.max_page_failures = 5;
    settings.max_idle_ms = 2_000;
    settings.fetch.first_byte_timeout = std::time::Duration::from_secs(3);
    run(&mut collection, settings, CrawlLimits::default());
    let is_page = |record: &PageRecord| fetched(record) && record.status == 200;
    let (mut truth, mut found) = (truth(&web), urls(&collection, is_page));
    // Of mirrors and aliases, some pages are fetched before they are recognised.
    let copies = copied_sites(&web);
    for urls in [&mut truth, &mut found] {
        urls.retain(|url| !copies.iter().any(|site| url.starts_with(site)));
    }
    let (precision, recall) = precision_and_recall(&truth, &found);
    eprintln!(
        "{} fetched, {} in the truth, precision {precision:.4}, recall {recall:.4}",
        found.len(),
        truth.len()
    );
    assert!(precision >= 0.95 && recall >= 0.99, "precision {precision}, recall {recall}");
}
