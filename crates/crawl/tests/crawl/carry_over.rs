//! Carry-over of sites, pages and change rates to a new collection.

use std::path::Path;

use crawl::{CarryOver, add_seeds, apply_carry_over, list_carry_over};
use frontier::Limits;
use model::{CanonicalUrl, ExtensionLists, PageId, UrlRules};
use store::{Collection, PageStage, PageStoreSettings, Snapshot};

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonical(text).unwrap()
}

fn create(dir: &Path, seeds: &[CanonicalUrl]) -> Collection {
    let mut collection = Collection::create(dir, PageStoreSettings::default().into()).unwrap();
    add_seeds(&mut collection, &ExtensionLists::default(), &Limits::default(), seeds).unwrap();
    collection
}

#[test]
fn linked_but_unfetched_pages_are_carried_over_with_the_front_page_of_their_site() {
    let old = tempfile::tempdir().unwrap();
    let names = ["http://a.test/", "http://a.test/deep/x", "http://never.test/y", "http://alias.test/z"];
    let mut collection = create(old.path(), &names.map(url));
    let find = |name: &str| collection.urls.reader().find(&url(name)).unwrap().unwrap();
    let ids = names.map(find);
    let sites: Vec<model::SiteId> =
        collection.page_state.reader().get_many(&ids).unwrap().iter().map(|page| page.site).collect();
    // Only the front page of the first site was fetched; nothing is a seed.
    collection
        .page_state
        .update(&ids, |index, record| {
            (record.flags, record.inlinks) = (store::PageFlags::default(), 3);
            if index == 0 {
                (record.stage, record.fetch_count) = (PageStage::Fetched, 1);
            }
        })
        .unwrap();
    collection.site_state.update(&[sites[0]], |_, record| record.last_seen_s = 1).unwrap();
    collection.site_state.update(&[sites[3]], |_, record| record.alias_of = Some(sites[0])).unwrap();
    collection.commit(0).unwrap();
    let snapshot = Snapshot::open(old.path(), None).unwrap();
    let expected = ["http://a.test/", "http://a.test/deep/x", "http://never.test/", "http://never.test/y"];
    for front_pages_only in [false, true] {
        let listed = list_carry_over(&snapshot, &UrlRules::default(), front_pages_only).unwrap();
        let urls: Vec<&str> = listed.iter().map(|page| page.url.as_str()).collect();
        assert_eq!(urls, expected);
    }
}

#[test]
fn front_pages_unlinked_pages_and_change_rates_are_carried_over() {
    let old = tempfile::tempdir().unwrap();
    let names = [
        "http://a.test/",
        "http://a.test/alone",
        "http://a.test/failed",
        "http://b.test/x",
        "http://silent.test/",
    ];
    let mut collection = create(old.path(), &names.map(url));
    let find =
        |collection: &Collection, name: &str| collection.urls.reader().find(&url(name)).unwrap().unwrap();
    let ids: Vec<PageId> = names.iter().map(|name| find(&collection, name)).collect();
    collection
        .page_state
        .update(&ids, |index, record| {
            record.stage = if index == 2 { PageStage::Failed } else { PageStage::Fetched };
            record.changes_per_day = index as f32 + 0.5;
        })
        .unwrap();
    let sites: Vec<model::SiteId> =
        collection.page_state.reader().get_many(&ids).unwrap().iter().map(|page| page.site).collect();
    collection.site_state.update(&sites[..4], |_, record| record.last_seen_s = 1).unwrap();
    collection.commit(0).unwrap();

    let snapshot = Snapshot::open(old.path(), None).unwrap();
    let listed =
        |front_pages_only| list_carry_over(&snapshot, &UrlRules::default(), front_pages_only).unwrap();
    let carry_over = |name: &str, changes_per_day| CarryOver { url: url(name), changes_per_day };
    let roots = [carry_over("http://a.test/", 0.5), carry_over("http://b.test/", 0.0)];
    assert_eq!(listed(true), roots);
    let all = listed(false);
    let [root, other] = roots;
    // A seed is carried over although its site never responded.
    let seed = carry_over("http://silent.test/", 4.5);
    assert_eq!(
        all,
        [root, carry_over("http://a.test/alone", 1.5), other, carry_over("http://b.test/x", 3.5), seed]
    );

    let new = tempfile::tempdir().unwrap();
    let urls: Vec<CanonicalUrl> = all.iter().map(|page| page.url.clone()).collect();
    let mut collection = create(new.path(), &urls);
    apply_carry_over(&mut collection, &all).unwrap();
    for expected in &all {
        let page = find(&collection, expected.url.as_str());
        let record = collection.page_state.reader().get(page).unwrap().unwrap();
        assert_eq!(
            (record.changes_per_day, record.carried_over_changes_per_day, record.stage, record.fetch_count),
            (expected.changes_per_day, expected.changes_per_day, PageStage::Discovered, 0)
        );
    }
}
