//! The graph equals the link log, for any memory limit, and whether it was built commit by commit or at once.

use std::fs;
use std::path::Path;

use super::sample::{MEMORY, Random, Sample, arcs_of, link};
use analysis::{Csr, Event, GraphSettings, LinkGraph, Step, StepReport, StepResult, Threads, analyze};
use store::{RankColumn, RankTarget, Snapshot};

fn build(dir: &Path, settings: &GraphSettings) -> LinkGraph {
    LinkGraph::build(&Snapshot::open(dir, None).unwrap(), settings, &mut |_| ()).unwrap()
}

fn all_steps(dir: &Path, settings: &GraphSettings) -> Vec<StepReport> {
    analyze(dir, settings, &mut |_: Event<'_>| ()).unwrap()
}

fn result(reports: &[StepReport], step: Step) -> &StepResult {
    reports.iter().find(|report| report.step == step).unwrap().result.as_ref().unwrap()
}

fn ranks(dir: &Path, of: RankTarget, name: &str) -> Vec<f32> {
    RankColumn::open(dir, of, name).unwrap().unwrap().read_all().unwrap()
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
    for (page, site) in pages.iter().zip(graph.site_nodes().unwrap()) {
        assert_eq!(snapshot.urls.site_of(*page).unwrap().unwrap().0, sites[site as usize]);
    }
}

#[test]
fn a_small_memory_limit_gives_the_same_graph() {
    let sample = Sample::random(5_000, 100, 60_000, 2);
    let graph = build(sample.path(), &MEMORY);
    let arcs = arcs_of(&graph);
    assert!(arcs.keys().copied().eq(sample.arcs()));
    assert_eq!(graph.info.arcs, arcs.len() as u64);
    let bytes = fs::read(graph.dir().join("forward.graph")).unwrap();
    let little = GraphSettings { memory_bytes: 20_000, threads: Threads(3) };
    let again = build(sample.path(), &little);
    assert_eq!(arcs_of(&again), arcs);
    assert_eq!(fs::read(again.dir().join("forward.graph")).unwrap(), bytes);
    let names =
        fs::read_dir(again.dir()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name == "scratch"));
}

#[test]
fn a_graph_built_commit_by_commit_equals_one_built_at_once() {
    let mut random = Random(3);
    let mut sample = Sample::new();
    let mut has_reused = false;
    for round in 0..8 {
        sample.add_pages(800, 50, &mut random);
        sample.add_links(3_000, &mut random);
        if round % 2 == 0 {
            // A page that loses all its links.
            let source = *sample.links.keys().next().unwrap();
            sample.parse(source, Vec::new());
        }
        sample.commit();
        let grown = build(sample.path(), &MEMORY);
        assert!(arcs_of(&grown).keys().copied().eq(sample.arcs()), "round {round}");
        has_reused |= grown.info.sorted_pages < sample.links.len() as u64;
        let graphs = fs::read_dir(sample.path().join("graph")).unwrap().count();
        assert_eq!(graphs, 1, "old graphs are deleted");
    }
    assert!(has_reused, "the lists of unchanged pages are reused");
    let grown = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let arcs = arcs_of(&grown);
    let bytes = fs::read(grown.dir().join("forward.graph")).unwrap();
    fs::remove_dir_all(sample.path().join("graph")).unwrap();
    let at_once = build(sample.path(), &MEMORY);
    assert_eq!(arcs_of(&at_once), arcs);
    assert_eq!(fs::read(at_once.dir().join("forward.graph")).unwrap(), bytes);
}

