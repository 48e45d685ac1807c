//! Is the graph that of the log of links? Whatever memory there is, and whether it grew commit by commit or at once.

use std::fs;
use std::path::Path;

use super::sample::{Chance, MEMORY, Sample, arcs_of, link};
use analysis::{Cores, Csr, Event, GraphSettings, LinkGraph, Step, StepReport, analyze};
use store::{RankColumn, Ranked, Snapshot};

fn build(folder: &Path, settings: &GraphSettings) -> LinkGraph {
    LinkGraph::build(&Snapshot::open(folder, None).unwrap(), settings, &mut |_| ()).unwrap()
}

fn all_steps(folder: &Path, settings: &GraphSettings) -> Vec<StepReport> {
    analyze(folder, settings, &mut |_: Event<'_>| ()).unwrap()
}

fn found(reports: &[StepReport], step: Step) -> &serde_json::Value {
    &reports.iter().find(|report| report.step == step).unwrap().found
}

fn ranks(folder: &Path, of: Ranked, name: &str) -> Vec<f32> {
    RankColumn::open(folder, of, name).unwrap().unwrap().read_all().unwrap()
}

#[test]
fn nodes_are_in_the_order_of_surt_keys() {
    let sample = Sample::random(3_000, 40, 20_000, 1);
    let graph = build(sample.path(), &MEMORY);
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let rules = model::UrlRules::default();
    let pages: Vec<model::PageId> = graph.pages().unwrap().into_iter().map(model::PageId).collect();
    let keys: Vec<String> = snapshot
        .urls
        .urls(&pages)
        .unwrap()
        .into_iter()
        .map(|url| rules.canonical(&url.unwrap()).unwrap().surt())
        .collect();
    assert!(
        keys.is_sorted() && keys.windows(2).any(|pair| pair[0] == pair[1]),
        "some differ in the scheme only"
    );
    let sites = graph.sites().unwrap();
    for (page, place) in pages.iter().zip(graph.site_places().unwrap()) {
        assert_eq!(snapshot.urls.site_of(*page).unwrap().unwrap().0, sites[place as usize]);
    }
}

#[test]
fn little_memory_gives_the_same_graph() {
    let sample = Sample::random(5_000, 100, 60_000, 2);
    let graph = build(sample.path(), &MEMORY);
    let arcs = arcs_of(&graph);
    assert!(arcs.keys().copied().eq(sample.arcs()));
    assert_eq!(graph.about.arcs, arcs.len() as u64);
    assert!(
        graph.about.self_arcs > 0
            && graph.about.self_arcs == arcs.keys().filter(|(a, b)| a == b).count() as u64
    );
    let bytes = fs::read(graph.folder().join("forward.graph")).unwrap();
    let little = GraphSettings { memory_bytes: 20_000, cores: Cores(3) };
    let again = build(sample.path(), &little);
    assert_eq!(arcs_of(&again), arcs);
    assert_eq!(fs::read(again.folder().join("forward.graph")).unwrap(), bytes);
    let names =
        fs::read_dir(again.folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name == "scratch"));
}

#[test]
fn a_graph_that_grew_is_that_of_everything_at_once() {
    let mut chance = Chance(3);
    let mut sample = Sample::new();
    let mut spared = false;
    for round in 0..8 {
        sample.add_pages(800, 50, &mut chance);
        sample.add_links(3_000, &mut chance);
        if round % 2 == 0 {
            // A page that loses all its links.
            let source = *sample.links.keys().next().unwrap();
            sample.parse(source, Vec::new());
        }
        sample.commit();
        let grown = build(sample.path(), &MEMORY);
        assert!(arcs_of(&grown).keys().copied().eq(sample.arcs()), "round {round}");
        spared |= grown.about.sorted_pages < sample.links.len() as u64;
        let folders = fs::read_dir(sample.path().join("graph")).unwrap().count();
        assert_eq!(folders, 1, "stale graphs are gone");
    }
    assert!(spared, "all pages are sorted again and again");
    let grown = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let arcs = arcs_of(&grown);
    let bytes = fs::read(grown.folder().join("forward.graph")).unwrap();
    fs::remove_dir_all(sample.path().join("graph")).unwrap();
    let at_once = build(sample.path(), &MEMORY);
    assert_eq!(arcs_of(&at_once), arcs);
    assert_eq!(fs::read(at_once.folder().join("forward.graph")).unwrap(), bytes);
}

