//! The work of each step: it computes, writes its columns and tables, and returns its result.

use std::collections::BTreeMap;

use store::write_statistics;

use super::similarity::similarity;
use super::step::Step;
use super::step_context::StepContext;
use super::step_result::{
    BowTieCounts, Convergence, DegreeResult, RejectedLinksResult, SiteResult, StatisticsResult, StepResult,
    StructureResult,
};
use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::csr::Csr;
use crate::graph::link_graph::GraphSettings;
use crate::rank::distances::Distances;
use crate::rank::hits::Hits;
use crate::rank::hyper_ball::HyperBall;
use crate::rank::page_rank::{PageRank, Ranking, Weights};
use crate::statistics::compute_statistics;
use crate::structure::bow_tie::{BowTiePart, bow_tie};
use crate::structure::components::Components;
use crate::tables::anchors::{AnchorCounts, write_anchors};
use crate::tables::page_table::{RowCounts, write_tables};
use crate::tables::rejected_links::{RejectedLinks, write_domains};

/// File of the step `rejected-links` in the directory of the graph: domains with the number of links to them.
pub(super) const REJECTED_DOMAINS: &str = "rejected-domains.tsv";

/// Number of domains in the result of the step `rejected-links`.
const TOP_DOMAINS: usize = 10;

/// Hub and authority values below this are written as 0: they are far below the residual at which HITS stops.
const MIN_HITS_VALUE: f64 = 1e-12;

/// End of a step.
pub(super) enum Outcome {
    Done(StepResult),
    /// The step could not run; the reason.
    Skipped(String),
}

type OnIteration<'t> = &'t mut dyn FnMut(u32, f64);

pub(super) fn run(
    step: Step,
    context: &mut StepContext<'_>,
    on_iteration: OnIteration<'_>,
) -> Result<Outcome> {
    let result = match step {
        Step::Graph => StepResult::Graph(context.graph.info.clone()),
        Step::Degrees => StepResult::Degrees(degrees(context)?),
        Step::PageRank => StepResult::PageRank(page_rank(context, on_iteration)?),
        Step::LinkRank => return link_rank(context, on_iteration),
        Step::Hits => StepResult::Hits(hits(context, on_iteration)?),
        Step::Structure => return structure(context),
        Step::Similarity => StepResult::Similarity(similarity(context)?),
        Step::Anchors => StepResult::Anchors(anchors(context)?),
        Step::Distances => StepResult::Distances(distances(context, on_iteration)?),
        Step::Sites => StepResult::Sites(sites(context, on_iteration)?),
        Step::RejectedLinks => StepResult::RejectedLinks(rejected_links(context)?),
        Step::Tables => StepResult::Tables(tables(context, on_iteration)?),
        Step::Statistics => StepResult::Statistics(statistics(context, on_iteration)?),
    };
    Ok(Outcome::Done(result))
}

fn degrees(context: &mut StepContext<'_>) -> Result<DegreeResult> {
    let threads = context.settings.threads;
    let out_degrees = context.graph.forward()?.degrees(threads)?;
    let in_degrees = context.graph.backward()?.degrees(threads)?;
    context.write_pages("out-degree", |node| out_degrees[node])?;
    context.write_pages("in-degree", |node| in_degrees[node])?;
    let max = |degrees: &[u32]| degrees.iter().copied().max().unwrap_or(0);
    let zeros = |degrees: &[u32]| degrees.iter().filter(|degree| **degree == 0).count() as u64;
    Ok(DegreeResult {
        max_in_degree: max(&in_degrees),
        max_out_degree: max(&out_degrees),
        without_inlinks: zeros(&in_degrees),
        without_outlinks: zeros(&out_degrees),
    })
}

