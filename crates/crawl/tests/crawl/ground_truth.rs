//! A crawl finds all pages of the ground truth and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crawl::CrawlLimits;
use frontier::ScopeRules;
use model::SiteId;
use simweb::{ReplicaKind, Settings, SimWeb};
use store::{Collection, PageRecord, SiteRecord};
use warc::WarcReader;

use crate::web::{collection, fetched, run, settings, start, urls};

#[test]
fn a_plain_web_is_crawled_completely() {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    settings.gathering.store_requests = true;
    run(&mut collection, settings, CrawlLimits::default());
    let found = urls(&collection, fetched);
    assert_same(&truth(&web), &found);
    assert_eq!(stored_requests(dir.path()), found);
}

/// URLs of the stored request records, which must have our User-Agent.
fn stored_requests(dir: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(dir.join("pages")).unwrap().map(|file| file.unwrap().path());
    let warcs = files.filter(|path| path.to_string_lossy().ends_with(".warc.gz"));
    let records = warcs.flat_map(|path| WarcReader::open(&path).unwrap()).map(|record| record.unwrap());
    let requests = records.filter(|record| record.header.get("WARC-Type") == Some("request"));
    let checked = requests.inspect(|record| {
        let text = String::from_utf8_lossy(record.block()).into_owned();
        assert!(text.starts_with("GET /") && text.contains("\r\nUser-Agent: weir/"), "{text}");
    });
    checked.map(|record| record.header.url().unwrap().to_owned()).collect()
}

#[test]
fn a_web_with_all_faults_is_crawled_completely() {
    let (sites, pages) = if long() { (2_000, 200_000) } else { (100, 4_000) };
    let web = start(Settings {
        sites,
        pages,
        crawl_delay_s: 0,
        slow_ms: 20,
        slow_body: 0.0,
        ..Settings::default()
    });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    settings.retry.initial_back_off_ms = 50;
    settings.retry.max_back_off_ms = 500;
    settings.retry.initial_page_retry_ms = 100;
    settings.retry.max_page_retry_ms = 500;
    settings.max_idle_ms = 5_000;
    settings.retry.max_page_failures = 8;
    // Traps are excluded here; another test checks the limits.
    settings.gathering.scope.reject = ScopeRules::new(["/calendar/", "/archive/", "/maze/"]).unwrap();
    settings.fetch.first_byte_timeout = std::time::Duration::from_secs(3);
    // Of a site and its mirror, the page fetched second is a duplicate; which one that is depends on timing.
    settings.follow_links_of_duplicates = true;
    run(&mut collection, settings, CrawlLimits::default());
    // Truncated pages are stored, but do not count here.
    let whole = |record: &PageRecord| fetched(record) && record.status == 200 && record.reason.is_none();
    let truth = truth(&web);
    // A mirror names the sitemap of its origin, which is a page of the crawl then.
    let is_page = |url: &String| !url.contains("/sitemap");
    let found: BTreeSet<String> = urls(&collection, whole).into_iter().filter(is_page).collect();
    let copies = copied_sites(&web);
    let is_copy = |url: &&String| copies.iter().any(|site| url.starts_with(site));
    let invented: Vec<_> = found.iter().filter(is_copy).filter(|url| !truth.contains(*url)).collect();
    assert!(invented.is_empty(), "{invented:?}");
    print_missing(&collection, &truth, &found);
    assert_same(&under_first_names(&web, &truth), &under_first_names(&web, &found));
    assert_aliases_are_known(&web, &collection);
}

/// Whether the long version is requested: `WEIR_LONG=1`.
pub(crate) fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}

/// URL prefixes of mirrors and aliases.
pub(crate) fn copied_sites(web: &SimWeb) -> Vec<String> {
    let truths = (0..web.world.settings.sites as u32).map(|site| web.world.site_ground_truth(site));
    truths.filter(|truth| truth.replica.is_some()).map(|truth| truth.url).collect()
}

/// Prints the records of missing pages, to explain a failure.
#[allow(clippy::print_stderr, reason = "explains a failure")]
fn print_missing(collection: &Collection, truth: &BTreeSet<String>, found: &BTreeSet<String>) {
    let rules = model::UrlRules::default();
    for url in truth.difference(found).take(12) {
        let page = collection.urls.reader().find(&rules.canonical(url).unwrap()).unwrap();
        let record = page.map(|page| collection.page_state.reader().get(page).unwrap().unwrap());
        eprintln!("{url}: {record:?}");
    }
}