#[test]
fn steps_are_done_once_and_again_when_the_collection_or_a_column_has_changed() {
    let mut sample = Sample::random(500, 20, 3_000, 4);
    let first = all_steps(sample.path(), &MEMORY);
    assert!(first.iter().map(|report| report.step).eq(Step::ALL) && first.iter().all(|report| !report.known));
    let second = all_steps(sample.path(), &MEMORY);
    assert!(second.iter().all(|report| report.known && report.skipped.is_none()), "{second:?}");
    let hub = fs::read_dir(sample.path().join("ranks")).unwrap().map(|entry| entry.unwrap().path());
    fs::remove_file(hub.into_iter().find(|path| path.to_string_lossy().contains("pages-hub")).unwrap())
        .unwrap();
    let third = all_steps(sample.path(), &MEMORY);
    let repeated: Vec<Step> = third.iter().filter(|report| !report.known).map(|report| report.step).collect();
    assert_eq!(repeated, [Step::Hits, Step::Tables, Step::Statistics]);
    fs::remove_dir_all(sample.path().join("parquet/files")).unwrap();
    let again = all_steps(sample.path(), &MEMORY);
    let repeated: Vec<Step> = again.iter().filter(|report| !report.known).map(|report| report.step).collect();
    assert_eq!(repeated, [Step::Outside, Step::Tables, Step::Statistics]);
    let before = ranks(sample.path(), Ranked::Pages, "pagerank");
    sample.parse(7, vec![link(8)]);
    sample.commit();
    let fourth = all_steps(sample.path(), &MEMORY);
    assert!(fourth.iter().all(|report| !report.known));
    let steps = |reports: &[StepReport]| reports[2].found["steps"].as_u64().unwrap();
    assert!(steps(&fourth) <= steps(&first), "it starts from the last ranks");
    assert_ne!(ranks(sample.path(), Ranked::Pages, "pagerank"), before);
    assert_eq!(
        store::list_snapshots(sample.path()).unwrap().iter().filter(|entry| entry.name.is_some()).count(),
        0
    );
}

#[test]
fn what_does_not_fit_into_memory_is_ranked_all_the_same() {
    let sample = Sample::random(4_000, 60, 50_000, 5);
    all_steps(sample.path(), &MEMORY);
    let names = ["pagerank", "link-rank", "hub", "authority"];
    let before = names.map(|name| ranks(sample.path(), Ranked::Pages, name));
    fs::remove_dir_all(sample.path().join("ranks")).unwrap();
    let little = GraphSettings { memory_bytes: 150_000, cores: Cores(2) };
    let reports = all_steps(sample.path(), &little);
    let skipped: Vec<Step> =
        reports.iter().filter(|report| report.skipped.is_some()).map(|report| report.step).collect();
    assert_eq!(skipped, [Step::Structure]);
    for (name, before) in names.into_iter().zip(before) {
        let now = ranks(sample.path(), Ranked::Pages, name);
        let apart = now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-7, "{name}: {apart}");
    }
    let reports = all_steps(sample.path(), &MEMORY);
    assert!(reports.iter().all(|report| report.skipped.is_none()), "with memory it is done");
}

