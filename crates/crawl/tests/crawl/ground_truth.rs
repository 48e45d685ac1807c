//! Does a crawl find what there is, and nothing else?

use std::collections::BTreeSet;

use crawl::CrawlEnd;
use simweb::{Settings, SimWeb};

use crate::web::{collection, fetched, run, settings, start, urls};

#[test]
fn a_plain_web_is_found_page_by_page() {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    run(&mut collection, settings(&web), CrawlEnd::default());
    assert_same(&truth(&web), &urls(&collection, fetched));
}

#[test]
fn a_web_with_everything_that_can_happen_is_found_page_by_page() {
    let web =
        start(Settings { sites: 100, pages: 4_000, crawl_delay_s: 0, slow_ms: 20, ..Settings::default() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    settings.patience.first_back_off_ms = 50;
    settings.patience.most_back_off_ms = 500;
    settings.patience.first_retry_ms = 100;
    settings.patience.most_retry_ms = 500;
    settings.longest_pause_ms = 5_000;
    settings.patience.page_failures = 8;
    settings.fetch.first_byte_timeout = std::time::Duration::from_secs(3);
    run(&mut collection, settings, CrawlEnd::default());
    assert_same(&truth(&web), &urls(&collection, fetched));
}

/// What a polite crawler should have in the end.
fn truth(web: &SimWeb) -> BTreeSet<String> {
    let mut truth = BTreeSet::new();
    for site in 0..web.world.settings.sites as u32 {
        let site = web.world.site(site);
        for page in 0..site.pages {
            let page = web.world.page_truth(&site, page);
            if page.crawlable {
                truth.insert(page.url);
            }
        }
    }
    truth
}

fn assert_same(truth: &BTreeSet<String>, found: &BTreeSet<String>) {
    let missing: Vec<_> = truth.difference(found).collect();
    let unexpected: Vec<_> = found.difference(truth).collect();
    let some = |all: &[&String]| all.iter().take(12).map(|url| format!("\n  {url}")).collect::<String>();
    assert!(
        missing.is_empty() && unexpected.is_empty(),
        "{} of {} are missing:{}\n{} are unexpected:{}",
        missing.len(),
        truth.len(),
        some(&missing),
        unexpected.len(),
        some(&unexpected)
    );
}
