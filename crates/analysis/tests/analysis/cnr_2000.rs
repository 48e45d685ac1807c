//! Compatibility with WebGraph: a public graph is read, and written again in the same size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::venv::{run, venv};
use analysis::{Adjacency, BvGraph, Components, Csr, PageRank, Threads, Weights, write_bv};

/// A file of the public graph, if it is present.
fn data(name: &str) -> Option<PathBuf> {
    testkit::shared_data(&format!("graph/{name}"))
}

#[test]
fn a_graph_of_webgraph_is_read_and_written_in_the_same_size() {
    for (name, max_bits) in [("cnr-2000", 2.90), ("cnr-2000-t", 2.35)] {
        let Some(path) = data(&format!("{name}.graph")) else { return };
        let theirs = BvGraph::open(&path.with_extension("")).unwrap();
        assert_eq!((theirs.nodes(), theirs.arcs()), (325_557, 3_216_152));
        let dir = tempfile::tempdir().unwrap();
        let ours = dir.path().join(name);
        let copy = write_bv(&ours, Threads::available(), |sink| {
            theirs.for_each(|_, successors| {
                sink.push(successors);
                Ok(())
            })
        });
        copy.unwrap();
        let ours = BvGraph::open(&ours).unwrap();
        let bits_per_link = ours.bits() as f64 / ours.arcs() as f64;
        assert!(bits_per_link <= max_bits, "{name}: {bits_per_link}");
        assert!(
            Csr::from_bv(&theirs, Threads(2)).unwrap() == Csr::from_bv(&ours, Threads(2)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn components_and_ranks_equal_those_of_other_tools() {
    let Some(path) = data("cnr-2000.graph") else { return };
    let graph = BvGraph::open(&path.with_extension("")).unwrap();
    let forward = Csr::from_bv(&graph, Threads(2)).unwrap();
    let components = Components::find(&forward);
    assert_eq!((components.sizes.len(), components.sizes[0]), (100_977, 112_023));
    // The list that is distributed with the graph: the component of each node.
    let theirs = fs::read(path.with_extension("scc")).unwrap();
    let theirs: Vec<u32> = theirs.as_chunks().0.iter().map(|number| u32::from_be_bytes(*number)).collect();
    let mut pairs: Vec<(u32, u32)> = components.component_of.iter().copied().zip(theirs).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 100_977);

    let backward = Adjacency::from(forward.transposed());
    let degrees = graph_degrees(&forward);
    let rank = |arcs: &Adjacency| {
        PageRank::default().run(arcs, &degrees, Weights::Equal, None, Threads(2), &mut |_, _| ())
    };
    let ranking = rank(&backward).unwrap();
    let mut ranks = ranking.ranks.clone();
    ranks.sort_unstable_by(|a, b| b.total_cmp(a));
    for (rank, known) in ranks.iter().zip([0.017_771_884, 0.017_771_884, 0.007_504_873, 0.006_803_402]) {
        assert!((rank - known).abs() < 1e-8, "{rank}, {known}");
    }
    let compressed = Adjacency::Compressed(BvGraph::open(&path.with_file_name("cnr-2000-t")).unwrap());
    let again = rank(&compressed).unwrap().ranks;
    assert!(again.iter().zip(&ranking.ranks).all(|(a, b)| (a - b).abs() < 1e-12));

    let Some(bin) = venv() else { return };
    let out = tempfile::tempdir().unwrap();
    let arcs =
        (0..forward.nodes()).flat_map(|node| forward.neighbours(node).iter().flat_map(move |to| [node, *to]));
    write(&out.path().join("arcs"), arcs.flat_map(u32::to_le_bytes));
    write(&out.path().join("component"), components.component_of.iter().copied().flat_map(u32::to_le_bytes));
    write(&out.path().join("pagerank"), ranking.ranks.iter().copied().flat_map(f64::to_le_bytes));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/compare_large.py");
    eprintln!("{}", run(Command::new(bin.join("python")).arg(script).arg(out.path())));
}

fn graph_degrees(graph: &Csr) -> Vec<u32> {
    (0..graph.nodes()).map(|node| graph.neighbours(node).len() as u32).collect()
}

fn write(path: &Path, bytes: impl Iterator<Item = u8>) {
    fs::write(path, bytes.collect::<Vec<u8>>()).unwrap();
}
