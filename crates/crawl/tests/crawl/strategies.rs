//! Does each strategy ask first for what its name says? Batch by batch: of the pages that waited, those that the servers were
//! asked for are the best.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crawl::{CrawlEnd, CrawlSettings, judge};
use frontier::{Strategy, forward_rank};
use model::PageId;
use simweb::{Settings, SimWeb};
use store::{Collection, PageRecord, SiteRecord, Snapshot, Stage};

use crate::web::{collection, run, settings, start};

const BATCHES: usize = 12;
const BATCH_PAGES: usize = 25;

/// A page that waits, and what speaks for it.
type Waiting = BTreeMap<String, f64>;

fn crawl_by(strategy: Strategy, fact: impl Fn(&Snapshot, PageId, &PageRecord) -> f64) {
    let web = start(Settings { sites: 8, pages: 700, dynamic: 0.3, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    let settings = CrawlSettings { strategy, batch_pages: BATCH_PAGES, ..settings(&web) };
    let mut compared = 0;
    for batch in 0..BATCHES {
        let waiting = waiting(&collection, &fact);
        let before = web.log.entries().len();
        run(&mut collection, settings.clone(), CrawlEnd { cycles: Some(1), ..CrawlEnd::default() });
        let asked = asked(&web, before);
        let (chosen, left): (Vec<_>, Vec<_>) = waiting.iter().partition(|(url, _)| asked.contains(*url));
        if chosen.is_empty() || left.is_empty() {
            continue;
        }
        compared += 1;
        let worst = chosen.iter().map(|(_, fact)| **fact).fold(f64::MAX, f64::min);
        let best = left.iter().map(|(_, fact)| **fact).fold(f64::MIN, f64::max);
        assert!(
            worst >= best - 1e-6 * best.abs(),
            "{strategy}, batch {batch}: {worst} was asked for, {best} left"
        );
    }
    assert!(compared >= BATCHES / 2, "{strategy}: {compared} batches were compared");
}

/// The pages that can be chosen now; front pages of sites that nobody has asked yet come first whatever the strategy.
fn waiting(collection: &Collection, fact: impl Fn(&Snapshot, PageId, &PageRecord) -> f64) -> Waiting {
    let snapshot = Snapshot::open(collection.folder(), None).unwrap();
    let mut waiting = Waiting::new();
    for page in (0..snapshot.pages.pages()).map(PageId) {
        let record = snapshot.pages.get(page).unwrap().unwrap();
        let site: SiteRecord = snapshot.sites.get(record.site).unwrap().unwrap();
        if record.stage == Stage::New && site.last_seen_s > 0 && site.alias_of.is_none() {
            let url = snapshot.urls.url(page).unwrap().unwrap();
            waiting.insert(url, fact(&snapshot, page, &record));
        }
    }
    waiting
}

/// What the servers were asked for since then.
fn asked(web: &SimWeb, before: usize) -> BTreeSet<String> {
    let port = web.world.ports.http;
    let entries = web.log.entries().split_off(before);
    entries.iter().map(|entry| format!("http://{}:{port}{}", entry.host, entry.path)).collect()
}

#[test]
fn breadth_first_asks_for_the_nearest() {
    crawl_by(Strategy::BreadthFirst, |_, _, record| -f64::from(record.depth));
}

#[test]
fn backlinks_asks_for_the_most_linked() {
    crawl_by(Strategy::Backlinks, |_, _, record| f64::from(record.in_links));
}

fn pending(snapshot: &Snapshot, record: &PageRecord) -> f64 {
    let site = snapshot.sites.get(record.site).unwrap().unwrap();
    f64::from(site.pages_known - site.pages_fetched)
}

#[test]
fn larger_sites_first_asks_where_most_pages_wait() {
    crawl_by(Strategy::LargerSitesFirst, |snapshot, _, record| pending(snapshot, record));
}

#[test]
fn bfs_larger_sites_asks_for_the_nearest_where_most_pages_wait() {
    crawl_by(Strategy::BfsLargerSites, |snapshot, _, record| {
        pending(snapshot, record) / 1e6 - f64::from(record.depth)
    });
}

#[test]
fn opic_asks_for_the_richest() {
    crawl_by(Strategy::Opic, |_, _, record| f64::from(record.cash));
}

/// With as many digits as the manager keeps.
fn ranks(snapshot: &Snapshot) -> Vec<f32> {
    let ranks = forward_rank(snapshot.pages.pages() as usize, |each| {
        snapshot.links.for_each(|source, links| {
            let targets: Vec<PageId> = links.iter().map(|link| link.target).collect();
            each(source, &targets);
            Ok(())
        })
    });
    ranks.unwrap().into_iter().map(|rank| rank as f32).collect()
}

#[test]
fn pagerank_asks_for_the_highest_rank() {
    for strategy in [Strategy::BatchPageRank, Strategy::PartialPageRank] {
        let known = RefCell::new((u64::MAX, Vec::new()));
        crawl_by(strategy, |snapshot, page, _| {
            let mut known = known.borrow_mut();
            if known.0 != snapshot.manifest.generation {
                *known = (snapshot.manifest.generation, ranks(snapshot));
            }
            f64::from(known.1[page.index()])
        });
    }
}

#[test]
fn wire_and_random_ask_for_what_they_say_is_best() {
    for strategy in [Strategy::Wire, Strategy::Random] {
        let settings = CrawlSettings { strategy, ..CrawlSettings::default() };
        crawl_by(strategy, |snapshot, page, record| {
            f64::from(judge(snapshot, &settings, page, record, 0).unwrap().profit)
        });
    }
}

/// No cash is lost: each page brought 1, and what no page has lies in common.
#[test]
fn cash_is_passed_on_and_none_is_lost() {
    let web = start(Settings { sites: 8, pages: 300, ..Settings::plain() });
    let folder = tempfile::tempdir().unwrap();
    let mut collection = collection(folder.path(), &web);
    run(&mut collection, settings(&web), CrawlEnd::default());
    let pages: Vec<PageId> = (0..collection.pages.reader().pages()).map(PageId).collect();
    let records = collection.pages.reader().get_many(&pages).unwrap();
    let owned: f64 = records.iter().map(|record| f64::from(record.cash)).sum();
    let common = collection.notes.get("common cash").copied().unwrap_or(0) as f64 / 1e6;
    let all = pages.len() as f64;
    assert!(((owned + common) - all).abs() < all * 1e-3, "{owned} and {common} of {all}");
    assert!(
        records.iter().any(|record| record.cash + record.cash_history > 3.0),
        "nobody has become important"
    );
}
