//! How likely is somebody who follows links, and sometimes jumps, to be at a page? PageRank (Brin and Page 1998), and the
//! same with links of unequal weight.
//!
//! ```text
//! rank(p) = (1 - d)/N + d · (Σ over links q → p of rank(q) · weight(q → p)/weight(q) + Σ over dangling q of rank(q)/N)
//! ```
//!
//! d = 0.85; a page without links leads everywhere alike; ranks sum up to 1. By power iteration: each page pulls from
//! those that link to it, so that cores write to different places. It ends when the ranks change by less than 10^-9
//! together, or after 100 steps. Works the same over arcs that do not fit into memory.

use std::ops::Range;

use crate::arcs::Arcs;
use crate::bv::split_by;
use crate::cores::Cores;
use crate::error::Result;

/// When to stop, and how often to jump.
#[derive(Debug, Clone, Copy)]
pub struct PageRank {
    /// The chance that a link is followed.
    pub damping: f64,
    /// Ranks that change by less than this together are final.
    pub enough: f64,
    /// No more steps than these.
    pub most_steps: u32,
}

impl Default for PageRank {
    fn default() -> PageRank {
        PageRank { damping: 0.85, enough: 1e-9, most_steps: 100 }
    }
}

/// Ranks, and how they came about.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// By node.
    pub ranks: Vec<f64>,
    /// Steps that were made.
    pub steps: u32,
    /// How much all ranks together changed in the last one.
    pub change: f64,
}

/// What links count for.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'w> {
    /// All the same.
    Equal,
    /// By arc of the backward graph.
    Small(&'w [u8]),
    /// The same, larger.
    Large(&'w [u32]),
}

/// How many parts each core gets: enough to end together.
const PARTS_PER_CORE: usize = 16;

impl PageRank {
    /// Ranks the nodes of a graph. `backward` has the arcs turned round, `totals` the weight of all arcs of each node
    /// (how many those are, if they weigh the same), `start` the ranks to begin with, if some are known. `told` hears of
    /// each step and the change it made.
    pub fn run(
        &self,
        backward: &Arcs,
        totals: &[u32],
        weights: Weights<'_>,
        start: Option<Vec<f64>>,
        cores: Cores,
        told: &mut dyn FnMut(u32, f64),
    ) -> Result<Ranking> {
        let nodes = backward.nodes() as usize;
        let mut ranks = first_ranks(nodes, start);
        let mut dangling: f64 =
            ranks.iter().zip(totals).filter(|(_, total)| **total == 0).map(|(rank, _)| rank).sum();
        ranks.iter_mut().zip(totals).for_each(|(rank, total)| *rank /= weight(*total));
        let mut ranking = Ranking { ranks, steps: 0, change: 0.0 };
        let mut next = vec![0.0; nodes];
        let parts = backward.parts(cores.0 * PARTS_PER_CORE);
        while nodes > 0 && ranking.steps < self.most_steps {
            let everywhere = (1.0 - self.damping + self.damping * dangling) / nodes as f64;
            let step = Step { backward, totals, shares: &ranking.ranks, everywhere, damping: self.damping };
            let done =
                cores.map(split_by(&mut next, &parts), |(part, next)| match weights {
                    Weights::Equal => step.take(part, next, equal),
                    Weights::Small(weights) => step
                        .take(part, next, |arc, sources, shares| weighted(sources, shares, &weights[arc..])),
                    Weights::Large(weights) => step
                        .take(part, next, |arc, sources, shares| weighted(sources, shares, &weights[arc..])),
                });
            (ranking.change, dangling) = (0.0, 0.0);
            for part in done {
                let (part_change, part_dangling) = part?;
                ranking.change += part_change;
                dangling += part_dangling;
            }
            std::mem::swap(&mut ranking.ranks, &mut next);
            ranking.steps += 1;
            told(ranking.steps, ranking.change);
            if ranking.change < self.enough {
                break;
            }
        }
        ranking.ranks.iter_mut().zip(totals).for_each(|(share, total)| *share *= weight(*total));
        normalise(&mut ranking.ranks);
        Ok(ranking)
    }
}

/// Equal ranks, or those that were known.
fn first_ranks(nodes: usize, start: Option<Vec<f64>>) -> Vec<f64> {
    let usable = |ranks: &Vec<f64>| {
        ranks.len() == nodes
            && ranks.iter().all(|rank| rank.is_finite() && *rank >= 0.0)
            && ranks.iter().sum::<f64>() > 0.0
    };
    let mut ranks = start.filter(usable).unwrap_or_else(|| vec![1.0; nodes]);
    normalise(&mut ranks);
    ranks
}

/// So that all together are 1.
fn normalise(ranks: &mut [f64]) {
    let sum: f64 = ranks.iter().sum();
    ranks.iter_mut().for_each(|rank| *rank /= sum);
}

/// One step of the iteration. What each page gives for a weight of 1 is all that is kept: a rank is its share by its weight.
#[derive(Clone, Copy)]
struct Step<'s> {
    backward: &'s Arcs,
    totals: &'s [u32],
    shares: &'s [f64],
    everywhere: f64,
    damping: f64,
}

impl Step<'_> {
    /// Takes the step for a part of the nodes; returns how much their ranks changed, and those that dangle.
    ///
    /// Most of the time goes by waiting for shares that are in no cache, and the processor waits for as many at once as
    /// it sees ahead: so the kind of weights is settled outside, and the code of a node is kept short.
    fn take(
        self,
        part: Range<u32>,
        next: &mut [f64],
        pull: impl Fn(usize, &[u32], &[f64]) -> f64,
    ) -> Result<(f64, f64)> {
        let Step { backward, totals, shares, everywhere, damping } = self;
        let start = part.start;
        let (mut change, mut dangling) = (0.0, 0.0);
        backward.for_each_in(part, |first_arc, node, sources| {
            let new = everywhere + damping * pull(first_arc as usize, sources, shares);
            let total = totals[node as usize];
            change += (new - shares[node as usize] * weight(total)).abs();
            dangling += if total == 0 { new } else { 0.0 };
            next[(node - start) as usize] = new / weight(total);
        })?;
        Ok((change, dangling))
    }
}

/// What the links of a page weigh together; one that has none gives all of its rank away.
fn weight(total: u32) -> f64 {
    f64::from(total.max(1))
}

fn equal(_: usize, sources: &[u32], shares: &[f64]) -> f64 {
    sources.iter().map(|source| shares[*source as usize]).sum()
}

fn weighted<W: Copy + Into<f64>>(sources: &[u32], shares: &[f64], weights: &[W]) -> f64 {
    sources.iter().zip(weights).map(|(source, weight)| shares[*source as usize] * (*weight).into()).sum()
}
