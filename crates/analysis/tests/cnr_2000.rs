//! Is our form of a graph that of WebGraph? A graph that others have compressed is read, and comes out bit by bit the same.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};

use analysis::{BvGraph, Cores, Csr, write_bv};

/// The data of others, if they are there.
fn data(name: &str) -> Option<PathBuf> {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found =
        ancestors.map(|folder| folder.join("shared/data/graph").join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: shared/data/graph/{name} is not there");
    }
    found
}

#[test]
fn a_graph_of_others_is_read_and_written_as_small() {
    for (name, most_bits) in [("cnr-2000", 2.90), ("cnr-2000-t", 2.35)] {
        let Some(path) = data(&format!("{name}.graph")) else { return };
        let theirs = BvGraph::open(&path.with_extension("")).unwrap();
        assert_eq!((theirs.nodes(), theirs.arcs()), (325_557, 3_216_152));
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join(name);
        let copy = write_bv(&ours, Cores::all(), |sink| {
            theirs.for_each(|_, successors| {
                sink.push(successors);
                Ok(())
            })
        });
        copy.unwrap();
        let ours = BvGraph::open(&ours).unwrap();
        let bits_per_link = ours.bits() as f64 / ours.arcs() as f64;
        assert!(bits_per_link <= most_bits, "{name}: {bits_per_link}");
        assert!(Csr::of(&theirs, Cores(2)).unwrap() == Csr::of(&ours, Cores(2)).unwrap(), "{name}");
    }
}
