//! What does each step do? It computes, writes its columns, and says what it has found.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use store::{RankColumn, Ranked, write_statistics};

use super::Step;
use super::session::Session;
use super::similarity::similarity;
use crate::anchor_texts::write_anchors;
use crate::arcs::Arcs;
use crate::bow_tie::{Part, bow_tie};
use crate::components::Components;
use crate::csr::Csr;
use crate::error::{Error, Result};
use crate::hits::Hits;
use crate::hyper_ball::HyperBall;
use crate::link_graph::GraphSettings;
use crate::outside::{LinksOutside, write_domains};
use crate::page_rank::{PageRank, Ranking, Weights};
use crate::statistics::compute_statistics;
use crate::wide_tables::write_tables;

/// So many domains are told of.
const MOST_TOLD: usize = 10;

/// Hubs and authorities below this are far below the change at which the iteration ends.
const LEAST_HITS: f64 = 1e-12;

/// What came of a step.
pub(super) enum Found {
    Figures(Value),
    /// It could not be done; why.
    Skipped(String),
}

type Told<'t> = &'t mut dyn FnMut(u32, f64);

pub(super) fn run(step: Step, session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    match step {
        Step::Graph => Ok(Found::Figures(json!(session.graph.about))),
        Step::Degrees => degrees(session),
        Step::PageRank => page_rank(session, told),
        Step::LinkRank => link_rank(session, told),
        Step::Hits => hits(session, told),
        Step::Structure => structure(session),
        Step::Similarity => similarity(session),
        Step::Anchors => anchors(session),
        Step::Distances => distances(session, told),
        Step::Sites => sites(session, told),
        Step::Outside => outside(session),
        Step::Tables => tables(session, told),
        Step::Statistics => statistics(session, told),
    }
}

fn degrees(session: &mut Session<'_>) -> Result<Found> {
    let cores = session.settings.cores;
    let out = session.graph.forward()?.degrees(cores)?;
    let into = session.graph.backward()?.degrees(cores)?;
    session.write_pages("out-degree", |node| out[node])?;
    session.write_pages("in-degree", |node| into[node])?;
    let most = |degrees: &[u32]| degrees.iter().copied().max().unwrap_or(0);
    let none = |degrees: &[u32]| degrees.iter().filter(|degree| **degree == 0).count();
    Ok(Found::Figures(json!({
        "most_in": most(&into), "most_out": most(&out),
        "without_in": none(&into), "without_out": none(&out),
    })))
}

fn page_rank(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    let cores = session.settings.cores;
    let totals = session.graph.forward()?.degrees(cores)?;
    let ranking = rank_pages(session, "pagerank", &totals, Weights::Equal, told)?;
    let places = session.graph.site_places()?;
    let mut sums = vec![0.0; session.graph.about.sites as usize];
    for (place, rank) in places.iter().zip(&ranking.ranks) {
        sums[*place as usize] += rank;
    }
    session.write_sites("pagerank", |place| sums[place] as f32)?;
    Ok(figures(&ranking))
}

fn link_rank(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    let arcs = session.graph.about.arcs;
    if arcs > session.settings.memory_bytes / 2 {
        let why = format!(
            "the weights of links take {} MB of memory, more than half of what is allowed",
            arcs >> 20
        );
        return Ok(Found::Skipped(why));
    }
    let totals = weight_totals(session)?;
    let weights = session.graph.backward_weights()?;
    let ranking = rank_pages(session, "link-rank", &totals, Weights::Small(&weights), told)?;
    Ok(figures(&ranking))
}

/// The weight of all links of each node.
fn weight_totals(session: &Session<'_>) -> Result<Vec<u32>> {
    let weights = session.graph.forward_weights()?;
    let mut rest = &weights[..];
    let degrees = session.graph.forward()?.degrees(session.settings.cores)?;
    let total = |degree: u32| {
        let (own, behind) = rest.split_at(rest.len().min(degree as usize));
        rest = behind;
        own.iter().map(|weight| u32::from(*weight)).sum()
    };
    Ok(degrees.into_iter().map(total).collect())
}

/// Ranks pages from where the last analysis left them, and writes the column.
fn rank_pages(
    session: &mut Session<'_>,
    name: &str,
    totals: &[u32],
    weights: Weights<'_>,
    told: Told<'_>,
) -> Result<Ranking> {
    let start = session.last_pages(name, 1.0 / f64::from(session.graph.about.pages.max(1)))?;
    let cores = session.settings.cores;
    let ranking = PageRank::default().run(session.backward()?, totals, weights, start, cores, told)?;
    session.write_pages(name, |node| ranking.ranks[node] as f32)?;
    Ok(ranking)
}

fn figures(ranking: &Ranking) -> Found {
    Found::Figures(json!({ "steps": ranking.steps, "change": ranking.change }))
}

fn hits(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    // A page that was no hub may have become one; from nothing it never would.
    let least = 1e-6 / f64::from(session.graph.about.pages.max(1)).sqrt();
    let start = session.last_pages("hub", least)?;
    let start = start.map(|hubs| hubs.into_iter().map(|hub| hub.max(least)).collect());
    let cores = session.settings.cores;
    let (forward, backward) = session.arcs()?;
    let hits = Hits::run(forward, backward, start, cores, told)?;
    // What is left of the start in pages that lose it step by step says nothing.
    let settled = |value: f64| if value < LEAST_HITS { 0.0 } else { value as f32 };
    session.write_pages("hub", |node| settled(hits.hubs[node]))?;
    session.write_pages("authority", |node| settled(hits.authorities[node]))?;
    Ok(Found::Figures(json!({ "steps": hits.steps, "change": hits.change })))
}