#[test]
fn steps_run_once_and_again_when_the_collection_or_a_column_has_changed() {
    let mut sample = Sample::random(500, 20, 3_000, 4);
    let first = all_steps(sample.path(), &MEMORY);
    assert!(
        first.iter().map(|report| report.step).eq(Step::ALL) && first.iter().all(|report| !report.up_to_date)
    );
    let second = all_steps(sample.path(), &MEMORY);
    assert!(second.iter().all(|report| report.up_to_date && report.skipped.is_none()), "{second:?}");
    let hub = fs::read_dir(sample.path().join("ranks")).unwrap().map(|entry| entry.unwrap().path());
    fs::remove_file(hub.into_iter().find(|path| path.to_string_lossy().contains("pages-hub")).unwrap())
        .unwrap();
    let third = all_steps(sample.path(), &MEMORY);
    let repeated: Vec<Step> =
        third.iter().filter(|report| !report.up_to_date).map(|report| report.step).collect();
    assert_eq!(repeated, [Step::Hits, Step::Tables, Step::Statistics]);
    fs::remove_dir_all(sample.path().join("parquet/linked_files")).unwrap();
    let again = all_steps(sample.path(), &MEMORY);
    let repeated: Vec<Step> =
        again.iter().filter(|report| !report.up_to_date).map(|report| report.step).collect();
    assert_eq!(repeated, [Step::RejectedLinks, Step::Tables, Step::Statistics]);
    let before = ranks(sample.path(), RankTarget::Pages, "pagerank");
    sample.parse(7, vec![link(8)]);
    sample.commit();
    let fourth = all_steps(sample.path(), &MEMORY);
    assert!(fourth.iter().all(|report| !report.up_to_date));
    let iterations = |reports: &[StepReport]| match result(reports, Step::PageRank) {
        StepResult::PageRank(convergence) => convergence.iterations,
        other => panic!("{other:?}"),
    };
    assert!(iterations(&fourth) <= iterations(&first), "it starts from the previous ranks");
    assert_ne!(ranks(sample.path(), RankTarget::Pages, "pagerank"), before);
    assert_eq!(
        store::list_snapshots(sample.path()).unwrap().iter().filter(|entry| entry.name.is_some()).count(),
        0
    );
}

#[test]
fn a_graph_that_does_not_fit_into_memory_gets_the_same_ranks() {
    let sample = Sample::random(4_000, 60, 50_000, 5);
    all_steps(sample.path(), &MEMORY);
    let names = ["pagerank", "link-rank", "hub", "authority"];
    let before = names.map(|name| ranks(sample.path(), RankTarget::Pages, name));
    fs::remove_dir_all(sample.path().join("ranks")).unwrap();
    let little = GraphSettings { memory_bytes: 150_000, threads: Threads(2) };
    let reports = all_steps(sample.path(), &little);
    let skipped: Vec<Step> =
        reports.iter().filter(|report| report.skipped.is_some()).map(|report| report.step).collect();
    assert_eq!(skipped, [Step::Structure]);
    for (name, before) in names.into_iter().zip(before) {
        let now = ranks(sample.path(), RankTarget::Pages, name);
        let apart = now.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(apart < 1e-7, "{name}: {apart}");
    }
    let reports = all_steps(sample.path(), &MEMORY);
    assert!(reports.iter().all(|report| report.skipped.is_none()), "with enough memory no step is skipped");
}

#[test]
fn empty_and_tiny_graphs_are_analysed() {
    let part = |dir: &Path, page: u32| {
        let column = RankColumn::<u32>::open(dir, RankTarget::Pages, "part").unwrap().unwrap();
        analysis::BowTiePart::ALL[column.get(page).unwrap().unwrap() as usize].as_str()
    };
    // Nothing at all, before any commit and after an empty one.
    let mut sample = Sample::new();
    all_steps(sample.path(), &MEMORY);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert!(ranks(sample.path(), RankTarget::Pages, "pagerank").is_empty());
    // One page.
    sample.add_urls(["http://a.test/"]);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert_eq!(ranks(sample.path(), RankTarget::Pages, "pagerank"), [1.0]);
    assert_eq!(ranks(sample.path(), RankTarget::Sites, "site-rank"), [1.0]);
    // No links.
    sample.add_urls(["http://a.test/1", "http://b.test/"]);
    sample.commit();
    all_steps(sample.path(), &MEMORY);
    assert_eq!(ranks(sample.path(), RankTarget::Pages, "pagerank"), [1.0 / 3.0; 3]);
    assert_eq!(ranks(sample.path(), RankTarget::Pages, "hub"), [0.0; 3]);
    // Links of pages to themselves are no arcs.
    (0..3).for_each(|page| sample.parse(page, vec![link(page); 3]));
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    let StepResult::Graph(info) = result(&reports, Step::Graph) else { panic!("{reports:?}") };
    assert_eq!(info.arcs, 0);
    assert_eq!(ranks(sample.path(), RankTarget::Pages, "pagerank"), [1.0 / 3.0; 3]);
    let in_degrees = RankColumn::<u32>::open(sample.path(), RankTarget::Pages, "in-degree").unwrap().unwrap();
    assert_eq!(in_degrees.read_all().unwrap(), [0; 3]);
    assert_eq!(ranks(sample.path(), RankTarget::Pages, "authority"), [0.0; 3]);
    assert_eq!([0, 1, 2].map(|page| part(sample.path(), page)), ["main-norm", "islands", "islands"]);
    // A chain: each page is a component.
    sample.parse(0, vec![link(1)]);
    sample.parse(1, vec![link(2)]);
    sample.parse(2, vec![]);
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    let StepResult::Structure(structure) = result(&reports, Step::Structure) else { panic!("{reports:?}") };
    assert_eq!(structure.pages.components, 3);
    let StepResult::Distances(distances) = result(&reports, Step::Distances) else { panic!("{reports:?}") };
    assert!((distances.average - 4.0 / 3.0).abs() < 0.02, "{distances:?}");
}

