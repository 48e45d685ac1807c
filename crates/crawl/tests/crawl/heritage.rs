//! Does a new crawl begin with what an old one knew?

use std::path::Path;

use crawl::{Heir, add_seeds, heirs, inherit};
use frontier::Limits;
use model::{CanonicalUrl, ExtensionLists, PageId, UrlRules};
use store::{Collection, PageSettings, Snapshot, Stage};

fn url(text: &str) -> CanonicalUrl {
    UrlRules::default().canonical(text).unwrap()
}

fn begin(folder: &Path, seeds: &[CanonicalUrl]) -> Collection {
    let mut collection = Collection::create(folder, PageSettings::default().into()).unwrap();
    add_seeds(&mut collection, &ExtensionLists::default(), &Limits::default(), seeds).unwrap();
    collection
}

#[test]
fn sites_isolated_pages_and_change_rates_are_inherited() {
    let old = tempfile::tempdir().unwrap();
    let names = [
        "http://a.test/",
        "http://a.test/alone",
        "http://a.test/failed",
        "http://b.test/x",
        "http://silent.test/",
    ];
    let mut collection = begin(old.path(), &names.map(url));
    let find =
        |collection: &Collection, name: &str| collection.urls.known().find(&url(name)).unwrap().unwrap();
    let ids: Vec<PageId> = names.iter().map(|name| find(&collection, name)).collect();
    collection
        .pages
        .update(&ids, |index, record| {
            record.stage = if index == 2 { Stage::Failed } else { Stage::Fetched };
            record.changes_per_day = index as f32 + 0.5;
        })
        .unwrap();
    let sites: Vec<model::SiteId> =
        collection.pages.reader().get_many(&ids).unwrap().iter().map(|page| page.site).collect();
    collection.sites.update(&sites[..4], |_, record| record.last_seen_s = 1).unwrap();
    collection.commit(0).unwrap();

    let snapshot = Snapshot::open(old.path(), None).unwrap();
    let told = |roots_only| heirs(&snapshot, &UrlRules::default(), roots_only).unwrap();
    let heir = |name: &str, changes_per_day| Heir { url: url(name), changes_per_day };
    let roots = [heir("http://a.test/", 0.5), heir("http://b.test/", 0.0)];
    assert_eq!(told(true), roots);
    let all = told(false);
    let [root, other] = roots;
    // A seed is kept though its site was never there.
    let seed = heir("http://silent.test/", 4.5);
    assert_eq!(all, [root, heir("http://a.test/alone", 1.5), other, heir("http://b.test/x", 3.5), seed]);

    let new = tempfile::tempdir().unwrap();
    let urls: Vec<CanonicalUrl> = all.iter().map(|heir| heir.url.clone()).collect();
    let mut collection = begin(new.path(), &urls);
    inherit(&mut collection, &all).unwrap();
    for heir in &all {
        let page = find(&collection, heir.url.as_str());
        let record = collection.pages.reader().get(page).unwrap().unwrap();
        assert_eq!(
            (record.changes_per_day, record.inherited_changes_per_day, record.stage, record.visits),
            (heir.changes_per_day, heir.changes_per_day, Stage::New, 0)
        );
    }
}
