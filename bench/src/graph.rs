//! Link graph: bits per link and links per second of a published graph; construction from a link log; PageRank on
//! links in memory and compressed, on one core and on all, compared with one pass over the same memory.
//!
//! `WEIR_BENCH_PAGES` sets the number of pages; 10 million by default, with ten links each.

use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use analysis::{
    Adjacency, BvGraph, Components, Csr, GraphSettings, Hits, LinkGraph, PageRank, Threads, Weights, write_bv,
};
use model::UrlBatch;
use model::{PageId, UrlRules};
use store::{Collection, Link, PageFlags, PageRecord, Snapshot, StoreSettings};

use crate::process;

const PAGES: u32 = 10_000_000;
const LINKS_PER_PAGE: u32 = 10;
const PAGES_OF_A_SITE: u32 = 500;
const BATCH_PAGES: u32 = 200_000;
const MEMORY_BYTES: u64 = 2 << 30;
const STEPS: u32 = 8;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    fs::create_dir_all(&target)?;
    let scratch = tempfile::Builder::new().prefix("bench-graph").tempdir_in(target)?;
    known(scratch.path())?;
    let pages = std::env::var("WEIR_BENCH_PAGES").ok().and_then(|pages| pages.parse().ok()).unwrap_or(PAGES);
    let dir = scratch.path().join("collection");
    fill(&dir, pages)?;
    let graph = build(&dir)?;
    ranks(&graph)
}

