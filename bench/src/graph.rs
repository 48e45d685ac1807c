//! The link graph: bits a link and links a second of a graph that others have compressed, too; the build from a log of
//! links; PageRank on links in memory and compressed, with one core and all, against a plain pass over the same memory.
//!
//! `WEIR_BENCH_PAGES` sets how many pages; 10 million by default, with ten links each.

use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::{
    Arcs, BvGraph, Components, Cores, Csr, GraphSettings, Hits, LinkGraph, PageRank, Weights, write_bv,
};
use model::{PageId, UrlRules};
use store::{Collection, Link, PageFlags, PageRecord, Snapshot, StoreSettings, UrlBatch};

use crate::process;

const PAGES: u32 = 10_000_000;
const LINKS_PER_PAGE: u32 = 10;
const PAGES_OF_A_SITE: u32 = 500;
const BATCH_PAGES: u32 = 200_000;
const MEMORY_BYTES: u64 = 2 << 30;
const STEPS: u32 = 8;

/// Measures and prints the figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("bench-graph").tempdir_in(target)?;
    known(scratch.path())?;
    let pages = std::env::var("WEIR_BENCH_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(PAGES);
    let folder = scratch.path().join("collection");
    fill(&folder, pages)?;
    let graph = build(&folder)?;
    ranks(&graph)
}

/// The graph of others, if it is there.
fn known(scratch: &Path) -> anyhow::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found =
        here.ancestors().map(|folder| folder.join("shared/data/graph")).find(|folder| folder.exists());
    let Some(data) = found else { return Ok(writeln!(io::stdout(), "graph, cnr-2000: not there")?) };
    for name in ["cnr-2000", "cnr-2000-t"] {
        let theirs = BvGraph::open(&data.join(name))?;
        let csr = Csr::of(&theirs, Cores(1))?;
        let basename = scratch.join(name);
        let start = Instant::now();
        write_bv(&basename, Cores(1), |sink| {
            (0..csr.nodes()).for_each(|node| sink.push(csr.of_node(node)));
            Ok(())
        })?;
        let write_s = start.elapsed().as_secs_f64();
        let ours = BvGraph::open(&basename)?;
        let start = Instant::now();
        let mut sum = 0;
        ours.for_each(|_, successors| {
            sum += successors.len();
            Ok(())
        })?;
        let read_s = start.elapsed().as_secs_f64();
        black_box(sum);
        let arcs = ours.arcs() as f64;
        writeln!(
            io::stdout(),
            "graph, {name}: {:.3} bits a link ({:.3} of WebGraph), {:.1} M/s written, {:.1} M/s read, one core",
            ours.bits() as f64 / arcs,
            theirs.bits() as f64 / arcs,
            arcs / write_s / 1e6,
            arcs / read_s / 1e6,
        )?;
        if name == "cnr-2000" {
            let start = Instant::now();
            let components = Components::find(&csr).sizes.len();
            let s = start.elapsed().as_secs_f64();
            writeln!(
                io::stdout(),
                "graph, {name}: {components} components, {:.1} M links/s",
                arcs / s / 1e6
            )?;
        }
    }
    Ok(())
}

/// A collection of nothing but URLs and links.
fn fill(folder: &Path, pages: u32) -> anyhow::Result<()> {
    let start = Instant::now();
    let rules = UrlRules::default();
    let mut collection = Collection::create(folder, StoreSettings::default())?;
    for first in (0..pages).step_by(BATCH_PAGES as usize) {
        let mut batch = UrlBatch::new();
        for page in first..pages.min(first + BATCH_PAGES) {
            // Pages become known by way of links: those of a site are not numbered one after the other.
            let place = scattered(page, pages);
            let url = format!(
                "http://www.site{}.example/d{}/page-{place}.html",
                place / PAGES_OF_A_SITE,
                place % 7
            );
            batch.push(&rules.canonical(&url)?);
        }
        collection.resolve(&batch, 0, |new| PageRecord::new(new.site, 0, PageFlags(0)))?;
        collection.commit(0)?;
    }
    let mut links = Vec::new();
    for page in 0..pages {
        links.clear();
        links.extend((0..LINKS_PER_PAGE * 2).filter_map(|number| link(page, number, pages)));
        collection.links.append(PageId(page), links.iter().copied())?;
        if (page + 1).is_multiple_of(BATCH_PAGES) {
            collection.commit(0)?;
        }
    }
    collection.commit(0)?;
    let s = start.elapsed().as_secs_f64();
    writeln!(io::stdout(), "graph, {pages} pages with their links made up in {s:.0} s")?;
    Ok(())
}

/// The place of a page among all: pages of a site come in several turns.
fn scattered(page: u32, pages: u32) -> u32 {
    let turns = 8.min(pages);
    let per_turn = pages.div_ceil(turns);
    let (turn, place) = (page / per_turn, page % per_turn);
    (place * turns + turn).min(pages - 1)
}

