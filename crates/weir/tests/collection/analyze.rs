//! `weir analyze`, and `weir export --format webgraph`.

use std::fs;

use store::{RankColumn, RankTarget, list_ranks};

use super::{objects, run_text, sample};

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
    "rejected-links",
    "tables",
    "statistics",
];

#[test]
fn every_step_runs_once_and_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 2));
    let reports = objects(dir, &["analyze", "DIR/c"]);
    assert!(reports.iter().map(|report| report["step"].as_str().unwrap()).eq(STEPS));
    assert!(
        reports.iter().all(|report| report["up_to_date"] == false && report["generation"] == 3),
        "{reports:?}"
    );
    assert_eq!((&reports[0]["result"]["pages"], &reports[0]["result"]["sites"]), (&6.into(), &2.into()));
    let again = objects(dir, &["analyze", "DIR/c"]);
    assert!(again.iter().all(|report| report["up_to_date"] == true));
    assert_eq!(again[2]["result"], reports[2]["result"]);
    let (code, out, err) = run_text(dir, &["analyze", "DIR/c"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("graph          6 pages, ") && out.contains("up to date"), "{out}");

    // The names are those of the quality terms.
    let ranks = RankColumn::<f32>::open(&dir.join("c"), RankTarget::Pages, "pagerank").unwrap().unwrap();
    let sum: f32 = ranks.read_all().unwrap().into_iter().sum();
    assert!((sum - 1.0).abs() < 1e-6);
    let names: Vec<String> =
        list_ranks(&dir.join("c")).unwrap().into_iter().map(|entry| entry.name).collect();
    assert!(
        frontier::QualityTerm::RANKS.iter().all(|term| names.iter().any(|name| name == term.as_str())),
        "{names:?}"
    );
    assert_eq!(run_text(dir, &["check", "DIR/c"]).0, 0);
}

#[test]
fn a_missing_collection_or_graph_is_a_usage_error() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let (code, out, err) = run_text(dir, &["analyze", "DIR/c"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert_eq!(err.lines().count(), 1);
    drop(sample::make(&dir.join("c"), 1));
    let (code, _, err) = run_text(dir, &["export", "DIR/c", "--format", "webgraph", "DIR/out"]);
    assert_eq!((code, err.as_str()), (2, "weir: no link graph; run `weir analyze DIR/c`\n"));
    let (code, _, err) =
        run_text(dir, &["export", "DIR/c", "--format", "webgraph", "DIR/out", "--site", "a.test"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn the_graph_is_exported_with_the_urls_of_its_nodes() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    drop(sample::make(&dir.join("c"), 1));
    objects(dir, &["analyze", "DIR/c"]);
    let output = &objects(dir, &["export", "DIR/c", "--format", "webgraph", "DIR/out"])[0];
    assert_eq!((&output["nodes"], &output["files"]), (&6.into(), &12.into()));
    let urls = fs::read_to_string(dir.join("out/pages.urls")).unwrap();
    // By host, then by path.
    let order = [0, 1, 2, 3, 4, 5].map(|index| sample::URLS[index]);
    assert!(urls.lines().eq(order), "{urls}");
    let graph = analysis::BvGraph::open(&dir.join("out/pages")).unwrap();
    assert_eq!(output["arcs"], graph.arcs());
    // webgraph-rs reads 64-bit words.
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
