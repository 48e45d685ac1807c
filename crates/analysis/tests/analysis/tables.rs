//! The tables: they agree with each other and with the columns, for any memory limit.

use std::collections::BTreeMap;
use std::path::Path;

use super::sample::{MEMORY, Sample};
use analysis::{Event, GraphSettings, Threads, analyze};
use store::{
    ComponentRows, DomainRows, PageRows, RankColumn, RankTarget, Rows, SiteRows, Snapshot, TableReader,
};

fn rows<R: Rows, T>(dir: &Path, of: impl Fn(&R::Row<'_>) -> T) -> Vec<T> {
    let table = TableReader::<R>::open_derived(dir).unwrap().unwrap();
    let mut rows = Vec::new();
    table.for_each_row(|row| rows.push(of(row))).unwrap();
    rows
}

fn all_of_pages(dir: &Path) -> Vec<String> {
    // Without the columns that need the links in memory: there may be too little.
    rows::<PageRows, _>(dir, |page| {
        format!("{:?}", store::PageRow { component: None, bow_tie_part: None, ..*page })
    })
}

#[test]
fn pages_are_the_same_with_little_memory() {
    const PAGES: u32 = 70_000;
    let mut sample = Sample::new();
    let urls: Vec<String> =
        (0..PAGES).map(|page| format!("http://s{}.d{}.test/{page}", page % 9, page % 4)).collect();
    sample.add_urls(urls.iter().map(String::as_str));
    for page in [0, 3, 65_535, 65_536, 69_999] {
        sample.store_page(page, "<title>old</title>", &[(1, 10)]);
        sample.store_page(page, "<title>new</title>", &[(2, 20), (7, 20)]);
    }
    sample.commit();
    let run = |settings: &GraphSettings| analyze(sample.path(), settings, &mut |_: Event<'_>| ()).unwrap();
    run(&MEMORY);
    let all = all_of_pages(sample.path());
    std::fs::remove_dir_all(sample.path().join("parquet/pages")).unwrap();
    run(&GraphSettings { memory_bytes: 1 << 20, threads: Threads(2) });
    assert!(all_of_pages(sample.path()) == all);
    let fetched = rows::<PageRows, _>(sample.path(), |page| {
        (page.page_id, page.stage == "fetched", page.outcome.is_some())
    });
    let fetched: Vec<u32> = fetched
        .into_iter()
        .filter(|(_, is_fetched, has_outcome)| *is_fetched && *has_outcome)
        .map(|(page, ..)| page)
        .collect();
    assert_eq!(fetched, [0, 3, 65_535, 65_536, 69_999]);
}

#[test]
fn tables_agree_with_the_columns_and_with_each_other() {
    let mut sample = Sample::random(2_000, 30, 9_000, 21);
    for page in 0..200 {
        sample.store_page(page, &format!("<title>{page}</title>"), &[(page + 1, 10)]);
    }
    sample.commit();
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    let dir = sample.path();
    let snapshot = Snapshot::open(dir, None).unwrap();
    let ids: Vec<model::PageId> = (0..sample.pages).map(model::PageId).collect();
    let urls = rows::<PageRows, _>(dir, |page| Some(page.url.to_owned()));
    assert_eq!(urls, snapshot.urls.urls(&ids).unwrap());
    let column = RankColumn::<f32>::open(dir, RankTarget::Pages, "pagerank").unwrap().unwrap();
    assert_eq!(rows::<PageRows, _>(dir, |page| page.pagerank.unwrap()), column.read_all().unwrap());

    let mut by_site: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    let mut by_component: BTreeMap<u32, i64> = BTreeMap::new();
    for (site, component, bytes) in rows::<PageRows, _>(dir, |page| {
        (page.site_id, page.component.unwrap(), page.content_length.unwrap_or(0))
    }) {
        let sums = by_site.entry(site).or_default();
        *sums = (sums.0 + 1, sums.1 + bytes);
        *by_component.entry(component).or_default() += 1;
    }
    let sites = rows::<SiteRows, _>(dir, |site| (site.site_id, (site.pages_known, site.content_bytes)));
    assert_eq!(sites.into_iter().collect::<BTreeMap<_, _>>(), by_site);
    let components = rows::<ComponentRows, _>(dir, |component| (component.component, component.pages));
    assert_eq!(components.into_iter().collect::<BTreeMap<_, _>>(), by_component);
    let domains = rows::<DomainRows, _>(dir, |domain| {
        (domain.url_host_registered_domain.to_owned(), domain.pages_known)
    });
    assert_eq!(domains.iter().map(|(_, pages)| pages).sum::<i64>(), i64::from(sample.pages));
    assert!(domains.iter().all(|(domain, _)| domain.ends_with(".test") && domain.matches('.').count() == 1));
}