/// Returns the published graph, if it is available.
fn known(scratch: &Path) -> anyhow::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().map(|dir| dir.join("shared/data/graph")).find(|dir| dir.exists());
    let Some(data) = found else {
        return Ok(writeln!(io::stdout(), "graph, cnr-2000: skipped, shared/data/graph is missing")?);
    };
    for name in ["cnr-2000", "cnr-2000-t"] {
        let theirs = BvGraph::open(&data.join(name))?;
        let csr = Csr::from_bv(&theirs, Threads(1))?;
        let basename = scratch.join(name);
        let start = Instant::now();
        write_bv(&basename, Threads(1), |sink| {
            (0..csr.nodes()).for_each(|node| sink.push(csr.neighbours(node)));
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
            "graph, {name}: {:.3} bits per link ({:.3} of WebGraph), {:.1} M/s written, {:.1} M/s read, one core",
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

/// Creates a collection with URLs and links only.
fn fill(dir: &Path, pages: u32) -> anyhow::Result<()> {
    let start = Instant::now();
    let rules = UrlRules::default();
    let mut collection = Collection::create(dir, StoreSettings::default())?;
    for first in (0..pages).step_by(BATCH_PAGES as usize) {
        let mut batch = UrlBatch::new();
        for page in first..pages.min(first + BATCH_PAGES) {
            // Pages are discovered by links: those of a site do not have consecutive ids.
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
    writeln!(io::stdout(), "graph, {pages} pages with links generated in {s:.0} s")?;
    Ok(())
}

/// Returns the id of a page: pages of a site are discovered in several rounds.
fn scattered(page: u32, pages: u32) -> u32 {
    let turns = 8.min(pages);
    let per_turn = pages.div_ceil(turns);
    let (turn, place) = (page / per_turn, page % per_turn);
    (place * turns + turn).min(pages - 1)
}

/// Returns a link of a page. Most links are internal, few lead to any site, some of these to popular pages. Three in
/// four of the external links are the same on all pages of the site, as in the templates of real sites.
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

fn build(dir: &Path) -> anyhow::Result<LinkGraph> {
    // The peak memory so far is that of the generation.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let snapshot = Snapshot::open(dir, None)?;
    let settings = GraphSettings { memory_bytes: MEMORY_BYTES / 2, threads: Threads::available() };
    let (start, cpu) = (Instant::now(), process::cpu_seconds());
    let graph = LinkGraph::build(&snapshot, &settings, &mut |_| ())?;
    let arcs = graph.info.arcs;
    let bits = |graph: BvGraph| graph.bits() as f64 / graph.arcs() as f64;
    writeln!(
        io::stdout(),
        "graph, {arcs} arcs built in {:.1} s ({:.1} s of CPU), {:.0} MB peak memory; {:.2} bits per link, {:.2} transposed",
        start.elapsed().as_secs_f64(),
        process::cpu_seconds() - cpu,
        process::memory_mb("VmHWM"),
        bits(graph.forward()?),
        bits(graph.backward()?),
    )?;
    Ok(graph)
}

fn ranks(graph: &LinkGraph) -> anyhow::Result<()> {
    let degrees = graph.forward()?.degrees(Threads::available())?;
    let start = Instant::now();
    let backward = Csr::from_bv(&graph.backward()?, Threads::available())?;
    writeln!(
        io::stdout(),
        "graph, decompressed: {:.0} M arcs/s, {} threads",
        backward.arcs() as f64 / start.elapsed().as_secs_f64() / 1e6,
        Threads::available().0
    )?;
    let plain_gb_s = plain_pass(&backward);
    let arcs = Adjacency::from(backward);
    let one = page_rank("in memory", &arcs, &degrees, Threads(1))?;
    // 4 bytes for an arc, 8 for the rank of its source if it is not in a cache, 8 for the offset and 16 for the ranks
    // of a node.
    let bytes_an_arc = 4.0 + 32.0 * f64::from(arcs.nodes()) / arcs.arcs() as f64;
    writeln!(
        io::stdout(),
        "graph, PageRank in memory, one core: at least {:.0} % of the {plain_gb_s:.1} GB/s of a sequential pass",
        one * bytes_an_arc / plain_gb_s / 10.0,
    )?;
    page_rank("in memory", &arcs, &degrees, Threads(2))?;
    let compressed = Adjacency::Compressed(graph.backward()?);
    page_rank("compressed", &compressed, &degrees, Threads(1))?;
    page_rank("compressed", &compressed, &degrees, Threads(2))?;
    let forward = Adjacency::load(graph.forward()?, MEMORY_BYTES, Threads::available())?;
    let start = Instant::now();
    let hits = Hits::run(&forward, &arcs, None, Threads(2), &mut |_, _| ())?;
    let arcs_done = arcs.arcs() as f64 * f64::from(2 * hits.iterations);
    writeln!(
        io::stdout(),
        "graph, HITS in memory, 2 threads: {:.0} M arcs/s, {} iterations",
        arcs_done / start.elapsed().as_secs_f64() / 1e6,
        hits.iterations
    )?;
    Ok(())
}

/// Reads and sums the same arcs once: GB/s of one core.
fn plain_pass(graph: &Csr) -> f64 {
    let start = Instant::now();
    let sum: u64 = (0..graph.nodes())
        .map(|node| graph.neighbours(node).iter().map(|to| u64::from(*to)).sum::<u64>())
        .sum();
    black_box(sum);
    (graph.arcs() * 4 + u64::from(graph.nodes()) * 8) as f64 / start.elapsed().as_secs_f64() / 1e9
}

/// Million arcs per second and core.
fn page_rank(what: &str, backward: &Adjacency, degrees: &[u32], threads: Threads) -> anyhow::Result<f64> {
    let settings = PageRank { max_iterations: STEPS, ..PageRank::default() };
    // The first iteration is not measured: it touches new memory.
    let mut begun = None;
    settings.run(backward, degrees, Weights::Equal, None, threads, &mut |_, _| {
        begun.get_or_insert_with(|| (Instant::now(), process::cpu_seconds()));
    })?;
    let Some((start, cpu)) = begun else { return Ok(0.0) };
    let arcs = backward.arcs() as f64 * f64::from(STEPS - 1) / 1e6;
    let of_a_core = arcs / (process::cpu_seconds() - cpu);
    writeln!(
        io::stdout(),
        "graph, PageRank {what}, {} core(s): {:.0} M arcs/s, {of_a_core:.0} M per second and core (machine load: {})",
        threads.0,
        arcs / start.elapsed().as_secs_f64(),
        process::load()
    )?;
    Ok(of_a_core)
}

/// SplitMix64: the same random numbers in every run.
fn random(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
