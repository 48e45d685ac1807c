//! Does a crawl find what there is, and nothing else?

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crawl::CrawlEnd;
use frontier::RejectPatterns;
use model::SiteId;
use simweb::{Copied, Settings, SimWeb};
use store::{Collection, PageRecord, SiteRecord, WarcReader};

use crate::web::{collection, fetched, run, settings, start, urls};

#[test]
fn a_plain_web_is_found_page_by_page() {
    let web = start(Settings { sites: 20, pages: 600, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    settings.gather.keep_requests = true;
    run(&mut collection, settings, CrawlEnd::default());
    let found = urls(&collection, fetched);
    assert_same(&truth(&web), &found);
    assert_eq!(kept_requests(folder.path()), found);
}

/// The URLs whose requests are in the page files, each with our name.
fn kept_requests(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder.join("pages")).unwrap().map(|file| file.unwrap().path());
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
fn a_web_with_everything_that_can_happen_is_found_page_by_page() {
    let (sites, pages) = if long() { (2_000, 200_000) } else { (100, 4_000) };
    let web =
        start(Settings { sites, pages, crawl_delay_s: 0, slow_ms: 20, dripping: 0.0, ..Settings::default() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    settings.patience.first_back_off_ms = 50;
    settings.patience.most_back_off_ms = 500;
    settings.patience.first_retry_ms = 100;
    settings.patience.most_retry_ms = 500;
    settings.longest_pause_ms = 5_000;
    settings.patience.page_failures = 8;
    // Who knows of a trap says so; that the others end by their limits is another test.
    settings.gather.scope.reject = RejectPatterns::new(["/calendar/", "/archive/", "/maze/"]).unwrap();
    settings.fetch.first_byte_timeout = std::time::Duration::from_secs(3);
    // A site and its copy: whichever page came second would lead nowhere, and which one that is is a matter of chance.
    settings.links_of_duplicates = true;
    run(&mut collection, settings, CrawlEnd::default());
    // Pages whose bodies break off are kept as far as they came.
    let whole = |record: &PageRecord| fetched(record) && record.status == 200 && record.reason == 0;
    let (found, truth) = (urls(&collection, whole), truth(&web));
    let copies = copied_sites(&web);
    let is_copy = |url: &&String| copies.iter().any(|site| url.starts_with(site));
    let invented: Vec<_> = found.iter().filter(is_copy).filter(|url| !truth.contains(*url)).collect();
    assert!(invented.is_empty(), "{invented:?}");
    tell_of_missing(&collection, &truth, &found);
    assert_same(&under_first_names(&web, &truth), &under_first_names(&web, &found));
    assert_aliases_are_known(&web, &collection);
}

/// Whether there is time: `WEIR_LONG=1`.
fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Where the URLs of mirrors and aliases begin.
fn copied_sites(web: &SimWeb) -> Vec<String> {
    let truths = (0..web.world.settings.sites as u32).map(|site| web.world.site_truth(site));
    truths.filter(|truth| truth.copy.is_some()).map(|truth| truth.url).collect()
}

/// Mirrors are left out: the links of their duplicates are not followed, so only some pages are there. A site with two names
/// is gone through under the one that is met first.
/// What became of pages that should be there, for whoever reads why the test failed.
#[allow(clippy::print_stderr, reason = "read when the test has failed")]
fn tell_of_missing(collection: &Collection, truth: &BTreeSet<String>, found: &BTreeSet<String>) {
    let rules = model::UrlRules::default();
    for url in truth.difference(found).take(12) {
        let page = collection.urls.known().find(&rules.canonical(url).unwrap()).unwrap();
        let record = page.map(|page| collection.pages.reader().get(page).unwrap().unwrap());
        eprintln!("{url}: {record:?}");
    }
}

fn under_first_names(web: &SimWeb, urls: &BTreeSet<String>) -> BTreeSet<String> {
    let truths = || (0..web.world.settings.sites as u32).map(|site| web.world.site_truth(site));
    let first_names: Vec<(String, Option<String>)> = truths()
        .filter(|truth| truth.copy.is_some())
        .map(|truth| {
            let is_alias = truth.copy == Some(Copied::Alias);
            let named = |other: &simweb::SiteTruth| Some(&other.name) == truth.copy_of.as_ref();
            (truth.url, truths().find(named).filter(|_| is_alias).map(|first| first.url))
        })
        .collect();
    let first = |url: &String| match first_names.iter().find(|(copy, _)| url.starts_with(copy)) {
        Some((copy, first)) => first.as_ref().map(|first| url.replacen(copy, first, 1)),
        None => Some(url.clone()),
    };
    urls.iter().filter_map(first).collect()
}

/// Second names on one address are recognised, and nothing else is taken for one.
fn assert_aliases_are_known(web: &SimWeb, collection: &Collection) {
    let mut aliases = 0;
    for number in 0..web.world.settings.sites as u32 {
        let truth = web.world.site_truth(number);
        let known = collection.urls.known();
        let Some(site) = known.find_site(truth.url.trim_end_matches('/')) else { continue };
        let record = collection.sites.reader().get(site).unwrap().unwrap();
        let original = record.alias_of.and_then(|site| known.site_name(site)).unwrap_or_default();
        match (truth.copy, record.alias_of) {
            (None | Some(Copied::Mirror), None) => {}
            // Of two names either may be met first.
            (None, Some(_)) => {
                let other = web.world.site_truth(site_number(web, original));
                assert_eq!(
                    other.copy_of.as_deref(),
                    Some(truth.name.as_str()),
                    "{} of {original}",
                    truth.url
                );
            }
            (Some(Copied::Mirror), Some(_)) => panic!("{} is a mirror, no alias of {original}", truth.url),
            // Where both names were seen, one of them is known for the other.
            (Some(Copied::Alias), alias_of) => {
                let name = truth.copy_of.unwrap_or_default();
                let twin = (0..web.world.settings.sites as u32).map(|site| web.world.site_truth(site));
                let twin = twin.filter(|twin| twin.name == name).find_map(|twin| {
                    let site = known.find_site(twin.url.trim_end_matches('/'))?;
                    collection.sites.reader().get(site).unwrap()
                });
                let seen = |record: &SiteRecord| record.front_hash != 0 && record.robots_fetched_s != 0;
                if let Some(twin) = twin.filter(|twin| seen(twin) && seen(&record)) {
                    aliases += 1;
                    assert!(alias_of.is_some() || twin.alias_of.is_some(), "{} of {name}", truth.url);
                }
            }
        }
    }
    assert!(aliases > 0, "this Web has no alias to be found");
}

fn site_number(web: &SimWeb, name: &str) -> u32 {
    let mut sites = 0..web.world.settings.sites as u32;
    sites.find(|site| web.world.site_truth(*site).url.trim_end_matches('/') == name).unwrap()
}

#[test]
fn endless_sites_come_to_an_end() {
    let web = start(Settings { sites: 8, pages: 100, traps: 1.0, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let mut settings = settings(&web);
    settings.limits.pages_per_site = 120;
    run(&mut collection, settings, CrawlEnd::default());
    let found = urls(&collection, fetched);
    let missing: Vec<_> = truth(&web).difference(&found).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let sites = collection.sites.reader();
    let most = (0..sites.sites()).map(|site| sites.get(SiteId(site)).unwrap().unwrap().pages_known).max();
    assert!((120..1_000).contains(&most.unwrap()), "{most:?}");
}

/// What a polite crawler should have in the end.
pub(crate) fn truth(web: &SimWeb) -> BTreeSet<String> {
    let mut truth = BTreeSet::new();
    for site in 0..web.world.settings.sites as u32 {
        let site = web.world.site(site);
        for page in 0..site.pages {
            let page = web.world.page_truth(&site, page);
            // Pictures and papers are counted and not fetched.
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
