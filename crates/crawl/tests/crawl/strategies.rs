//! Strategies: in each batch, the fetched pages are the best of the waiting ones by the criterion of the strategy.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crawl::{CrawlLimits, explain_priority};
use frontier::{Strategy, streaming_pagerank};
use harvest::CrawlSettings;
use model::PageId;
use simweb::{Settings, SimWeb};
use store::{Collection, PageRecord, PageStage, SiteRecord, Snapshot};

use crate::web::{collection, run, settings, start};

const BATCHES: usize = 12;
const BATCH_PAGES: usize = 25;

/// Waiting pages and their value by the criterion.
type Waiting = BTreeMap<String, f64>;

fn crawl_by(strategy: Strategy, fact: impl Fn(&Snapshot, PageId, &PageRecord) -> f64) {
    let web = start(Settings { sites: 8, pages: 700, dynamic: 0.3, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    let settings = CrawlSettings { strategy, max_batch_pages: BATCH_PAGES, ..settings(&web) };
    let mut compared = 0;
    for batch in 0..BATCHES {
        let waiting = waiting(&collection, &fact);
        let before = web.log.entries().len();
        run(&mut collection, settings.clone(), CrawlLimits { batches: Some(1), ..CrawlLimits::default() });
        let requested = requested(&web, before);
        let (fetched, rest): (Vec<_>, Vec<_>) = waiting.iter().partition(|(url, _)| requested.contains(*url));
        if fetched.is_empty() || rest.is_empty() {
            continue;
        }
        compared += 1;
        let worst = fetched.iter().map(|(_, fact)| **fact).fold(f64::MAX, f64::min);
        let best = rest.iter().map(|(_, fact)| **fact).fold(f64::MIN, f64::max);
        assert!(
            worst >= best - 1e-6 * best.abs(),
            "{strategy}, batch {batch}: {worst} was fetched, {best} was not"
        );
    }
    assert!(compared >= BATCHES / 2, "{strategy}: {compared} batches were compared");
}

/// Pages that can be selected now. Front pages of sites never contacted are excluded: they come first in every strategy.
fn waiting(collection: &Collection, fact: impl Fn(&Snapshot, PageId, &PageRecord) -> f64) -> Waiting {
    let snapshot = Snapshot::open(collection.dir(), None).unwrap();
    let mut waiting = Waiting::new();
    for page in (0..snapshot.page_state.pages()).map(PageId) {
        let record = snapshot.page_state.get(page).unwrap().unwrap();
        let site: SiteRecord = snapshot.site_state.get(record.site).unwrap().unwrap();
        if record.stage == PageStage::Discovered && site.last_seen_s > 0 && site.alias_of.is_none() {
            let url = snapshot.urls.url(page).unwrap().unwrap();
            waiting.insert(url, fact(&snapshot, page, &record));
        }
    }
    waiting
}

/// URLs requested since then.
fn requested(web: &SimWeb, before: usize) -> BTreeSet<String> {
    let port = web.world.ports.http;
    let entries = web.log.entries().split_off(before);
    entries.iter().map(|entry| format!("http://{}:{port}{}", entry.host, entry.path)).collect()
}

#[test]
fn breadth_first_fetches_the_least_deep_pages() {
    crawl_by(Strategy::BreadthFirst, |_, _, record| -f64::from(record.depth));
}

#[test]
fn backlinks_fetches_the_pages_with_most_inlinks() {
    crawl_by(Strategy::Backlinks, |_, _, record| f64::from(record.inlinks));
}

fn pending(snapshot: &Snapshot, record: &PageRecord) -> f64 {
    let site = snapshot.site_state.get(record.site).unwrap().unwrap();
    f64::from(site.pages_known - site.pages_fetched)
}

#[test]
fn larger_sites_first_fetches_from_sites_with_most_waiting_pages() {
    crawl_by(Strategy::LargerSitesFirst, |snapshot, _, record| pending(snapshot, record));
}

#[test]
fn bfs_larger_sites_fetches_the_least_deep_pages_of_sites_with_most_waiting_pages() {
    crawl_by(Strategy::BfsLargerSites, |snapshot, _, record| {
        pending(snapshot, record) / 1e6 - f64::from(record.depth)
    });
}

#[test]
fn opic_fetches_the_pages_with_most_cash() {
    crawl_by(Strategy::Opic, |_, _, record| f64::from(record.cash));
}

/// PageRank with the precision of the manager.
fn ranks(snapshot: &Snapshot) -> Vec<f32> {
    let ranks = streaming_pagerank(snapshot.page_state.pages() as usize, |visit| {
        snapshot.links.for_each(|source, links| {
            let targets: Vec<PageId> = links.iter().map(|link| link.target).collect();
            visit(source, &targets);
            Ok(())
        })
    });
    ranks.unwrap().into_iter().map(|rank| rank as f32).collect()
}

#[test]
fn pagerank_strategies_fetch_the_pages_with_the_highest_rank() {
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
fn wire_and_random_fetch_the_pages_with_the_highest_priority() {
    for strategy in [Strategy::Wire, Strategy::Random] {
        let settings = CrawlSettings { strategy, ..CrawlSettings::default() };
        crawl_by(strategy, |snapshot, page, record| {
            f64::from(explain_priority(snapshot, &settings, page, record, 0).unwrap().priority)
        });
    }
}

/// No cash is lost: each page starts with 1, and the rest is in the shared account.
#[test]
fn cash_is_distributed_and_none_is_lost() {
    let web = start(Settings { sites: 8, pages: 300, ..Settings::plain() });
    let dir = tempfile::tempdir().unwrap();
    let mut collection = collection(dir.path(), &web);
    run(&mut collection, settings(&web), CrawlLimits::default());
    let pages: Vec<PageId> = (0..collection.page_state.reader().pages()).map(PageId).collect();
    let records = collection.page_state.reader().get_many(&pages).unwrap();
    let owned: f64 = records.iter().map(|record| f64::from(record.cash)).sum();
    let shared = crawl::CrawlState::from_manifest(collection.manifest().unwrap()).unwrap().shared_cash();
    let all = pages.len() as f64;
    assert!(((owned + shared) - all).abs() < all * 1e-3, "{owned} and {shared} of {all}");
    assert!(
        records.iter().any(|record| record.cash + record.cash_history > 3.0),
        "no page has accumulated cash"
    );
}