#[test]
fn graphs_of_nothing_and_of_little() {
    let part = |folder: &Path, page: u32| {
        let column = RankColumn::<u32>::open(folder, Ranked::Pages, "part").unwrap().unwrap();
        analysis::Part::ALL[column.get(page).unwrap().unwrap() as usize].as_str()
    };
    // Nothing at all, before any commit and after an empty one.
    let mut sample = Sample::new();
    all_steps(sample.path(), &MEMORY);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert!(ranks(sample.path(), Ranked::Pages, "pagerank").is_empty());
    // One page.
    sample.add_urls(["http://a.test/"]);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert_eq!(ranks(sample.path(), Ranked::Pages, "pagerank"), [1.0]);
    assert_eq!(ranks(sample.path(), Ranked::Sites, "site-rank"), [1.0]);
    // No links.
    sample.add_urls(["http://a.test/1", "http://b.test/"]);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert_eq!(ranks(sample.path(), Ranked::Pages, "pagerank"), [1.0 / 3.0; 3]);
    assert_eq!(ranks(sample.path(), Ranked::Pages, "hub"), [0.0; 3]);
    // Links to itself only: for PageRank they count, for HITS they do not.
    (0..3).for_each(|page| sample.parse(page, vec![link(page); 3]));
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    assert_eq!((&reports[0].found["arcs"], &reports[0].found["self_arcs"]), (&3.into(), &3.into()));
    assert_eq!(ranks(sample.path(), Ranked::Pages, "authority"), [0.0; 3]);
    assert_eq!([0, 1, 2].map(|page| part(sample.path(), page)), ["main-norm", "islands", "islands"]);
    // A chain: everything is a component of its own.
    sample.parse(0, vec![link(1)]);
    sample.parse(1, vec![link(2)]);
    sample.parse(2, vec![]);
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    assert_eq!(reports[5].found["pages"]["components"], 3);
    let far = found(&reports, Step::Distances);
    assert!((far["average"].as_f64().unwrap() - 4.0 / 3.0).abs() < 0.02, "{far}");
}

#[test]
fn a_page_that_all_link_to() {
    const PAGES: u32 = 200_000;
    let mut sample = Sample::new();
    let urls: Vec<String> = (0..PAGES).map(|page| format!("http://a.test/{page}")).collect();
    sample.add_urls(urls.iter().map(String::as_str));
    (0..PAGES).for_each(|page| sample.parse(page, vec![link(17)]));
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    assert_eq!(reports[1].found["most_in"], PAGES);
    let rank = ranks(sample.path(), Ranked::Pages, "pagerank");
    let others = 0.15 / PAGES as f32;
    assert!((rank[17] - (1.0 - others * (PAGES - 1) as f32)).abs() < 1e-6 && (rank[3] - others).abs() < 1e-9);
    let graph = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let node = graph.nodes().unwrap()[17];
    assert_eq!(graph.backward().unwrap().successors(node).unwrap().len(), PAGES as usize);
    assert!(graph.backward().unwrap().bits() < u64::from(PAGES) + 200, "a list of everything takes no space");
}

#[test]
fn only_a_collection_is_analysed_and_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    assert!(analyze(folder.path(), &MEMORY, &mut |_: Event<'_>| ()).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let sample = Sample::random(100, 5, 200, 6);
    let mut second = None;
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| {
        second.get_or_insert_with(|| analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()));
    })
    .unwrap();
    let error = second.unwrap().unwrap_err();
    assert!(matches!(error, analysis::Error::Busy { .. }), "{error}");
}

#[test]
fn a_flipped_byte_of_any_file_is_an_error_or_a_new_graph_and_never_a_panic() {
    let sample = Sample::random(400, 10, 3_000, 8);
    let graph = build(sample.path(), &MEMORY);
    let files: Vec<_> = fs::read_dir(graph.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 20, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            let Ok(Some(graph)) = LinkGraph::newest(sample.path()) else { continue };
            let forward = graph.forward().and_then(|graph| Csr::of(&graph, Cores(2)));
            let backward = graph.backward().and_then(|graph| Csr::of(&graph, Cores(2)));
            let numbers = [graph.pages(), graph.nodes(), graph.sites(), graph.site_places()];
            let weights = [graph.forward_weights(), graph.backward_weights()];
            let found = forward.is_err()
                || backward.is_err()
                || numbers.iter().any(Result::is_err)
                || weights.iter().any(Result::is_err)
                || graph.site_graph().is_err();
            let name = path.file_name().unwrap().to_string_lossy();
            // The text of properties has remarks, and offsets are for others.
            assert!(found || !name.ends_with(".graph") && !name.contains("weights"), "{name} at byte {at}");
        }
        fs::write(&path, &bytes).unwrap();
    }
}