fn page_rank(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<Convergence> {
    let totals = context.graph.forward()?.degrees(context.settings.threads)?;
    let ranking = rank_pages(context, "pagerank", &totals, Weights::Equal, on_iteration)?;
    let site_nodes = context.graph.site_nodes()?;
    let mut sums = vec![0.0; context.graph.info.sites as usize];
    for (site, rank) in site_nodes.iter().zip(&ranking.ranks) {
        sums[*site as usize] += rank;
    }
    context.write_sites("pagerank", |site| sums[site] as f32)?;
    Ok(convergence(&ranking))
}

fn link_rank(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<Outcome> {
    let arcs = context.graph.info.arcs;
    if arcs > context.settings.memory_bytes / 2 {
        let needed_mb = arcs >> 20;
        return Ok(Outcome::Skipped(format!(
            "link weights need {needed_mb} MB, more than half of memory.analysis"
        )));
    }
    let totals = weight_totals(context)?;
    let weights = context.graph.backward_weights()?;
    let ranking = rank_pages(context, "link-rank", &totals, Weights::Small(&weights), on_iteration)?;
    Ok(Outcome::Done(StepResult::LinkRank(convergence(&ranking))))
}

/// Sum of the weights of the outgoing arcs of each node.
fn weight_totals(context: &StepContext<'_>) -> Result<Vec<u32>> {
    let weights = context.graph.forward_weights()?;
    let mut rest = &weights[..];
    let degrees = context.graph.forward()?.degrees(context.settings.threads)?;
    let total = |degree: u32| {
        let (own, behind) = rest.split_at(rest.len().min(degree as usize));
        rest = behind;
        own.iter().map(|weight| u32::from(*weight)).sum()
    };
    Ok(degrees.into_iter().map(total).collect())
}

/// Computes ranks, starting from those of the previous analysis, and writes the column.
fn rank_pages(
    context: &mut StepContext<'_>,
    name: &str,
    totals: &[u32],
    weights: Weights<'_>,
    on_iteration: OnIteration<'_>,
) -> Result<Ranking> {
    let start = context.previous_values(name, 1.0 / f64::from(context.graph.info.pages.max(1)))?;
    let threads = context.settings.threads;
    let ranking =
        PageRank::default().run(context.backward()?, totals, weights, start, threads, on_iteration)?;
    context.write_pages(name, |node| ranking.ranks[node] as f32)?;
    Ok(ranking)
}

fn convergence(ranking: &Ranking) -> Convergence {
    Convergence { iterations: ranking.iterations, residual: ranking.residual }
}

fn hits(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<Convergence> {
    // A page with hub value 0 would keep it for ever, although it may have become a hub since the previous analysis.
    let min = 1e-6 / f64::from(context.graph.info.pages.max(1)).sqrt();
    let start = context.previous_values("hub", min)?;
    let start = start.map(|hubs| hubs.into_iter().map(|hub| hub.max(min)).collect());
    let threads = context.settings.threads;
    let (forward, backward) = context.both_directions()?;
    let hits = Hits::run(forward, backward, start, threads, on_iteration)?;
    // Pages that are no hubs lose the start value only gradually; what remains of it means nothing.
    let rounded = |value: f64| if value < MIN_HITS_VALUE { 0.0 } else { value as f32 };
    context.write_pages("hub", |node| rounded(hits.hubs[node]))?;
    context.write_pages("authority", |node| rounded(hits.authorities[node]))?;
    Ok(Convergence { iterations: hits.iterations, residual: hits.residual })
}

fn structure(context: &mut StepContext<'_>) -> Result<Outcome> {
    let info = &context.graph.info;
    let (Adjacency::InMemory(forward), Adjacency::InMemory(backward)) = context.both_directions()? else {
        // Each direction may take half of the memory.
        let needed_mb = Csr::bytes(info.pages, info.arcs) >> 19;
        return Ok(Outcome::Skipped(format!("components need {needed_mb} MB, more than memory.analysis")));
    };
    let (components, parts, pages) = bow_tie_counts(forward, backward);
    context.write_pages("component", |node| components.component_of[node])?;
    context.write_pages("part", |node| parts[node] as u32)?;
    let site_graph = context.graph.site_graph()?;
    let (components, parts, sites) = bow_tie_counts(&site_graph.forward, &site_graph.transposed().0);
    context.write_sites("component", |site| components.component_of[site])?;
    context.write_sites("part", |site| parts[site] as u32)?;
    Ok(Outcome::Done(StepResult::Structure(StructureResult { pages, sites })))
}

fn bow_tie_counts(forward: &Csr, backward: &Csr) -> (Components, Vec<BowTiePart>, BowTieCounts) {
    let components = Components::find(forward);
    let part_of = bow_tie(forward, backward, &components);
    let mut parts: BTreeMap<BowTiePart, u64> = BowTiePart::ALL.map(|part| (part, 0)).into();
    part_of.iter().for_each(|part| *parts.entry(*part).or_default() += 1);
    let largest_component = components.sizes.first().copied().unwrap_or(0);
    let counts = BowTieCounts { components: components.sizes.len() as u64, largest_component, parts };
    (components, part_of, counts)
}

fn anchors(context: &mut StepContext<'_>) -> Result<AnchorCounts> {
    let snapshot = context.snapshot()?;
    let (generation, memory_bytes) = (context.graph.info.generation, context.settings.memory_bytes);
    let scratch = context.graph.dir().join("scratch");
    write_anchors(&snapshot, generation, &scratch, memory_bytes / 2)
}

fn distances(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<Distances> {
    context.drop_backward();
    let GraphSettings { memory_bytes, threads } = context.settings;
    let forward = context.forward()?;
    Distances::measure(forward, memory_bytes / 2, threads, &mut |iteration| on_iteration(iteration, 0.0))
}

fn sites(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<SiteResult> {
    let graph = context.graph.site_graph()?;
    let (backward, weights) = graph.transposed();
    let (totals, threads) = (graph.totals(), context.settings.threads);
    context.write_sites("out-degree", |site| graph.forward.neighbours(site as u32).len() as u32)?;
    context.write_sites("in-degree", |site| backward.neighbours(site as u32).len() as u32)?;
    let backward = Adjacency::from(backward);
    let weights = Weights::Large(&weights);
    let ranking = PageRank::default().run(&backward, &totals, weights, None, threads, on_iteration)?;
    context.write_sites("site-rank", |site| ranking.ranks[site] as f32)?;
    // Harmonic centrality counts the distances to a site, so the balls grow against the links.
    let memory_bytes = context.settings.memory_bytes / 2;
    let balls = HyperBall::run(&backward, memory_bytes, threads, &mut |_| ())?;
    context.write_sites("harmonic", |site| balls.harmonic[site])?;
    drop(balls);
    Ok(SiteResult {
        iterations: ranking.iterations,
        residual: ranking.residual,
        distances: Distances::measure(&backward, memory_bytes, threads, &mut |_| ())?,
    })
}

fn rejected_links(context: &mut StepContext<'_>) -> Result<RejectedLinksResult> {
    let (collection, dir) = (context.collection, context.graph.dir());
    let generation = context.graph.info.generation;
    let rejected = RejectedLinks::read(collection, &context.snapshot()?.manifest)?;
    rejected.write_tables(collection, generation)?;
    let by_links = rejected.domains();
    write_domains(&dir.join(REJECTED_DOMAINS), &by_links)?;
    let top = by_links.iter().take(TOP_DOMAINS).map(|(domain, links)| ((*domain).to_owned(), *links));
    Ok(RejectedLinksResult {
        links: rejected.links,
        reasons: rejected.reasons().into_iter().map(|(reason, links)| (reason.to_owned(), links)).collect(),
        domains: by_links.len() as u64,
        top_domains: top.collect(),
    })
}

fn tables(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<RowCounts> {
    context.drop_graph();
    let settings = context.settings;
    write_tables(&*context.snapshot()?, &settings, &mut |share| on_iteration(0, share))
}

fn statistics(context: &mut StepContext<'_>, on_iteration: OnIteration<'_>) -> Result<StatisticsResult> {
    let (snapshot, threads) = (context.snapshot()?, context.settings.threads);
    let statistics = compute_statistics(&snapshot, threads, &mut |progress| {
        on_iteration(0, progress.rows as f64 / progress.total.max(1) as f64);
    })?;
    write_statistics(context.collection, context.graph.info.generation, &statistics)?;
    Ok(StatisticsResult { statistics: statistics.len() as u64 })
}