/// Replaces aliases by the first name of their site, and removes mirrors, of which only some pages are fetched.
fn under_first_names(web: &SimWeb, urls: &BTreeSet<String>) -> BTreeSet<String> {
    let truths = || (0..web.world.settings.sites as u32).map(|site| web.world.site_ground_truth(site));
    let first_names: Vec<(String, Option<String>)> = truths()
        .filter(|truth| truth.replica.is_some())
        .map(|truth| {
            let is_alias = truth.replica == Some(ReplicaKind::Alias);
            let named = |other: &simweb::SiteGroundTruth| Some(&other.name) == truth.replica_of.as_ref();
            (truth.url, truths().find(named).filter(|_| is_alias).map(|first| first.url))
        })
        .collect();
    let first = |url: &String| match first_names.iter().find(|(copy, _)| url.starts_with(copy)) {
        Some((copy, first)) => first.as_ref().map(|first| url.replacen(copy, first, 1)),
        None => Some(url.clone()),
    };
    urls.iter().filter_map(first).collect()
}

/// Checks that aliases at one address are detected, and no other sites.
fn assert_aliases_are_known(web: &SimWeb, collection: &Collection) {
    let mut aliases = 0;
    for number in 0..web.world.settings.sites as u32 {
        let truth = web.world.site_ground_truth(number);
        let known = collection.urls.reader();
        let Some(site) = known.find_site(truth.url.trim_end_matches('/')) else { continue };
        let record = collection.site_state.reader().get(site).unwrap().unwrap();
        let original = record.alias_of.and_then(|site| known.site_name(site)).unwrap_or_default();
        match (truth.replica, record.alias_of) {
            (None | Some(ReplicaKind::Mirror), None) => {}
            // Either of two names may be fetched first.
            (None, Some(_)) => {
                let other = web.world.site_ground_truth(site_number(web, original));
                assert_eq!(
                    other.replica_of.as_deref(),
                    Some(truth.name.as_str()),
                    "{} of {original}",
                    truth.url
                );
            }
            (Some(ReplicaKind::Mirror), Some(_)) => {
                panic!("{} is a mirror, not an alias of {original}", truth.url)
            }
            // If both names were fetched, one of them is an alias of the other.
            (Some(ReplicaKind::Alias), alias_of) => {
                let name = truth.replica_of.unwrap_or_default();
                let twin = (0..web.world.settings.sites as u32).map(|site| web.world.site_ground_truth(site));
                let twin = twin.filter(|twin| twin.name == name).find_map(|twin| {
                    let site = known.find_site(twin.url.trim_end_matches('/'))?;
                    collection.site_state.reader().get(site).unwrap()
                });
                let seen = |record: &SiteRecord| record.front_page_hash != 0 && record.robots_fetched_s != 0;
                if let Some(twin) = twin.filter(|twin| seen(twin) && seen(&record)) {
                    aliases += 1;
                    assert!(alias_of.is_some() || twin.alias_of.is_some(), "{} of {name}", truth.url);
                }
            }
        }
    }
    assert!(aliases > 0, "this Web has no aliases");
}

fn site_number(web: &SimWeb, name: &str) -> u32 {
    let mut sites = 0..web.world.settings.sites as u32;
    sites.find(|site| web.world.site_ground_truth(*site).url.trim_end_matches('/') == name).unwrap()
}

#[test]
fn crawler_traps_end_at_the_page_limit() {
    let web = start(Settings { sites: 8, pages: 100, traps: 1.0, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let mut settings = settings(&web);
    settings.limits.pages_per_site = 120;
    run(&mut collection, settings, CrawlLimits::default());
    let found = urls(&collection, fetched);
    let missing: Vec<_> = truth(&web).difference(&found).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let sites = collection.site_state.reader();
    let max_pages =
        (0..sites.sites()).map(|site| sites.get(SiteId(site)).unwrap().unwrap().pages_known).max();
    assert!((120..1_000).contains(&max_pages.unwrap()), "{max_pages:?}");
}

/// URLs of all crawlable pages.
pub(crate) fn truth(web: &SimWeb) -> BTreeSet<String> {
    let mut truth = BTreeSet::new();
    for site in 0..web.world.settings.sites as u32 {
        let site = web.world.site(site);
        for page in 0..site.pages {
            let page = web.world.page_ground_truth(&site, page);
            // Images and PDF files are counted but not fetched.
            if page.crawlable && !matches!(page.kind, "image" | "pdf") {
                truth.insert(page.url);
            }
        }
    }
    truth
}

pub(crate) fn assert_same(truth: &BTreeSet<String>, found: &BTreeSet<String>) {
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
