//! Table scans: every row is seen once for any number of threads, and the example in the documentation works.

use std::collections::BTreeMap;
use std::path::Path;

use super::sample::{MEMORY, Sample, link};
use analysis::{Analyzer, Counter, Event, HyperLogLog, Inputs, Moments, TableScan, Threads, analyze};
use parse::Document;
use store::{FetchRow, LinkRow, PageRow, SiteRow, Snapshot};

/// Records its input.
#[derive(Clone, Default)]
struct Seen {
    pages: Vec<u32>,
    sites: Vec<u32>,
    fetches: u64,
    links: BTreeMap<(u32, Option<u32>), u32>,
    titles: BTreeMap<u32, String>,
}

impl Analyzer for Seen {
    const INPUTS: Inputs =
        Inputs::PAGES.and(Inputs::SITES).and(Inputs::FETCHES).and(Inputs::LINKS).and(Inputs::DOCUMENTS);
    type Output = Seen;

    fn page(&mut self, page: &PageRow<'_>) {
        self.pages.push(page.page_id);
    }

    fn site(&mut self, site: &SiteRow<'_>) {
        self.sites.push(site.site_id);
    }

    fn fetch(&mut self, _: &FetchRow<'_>) {
        self.fetches += 1;
    }

    fn link(&mut self, link: &LinkRow<'_>) {
        *self.links.entry((link.source_page_id, link.target_page_id)).or_default() += 1;
    }

    fn document(&mut self, page: &PageRow<'_>, document: &Document) {
        self.titles.insert(page.page_id, document.title.clone());
    }

    fn merge(&mut self, other: Seen) {
        self.pages.extend(other.pages);
        self.sites.extend(other.sites);
        self.fetches += other.fetches;
        other.links.into_iter().for_each(|(link, count)| *self.links.entry(link).or_default() += count);
        self.titles.extend(other.titles);
    }

    fn finish(self) -> Seen {
        self
    }
}

/// A second analyzer for the same pass.
#[derive(Clone, Default)]
struct Depths(Moments, HyperLogLog);

impl Analyzer for Depths {
    const INPUTS: Inputs = Inputs::PAGES;
    type Output = (Moments, f64);

    fn page(&mut self, page: &PageRow<'_>) {
        self.0.add(page.depth.into());
        self.1.insert(page.url);
    }

    fn merge(&mut self, other: Depths) {
        self.0.merge(&other.0);
        self.1.merge(&other.1);
    }

    fn finish(self) -> (Moments, f64) {
        (self.0, self.1.estimate())
    }
}

#[test]
fn every_row_is_seen_once_for_any_number_of_threads() {
    let mut sample = Sample::random(700, 20, 2_000, 11);
    sample.store_page(3, "<title>three</title><h1>3</h1>", &[(4, 10), (5, 10)]);
    sample.store_page(9, "<title>nine</title>", &[(3, 20)]);
    sample.commit();
    // Parsed again: its earlier links no longer count.
    sample.store_page(3, "<title>three, again</title>", &[(6, 30)]);
    sample.commit();
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    for threads in [1, 2, 5] {
        let scan = TableScan::open(&snapshot, Threads(threads)).unwrap();
        let mut progress = Vec::new();
        let (seen, (depths, urls)) =
            scan.run(&(Seen::default(), Depths::default()), &mut |step| progress.push(step)).unwrap();
        assert!(seen.pages.iter().copied().eq(0..sample.pages), "in their order");
        assert!(seen.sites.iter().copied().eq(0..snapshot.site_state.sites()));
        assert_eq!(seen.fetches, 3);
        assert_eq!(seen.links, BTreeMap::from([((3, Some(6)), 1), ((9, Some(3)), 1)]));
        let titles = [(3, "three, again".to_owned()), (9, "nine".to_owned())];
        assert_eq!(seen.titles, BTreeMap::from(titles));
        assert_eq!((depths.count, depths.max), (u64::from(sample.pages), 0.0));
        assert!((urls / f64::from(sample.pages) - 1.0).abs() < 0.03, "{urls}");
        assert!(progress.iter().all(|step| step.rows <= step.total));
        assert_eq!(progress.iter().filter(|step| step.rows == step.total).count(), 5, "{progress:?}");
    }
}

#[test]
fn only_an_analysed_commit_can_be_scanned() {
    let mut sample = Sample::random(50, 3, 100, 12);
    let refused = |sample: &Sample| {
        let snapshot = Snapshot::open(sample.path(), None).unwrap();
        let error = TableScan::open(&snapshot, Threads(1)).err().unwrap();
        assert!(error.to_string().contains("run `weir analyze`"), "{error}");
    };
    refused(&sample);
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    sample.parse(1, vec![link(2)]);
    sample.commit();
    refused(&sample);
}

#[allow(dead_code, reason = "a separate program; only its analyzer is tested here")]
#[path = "../../examples/headings.rs"]
mod headings;

#[test]
fn the_documented_example_is_the_one_that_is_tested() {
    let mut sample = Sample::random(20, 2, 30, 13);
    sample.store_page(3, "<title>three</title><h1>3</h1>", &[]);
    sample.store_page(4, "<title>four</title><h2>4</h2>", &[]);
    sample.commit();
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let scan = TableScan::open(&snapshot, Threads(2)).unwrap();
    let headings_counter = headings::Headings { languages: Counter::new(10) };
    let found = scan.run(&headings_counter, &mut |_| ()).unwrap();
    assert_eq!(found.counts, [("unknown".to_owned(), 1)]);

    let text =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let (document, example) = (text("../../docs/analysis.md"), text("examples/headings.rs"));
    let code = example.split_once("\n\n").unwrap().1.split_once("\nfn main").unwrap().0;
    assert!(document.contains(code.trim()), "docs/analysis.md does not show examples/headings.rs");
}
