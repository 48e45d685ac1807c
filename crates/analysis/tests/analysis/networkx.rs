//! Do others find the same? Every rank and every part, against networkx, on random collections.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::sample::{MEMORY, Sample, arcs_of};
use super::venv::{run, venv};
use analysis::{Event, LinkGraph, Part, Step, analyze};
use store::{RankColumn, RankValue, Ranked, Snapshot};

fn column<V: RankValue + ToString>(sample: &Sample, of: Ranked, name: &str) -> Vec<String> {
    let column = RankColumn::<V>::open(sample.path(), of, name).unwrap().unwrap();
    column.read_all().unwrap().into_iter().map(|value| value.to_string()).collect()
}

/// Writes what was found, for the script.
fn write(sample: &Sample, out: &Path) {
    let reports = analyze(sample.path(), &MEMORY, &mut |_: Event<'_>| ()).unwrap();
    let put = |name: &str, lines: Vec<String>| {
        fs::write(out.join(format!("{name}.txt")), lines.join("\n")).unwrap();
    };
    put("nodes", vec![sample.pages.to_string()]);
    let graph = LinkGraph::newest(sample.path()).unwrap().unwrap();
    let arcs = arcs_of(&graph);
    put("arcs", arcs.iter().map(|((from, to), weight)| format!("{from} {to} {weight}")).collect());
    for name in ["pagerank", "link-rank", "hub", "authority"] {
        put(name, column::<f32>(sample, Ranked::Pages, name));
    }
    for name in ["in-degree", "out-degree", "component"] {
        put(name, column::<u32>(sample, Ranked::Pages, name));
    }
    let parts =
        RankColumn::<u32>::open(sample.path(), Ranked::Pages, "part").unwrap().unwrap().read_all().unwrap();
    put("part", parts.iter().map(|part| Part::ALL[*part as usize].as_str().to_owned()).collect());
    let far = reports.iter().find(|report| report.step == Step::Distances).unwrap();
    let mut distances = String::new();
    for (name, value) in far.found.as_object().unwrap() {
        writeln!(distances, "{name} {value}").unwrap();
    }
    put("distances", vec![distances]);
    let snapshot = Snapshot::open(sample.path(), None).unwrap();
    let site = |page: u32| snapshot.urls.site_of(model::PageId(page)).unwrap().unwrap().0.to_string();
    put("site", (0..sample.pages).map(site).collect());
    put("site-rank", column::<f32>(sample, Ranked::Sites, "site-rank"));
    put("harmonic", column::<f32>(sample, Ranked::Sites, "harmonic"));
    put("site-in-degree", column::<u32>(sample, Ranked::Sites, "in-degree"));
}

#[test]
fn networkx_finds_the_same() {
    let Some(bin) = venv() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/compare.py");
    // Dense, sparse, and with few links for the pages there are.
    for (seed, pages, sites, links) in [(1, 600, 30, 6_000), (2, 800, 100, 2_500), (3, 700, 200, 900)] {
        let sample = Sample::random(pages, sites, links, seed);
        let out = tempfile::tempdir().unwrap();
        write(&sample, out.path());
        eprintln!("{}", run(Command::new(bin.join("python")).arg(&script).arg(out.path())));
    }
}