#[test]
fn a_page_linked_from_all_others_has_nearly_half_of_the_rank() {
    const PAGES: u32 = 200_000;
    let mut sample = Sample::new();
    let urls: Vec<String> = (0..PAGES).map(|page| format!("http://a.test/{page}")).collect();
    sample.add_urls(urls.iter().map(String::as_str));
    (0..PAGES).for_each(|page| sample.parse(page, vec![link(17)]));
    sample.commit();
    let reports = all_steps(sample.path(), &MEMORY);
    let StepResult::Degrees(degrees) = result(&reports, Step::Degrees) else { panic!("{reports:?}") };
    assert_eq!(degrees.max_in_degree, PAGES - 1);
    let rank = ranks(sample.path(), RankTarget::Pages, "pagerank");
    // It has no link to another page, so that it distributes its rank uniformly.
    let pages = f64::from(PAGES);
    let expected = (0.85 + 0.15 / pages) / (1.85 - 0.85 / pages);
    let others = (0.15 + 0.85 * expected) / pages;
    assert!((f64::from(rank[17]) - expected).abs() < 1e-6 && (f64::from(rank[3]) - others).abs() < 1e-9);
    let graph = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let node = graph.nodes().unwrap()[17];
    assert_eq!(graph.backward().unwrap().successors(node).unwrap().len(), PAGES as usize - 1);
    assert!(
        graph.backward().unwrap().bits() < u64::from(PAGES) + 200,
        "a list of nearly all nodes is two intervals"
    );
}

#[test]
fn only_a_collection_is_analysed_and_only_by_one_process() {
    let dir = tempfile::tempdir().unwrap();
    assert!(analyze(dir.path(), &MEMORY, &mut |_: Event<'_>| ()).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let sample = Sample::random(100, 5, 200, 6);
    let mut second = None;
    analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| {
        second.get_or_insert_with(|| analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()));
    })
    .unwrap();
    let error = second.unwrap().unwrap_err();
    assert!(matches!(error, analysis::Error::Locked { .. }), "{error}");
}

#[test]
fn a_flipped_byte_of_any_file_is_an_error_or_a_new_graph_and_never_a_panic() {
    let sample = Sample::random(400, 10, 3_000, 8);
    let graph = build(sample.path(), &MEMORY);
    let files: Vec<_> = fs::read_dir(graph.dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 21, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 10 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            let Ok(Some(graph)) = LinkGraph::newest(sample.path()) else { continue };
            let forward = graph.forward().and_then(|graph| Csr::from_bv(&graph, Threads(2)));
            let backward = graph.backward().and_then(|graph| Csr::from_bv(&graph, Threads(2)));
            let numbers = [graph.pages(), graph.nodes(), graph.sites(), graph.site_nodes()];
            let weights = [graph.forward_weights(), graph.backward_weights()];
            let is_detected = forward.is_err()
                || backward.is_err()
                || numbers.iter().any(Result::is_err)
                || weights.iter().any(Result::is_err)
                || graph.site_graph().is_err();
            let name = path.file_name().unwrap().to_string_lossy();
            // The properties contain comments, and the offsets are only for other tools.
            assert!(
                is_detected || !name.ends_with(".graph") && !name.contains("weights"),
                "{name} at byte {at}"
            );
        }
        fs::write(&path, &bytes).unwrap();
    }
}