/// A link of a page: half of the numbers have one. Most lead to the same site, few anywhere, some of these to popular pages.
/// Of those that lead anywhere three in four stand on all pages of the site alike, as in the frame of real pages.
fn link(page: u32, number: u32, pages: u32) -> Option<Link> {
    let noise = random(u64::from(page) << 8 | u64::from(number));
    if noise & 1 == 0 {
        return None;
    }
    let share_of = |noise: u64| (noise >> 40) as f64 / (1u64 << 24) as f64;
    let near = PAGES_OF_A_SITE / 8;
    let frame = random(u64::from(page / near) << 8 | noise >> 12 & 3 | 1 << 40);
    let (share, far) = (share_of(noise), share_of(if noise >> 14 & 3 == 0 { noise } else { frame }));
    let target = match noise >> 8 & 15 {
        0..12 => page / near * near + (share * share * f64::from(near)) as u32,
        12..14 => page / 4_000 * 4_000 + (share * 4_000.0) as u32,
        14 => (far.powi(6) * f64::from(pages)) as u32,
        _ => (far * f64::from(pages)) as u32,
    };
    let (anchor_chars, position) = ((noise >> 16 & 31) as u16, (noise >> 24) as u16);
    let context = (noise >> 13 & 7) as u16;
    Some(Link { target: PageId(target.min(pages - 1)), kind: 0, context, anchor_chars, position })
}

fn build(folder: &Path) -> anyhow::Result<LinkGraph> {
    // The highest point of memory so far is that of the making up.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let snapshot = Snapshot::open(folder, None)?;
    let settings = GraphSettings { memory_bytes: MEMORY_BYTES / 2, cores: Cores::all() };
    let (start, cpu) = (Instant::now(), process::cpu_seconds());
    let graph = LinkGraph::build(&snapshot, &settings, &mut |_| ())?;
    let arcs = graph.about.arcs;
    let bits = |graph: BvGraph| graph.bits() as f64 / graph.arcs() as f64;
    writeln!(
        io::stdout(),
        "graph, {arcs} arcs built in {:.1} s ({:.1} s of all cores), {:.0} MB of memory at most; {:.2} bits a link, {:.2} turned round",
        start.elapsed().as_secs_f64(),
        process::cpu_seconds() - cpu,
        process::memory_mb("VmHWM"),
        bits(graph.forward()?),
        bits(graph.backward()?),
    )?;
    Ok(graph)
}

fn ranks(graph: &LinkGraph) -> anyhow::Result<()> {
    let degrees = graph.forward()?.degrees(Cores::all())?;
    let start = Instant::now();
    let backward = Csr::of(&graph.backward()?, Cores::all())?;
    writeln!(
        io::stdout(),
        "graph, unpacked: {:.0} M arcs/s, {} cores",
        backward.arcs() as f64 / start.elapsed().as_secs_f64() / 1e6,
        Cores::all().0
    )?;
    let plain_gb_s = plain_pass(&backward);
    let arcs = Arcs::from(backward);
    let one = page_rank("in memory", &arcs, &degrees, Cores(1))?;
    // 4 bytes of an arc, 8 of the rank it stands for where that is not in a cache, 8 of offset and 16 of ranks a node.
    let bytes_an_arc = 4.0 + 32.0 * f64::from(arcs.nodes()) / arcs.arcs() as f64;
    writeln!(
        io::stdout(),
        "graph, PageRank in memory, one core: at least {:.0} % of the {plain_gb_s:.1} GB/s of a plain pass",
        one * bytes_an_arc / plain_gb_s / 10.0,
    )?;
    page_rank("in memory", &arcs, &degrees, Cores(2))?;
    let compressed = Arcs::Compressed(graph.backward()?);
    page_rank("compressed", &compressed, &degrees, Cores(1))?;
    page_rank("compressed", &compressed, &degrees, Cores(2))?;
    let forward = Arcs::of(graph.forward()?, MEMORY_BYTES, Cores::all())?;
    let start = Instant::now();
    let hits = Hits::run(&forward, &arcs, None, Cores(2), &mut |_, _| ())?;
    let arcs_done = arcs.arcs() as f64 * f64::from(2 * hits.steps);
    writeln!(
        io::stdout(),
        "graph, HITS in memory, 2 cores: {:.0} M arcs/s, {} steps",
        arcs_done / start.elapsed().as_secs_f64() / 1e6,
        hits.steps
    )?;
    Ok(())
}

/// The same arcs, read once and summed up: GB/s of one core.
fn plain_pass(graph: &Csr) -> f64 {
    let start = Instant::now();
    let sum: u64 =
        (0..graph.nodes()).map(|node| graph.of_node(node).iter().map(|to| u64::from(*to)).sum::<u64>()).sum();
    black_box(sum);
    (graph.arcs() * 4 + u64::from(graph.nodes()) * 8) as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// Million arcs for each second of a core.
fn page_rank(what: &str, backward: &Arcs, degrees: &[u32], cores: Cores) -> anyhow::Result<f64> {
    let settings = PageRank { most_steps: STEPS, ..PageRank::default() };
    // The first step is not timed: it touches new memory.
    let mut begun = None;
    settings.run(backward, degrees, Weights::Equal, None, cores, &mut |_, _| {
        begun.get_or_insert_with(|| (Instant::now(), process::cpu_seconds()));
    })?;
    let Some((start, cpu)) = begun else { return Ok(0.0) };
    let arcs = backward.arcs() as f64 * f64::from(STEPS - 1) / 1e6;
    let of_a_core = arcs / (process::cpu_seconds() - cpu);
    writeln!(
        io::stdout(),
        "graph, PageRank {what}, {} core(s): {:.0} M arcs/s, {of_a_core:.0} M for each second of a core (load of the machine: {})",
        cores.0,
        arcs / start.elapsed().as_secs_f64(),
        process::load()
    )?;
    Ok(of_a_core)
}

/// SplitMix64: noise that is the same in every run.
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
