//! Comparison of every rank and every bow-tie part with networkx, on random collections.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::sample::{MEMORY, Sample, arcs_of};
use super::venv::{run, venv};
use analysis::{BowTiePart, Event, LinkGraph, Step, StepResult, analyze};
use store::{RankColumn, RankTarget, RankValue, Snapshot};

fn column<V: RankValue + ToString>(sample: &Sample, of: RankTarget, name: &str) -> Vec<String> {
    let column = RankColumn::<V>::open(sample.path(), of, name).unwrap().unwrap();
    column.read_all().unwrap().into_iter().map(|value| value.to_string()).collect()
}

/// Writes the results for the script.
fn write(sample: &Sample, out: &Path) {
    let reports = analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    let write_lines = |name: &str, lines: Vec<String>| {
        fs::write(out.join(format!("{name}.txt")), lines.join("\n")).unwrap();
    };
    write_lines("nodes", vec![sample.pages.to_string()]);
    let graph = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let arcs = arcs_of(&graph);
    write_lines("arcs", arcs.iter().map(|((from, to), weight)| format!("{from} {to} {weight}")).collect());
    for name in ["pagerank", "link-rank", "hub", "authority"] {
        write_lines(name, column::<f32>(sample, RankTarget::Pages, name));
    }
    for name in ["in-degree", "out-degree", "component"] {
        write_lines(name, column::<u32>(sample, RankTarget::Pages, name));
    }
    let parts = RankColumn::<u32>::open(sample.path(), RankTarget::Pages, "part")
        .unwrap()
        .unwrap()
        .read_all()
        .unwrap();
    write_lines(
        "part",
        parts.iter().map(|part| BowTiePart::ALL[*part as usize].as_str().to_owned()).collect(),
    );
    let report = reports.iter().find(|report| report.step == Step::Distances).unwrap();
    let Some(StepResult::Distances(found)) = report.result else { panic!("{report:?}") };
    let values = [
        ("pairs", found.pairs),
        ("average", found.average),
        ("effective_diameter", found.effective_diameter),
    ];
    let mut distances = String::new();
    for (name, value) in values {
        writeln!(distances, "{name} {value}").unwrap();
    }
    write_lines("distances", vec![distances]);
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let site = |page: u32| snapshot.urls.site_of(model::PageId(page)).unwrap().unwrap().0.to_string();
    write_lines("site", (0..sample.pages).map(site).collect());
    write_lines("site-rank", column::<f32>(sample, RankTarget::Sites, "site-rank"));
    write_lines("harmonic", column::<f32>(sample, RankTarget::Sites, "harmonic"));
    write_lines("site-in-degree", column::<u32>(sample, RankTarget::Sites, "in-degree"));
}

#[test]
fn networkx_computes_the_same_values() {
    let Some(bin) = venv() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/compare.py");
    // Dense, sparse, and with fewer links than pages.
    for (seed, pages, sites, links) in [(1, 600, 30, 6_000), (2, 800, 100, 2_500), (3, 700, 200, 900)] {
        let sample = Sample::random(pages, sites, links, seed);
        let out = tempfile::tempdir().unwrap();
        write(&sample, out.path());
        eprintln!("{}", run(Command::new(bin.join("python")).arg(&script).arg(out.path())));
    }
}
