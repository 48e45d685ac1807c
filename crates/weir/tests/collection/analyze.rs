//! `weir analyze`, and the graph that `weir export` writes.

use std::fs;

use store::{RankColumn, Ranked, list_ranks};

use super::{objects, sample, told};

const STEPS: [&str; 13] = [
    "graph",
    "degrees",
    "pagerank",
    "link-rank",
    "hits",
    "structure",
    "similarity",
    "anchors",
    "distances",
    "sites",
    "outside",
    "tables",
    "statistics",
];

#[test]
fn every_step_is_done_once_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(&dir.join("c"), 2));
    let reports = objects(dir, &["analyze", "DIR/c"]);
    assert!(reports.iter().map(|report| report["step"].as_str().unwrap()).eq(STEPS));
    assert!(
        reports.iter().all(|report| report["known"] == false && report["generation"] == 3),
        "{reports:?}"
    );
    assert_eq!((&reports[0]["found"]["pages"], &reports[0]["found"]["sites"]), (&6.into(), &2.into()));
    let again = objects(dir, &["analyze", "DIR/c"]);
    assert!(again.iter().all(|report| report["known"] == true));
    assert_eq!(again[2]["found"], reports[2]["found"]);
    let (code, out, err) = told(dir, &["analyze", "DIR/c"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("graph      6 pages, ") && out.contains("done before"), "{out}");

    // The names are those by which weights of quality ask for them.
    let ranks = RankColumn::<f32>::open(&dir.join("c"), Ranked::Pages, "pagerank").unwrap().unwrap();
    let sum: f32 = ranks.read_all().unwrap().into_iter().sum();
    assert!((sum - 1.0).abs() < 1e-6);
    let names: Vec<String> =
        list_ranks(&dir.join("c")).unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(
        frontier::Term::RANKS.iter().all(|term| names.iter().any(|name| name == term.as_str())),
        "{names:?}"
    );
    assert_eq!(told(dir, &["check", "DIR/c"]).0, 0);
}

#[test]
fn what_cannot_be_analysed_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let (code, out, err) = told(dir, &["analyze", "DIR/c"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(err.lines().count(), 1);
    drop(sample::make(&dir.join("c"), 1));
    let (code, _, err) = told(dir, &["export", "DIR/c", "--to", "webgraph", "DIR/out"]);
    assert_eq!((code, err.as_str()), (2, "weir: there is no graph yet; `weir analyze DIR/c` builds it\n"));
    let (code, _, err) = told(dir, &["export", "DIR/c", "--to", "webgraph", "DIR/out", "--site", "a.test"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn the_graph_leaves_with_the_urls_of_its_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    drop(sample::make(&dir.join("c"), 1));
    objects(dir, &["analyze", "DIR/c"]);
    let answer = &objects(dir, &["export", "DIR/c", "--to", "webgraph", "DIR/out"])[0];
    assert_eq!((&answer["nodes"], &answer["files"]), (&6.into(), &12.into()));
    let urls = fs::read_to_string(dir.join("out/pages.urls")).unwrap();
    // By host, then by path.
    let order = [0, 1, 2, 3, 4, 5].map(|index| sample::URLS[index]);
    assert!(urls.lines().eq(order), "{urls}");
    let graph = analysis::BvGraph::open(&dir.join("out/pages")).unwrap();
    assert_eq!(answer["arcs"], graph.arcs());
    // The tools in Rust read whole words.
    for name in
        ["pages.graph", "pages.offsets", "pages-t.graph", "pages-t.offsets", "sites.graph", "sites.offsets"]
    {
        let bytes = fs::metadata(dir.join("out").join(name)).unwrap().len();
        assert!(bytes > 0 && bytes.is_multiple_of(8), "{name} has {bytes} bytes");
    }
    let properties = fs::read_to_string(dir.join("out/pages.properties")).unwrap();
    assert!(properties.contains("graphclass=it.unimi.dsi.webgraph.BVGraph\n"));
    assert_eq!(
        fs::read_to_string(dir.join("out/sites.urls")).unwrap(),
        "https://a.test\nhttp://b.test:8080\n"
    );
}