/// A shape, in figures.
#[derive(Serialize)]
struct Shape {
    components: usize,
    largest_component: u32,
    parts: BTreeMap<&'static str, u64>,
}

fn structure(session: &mut Session<'_>) -> Result<Found> {
    let about = &session.graph.about;
    let (Arcs::InMemory(forward), Arcs::InMemory(backward)) = session.arcs()? else {
        let mb = Csr::bytes(about.pages, about.arcs) >> 19;
        return Ok(Found::Skipped(format!("components take {mb} MB of memory, more than is allowed")));
    };
    let (components, parts, pages) = shape(forward, backward);
    session.write_pages("component", |node| components.of[node])?;
    session.write_pages("part", |node| parts[node] as u32)?;
    let site_graph = session.graph.site_graph()?;
    let (components, parts, sites) = shape(&site_graph.forward, &site_graph.turned().0);
    session.write_sites("component", |place| components.of[place])?;
    session.write_sites("part", |place| parts[place] as u32)?;
    Ok(Found::Figures(json!({ "pages": pages, "sites": sites })))
}

fn shape(forward: &Csr, backward: &Csr) -> (Components, Vec<Part>, Shape) {
    let components = Components::find(forward);
    let parts = bow_tie(forward, backward, &components);
    let mut counts: BTreeMap<&'static str, u64> = Part::ALL.map(|part| (part.as_str(), 0)).into();
    parts.iter().for_each(|part| *counts.entry(part.as_str()).or_default() += 1);
    let largest_component = components.sizes.first().copied().unwrap_or(0);
    let shape = Shape { components: components.sizes.len(), largest_component, parts: counts };
    (components, parts, shape)
}

fn anchors(session: &mut Session<'_>) -> Result<Found> {
    let snapshot = session.snapshot()?;
    let column = RankColumn::<u32>::open(session.collection, Ranked::Pages, "in-degree")?;
    // The step `degrees` comes before; who deletes its column meanwhile makes it come again.
    let not_analysed = || Error::NotAnalysed { path: session.collection.to_owned() };
    let in_degrees = column.ok_or_else(not_analysed)?.read_all()?;
    let (generation, memory_bytes) = (session.graph.about.generation, session.settings.memory_bytes);
    Ok(Found::Figures(json!(write_anchors(&snapshot, generation, &in_degrees, memory_bytes)?)))
}

fn distances(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    session.drop_backward();
    let GraphSettings { memory_bytes, cores } = session.settings;
    let balls = HyperBall::run(session.forward()?, memory_bytes / 2, cores, &mut |step| told(step, 0.0))?;
    Ok(Found::Figures(json!(balls.distances())))
}

fn sites(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    let graph = session.graph.site_graph()?;
    let (backward, weights) = graph.turned();
    let (totals, cores) = (graph.totals(), session.settings.cores);
    session.write_sites("out-degree", |place| graph.forward.of_node(place as u32).len() as u32)?;
    session.write_sites("in-degree", |place| backward.of_node(place as u32).len() as u32)?;
    let backward = Arcs::from(backward);
    let ranking = PageRank::default().run(&backward, &totals, Weights::Large(&weights), None, cores, told)?;
    session.write_sites("site-rank", |place| ranking.ranks[place] as f32)?;
    // A site is central if others reach it: the balls grow against the links.
    let balls = HyperBall::run(&backward, session.settings.memory_bytes / 2, cores, &mut |_| ())?;
    session.write_sites("harmonic", |place| balls.harmonic[place])?;
    Ok(Found::Figures(json!({
        "steps": ranking.steps, "change": ranking.change, "distances": balls.distances(),
    })))
}

fn outside(session: &mut Session<'_>) -> Result<Found> {
    let (collection, folder) = (session.collection, session.graph.folder());
    let generation = session.graph.about.generation;
    let outside = LinksOutside::count(collection, &session.snapshot()?.manifest)?;
    outside.write_tables(collection, generation)?;
    let by_links = outside.domains();
    write_domains(&folder.join("outside.tsv"), &by_links)?;
    Ok(Found::Figures(json!({
        "links": outside.links, "reasons": outside.reasons(),
        "domains": by_links.len(), "most": by_links.iter().take(MOST_TOLD).collect::<Vec<_>>(),
    })))
}

fn tables(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    session.drop_graph();
    let settings = session.settings;
    let written = write_tables(&*session.snapshot()?, &settings, &mut |share| told(0, share))?;
    Ok(Found::Figures(json!(written)))
}

fn statistics(session: &mut Session<'_>, told: Told<'_>) -> Result<Found> {
    let (snapshot, cores) = (session.snapshot()?, session.settings.cores);
    let statistics = compute_statistics(&snapshot, cores, &mut |surveyed| {
        told(0, surveyed.rows as f64 / surveyed.of.max(1) as f64);
    })?;
    write_statistics(session.collection, session.graph.about.generation, &statistics)?;
    Ok(Found::Figures(json!({ "statistics": statistics.len() })))
}
