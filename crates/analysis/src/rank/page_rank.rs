//! PageRank (Brin and Page 1998), also with weighted links.
//!
//! ```text
//! rank(p) = (1 - d)/N + d · (Σ over links q → p of rank(q) · weight(q → p)/weight(q) + Σ over dangling q of rank(q)/N)
//! ```
//!
//! d = 0.85; the rank of a page without outlinks is distributed evenly over all pages; ranks sum up to 1. Computed by
//! power iteration: each page pulls from the pages that link to it, so that threads write to disjoint slices. It stops
//! when the ranks change by less than 10^-9 in total, or after 100 iterations. Arcs that do not fit into memory are
//! decoded in each iteration.

use std::ops::Range;

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::split_by;
use crate::threads::Threads;

/// Parameters of the iteration.
#[derive(Debug, Clone, Copy)]
pub struct PageRank {
    /// Damping factor d.
    pub damping: f64,
    /// The iteration stops when the ranks change by less than this in total.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: u32,
}

impl Default for PageRank {
    fn default() -> PageRank {
        PageRank { damping: 0.85, tolerance: 1e-9, max_iterations: 100 }
    }
}

/// Ranks, and how the iteration ended.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// Rank of each node.
    pub ranks: Vec<f64>,
    /// Number of iterations.
    pub iterations: u32,
    /// Total change of the ranks in the last iteration.
    pub residual: f64,
}

/// Weights of the arcs.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'w> {
    /// All weights are equal.
    Equal,
    /// Weights by arc of the transposed graph.
    Small(&'w [u8]),
    /// Weights by arc of the transposed graph, in 32 bits.
    Large(&'w [u32]),
}

/// Parts per thread: enough that all threads finish at about the same time.
const PARTS_PER_THREAD: usize = 16;

impl PageRank {
    /// Ranks the nodes of a graph. `backward` has the transposed arcs; `totals` the sum of the weights of the outgoing
    /// arcs of each node (their number, if the weights are equal); `start` the ranks to start from, if some are known.
    /// `on_iteration` receives the number of the iteration and its residual.
    pub fn run(
        &self,
        backward: &Adjacency,
        totals: &[u32],
        weights: Weights<'_>,
        start: Option<Vec<f64>>,
        threads: Threads,
        on_iteration: &mut dyn FnMut(u32, f64),
    ) -> Result<Ranking> {
        let nodes = backward.nodes() as usize;
        let mut ranks = initial_ranks(nodes, start);
        let mut dangling: f64 =
            ranks.iter().zip(totals).filter(|(_, total)| **total == 0).map(|(rank, _)| rank).sum();
        ranks.iter_mut().zip(totals).for_each(|(rank, total)| *rank /= weight(*total));
        let mut ranking = Ranking { ranks, iterations: 0, residual: 0.0 };
        let mut next = vec![0.0; nodes];
        let parts = backward.parts(threads.0 * PARTS_PER_THREAD);
        while nodes > 0 && ranking.iterations < self.max_iterations {
            let teleport = (1.0 - self.damping + self.damping * dangling) / nodes as f64;
            let iteration =
                Iteration { backward, totals, shares: &ranking.ranks, teleport, damping: self.damping };
            let done = threads.map(split_by(&mut next, &parts), |(part, next)| match weights {
                Weights::Equal => iteration.run(part, next, equal),
                Weights::Small(weights) => iteration
                    .run(part, next, |arc, sources, shares| weighted(sources, shares, &weights[arc..])),
                Weights::Large(weights) => iteration
                    .run(part, next, |arc, sources, shares| weighted(sources, shares, &weights[arc..])),
            });
            (ranking.residual, dangling) = (0.0, 0.0);
            for part in done {
                let (part_change, part_dangling) = part?;
                ranking.residual += part_change;
                dangling += part_dangling;
            }
            std::mem::swap(&mut ranking.ranks, &mut next);
            ranking.iterations += 1;
            on_iteration(ranking.iterations, ranking.residual);
            if ranking.residual < self.tolerance {
                break;
            }
        }
        ranking.ranks.iter_mut().zip(totals).for_each(|(share, total)| *share *= weight(*total));
        normalise(&mut ranking.ranks);
        Ok(ranking)
    }
}

/// The given ranks if they are usable, otherwise equal ranks.
fn initial_ranks(nodes: usize, start: Option<Vec<f64>>) -> Vec<f64> {
    let usable = |ranks: &Vec<f64>| {
        ranks.len() == nodes
            && ranks.iter().all(|rank| rank.is_finite() && *rank >= 0.0)
            && ranks.iter().sum::<f64>() > 0.0
    };
    let mut ranks = start.filter(usable).unwrap_or_else(|| vec![1.0; nodes]);
    normalise(&mut ranks);
    ranks
}

/// Scales the ranks to the sum 1.
fn normalise(ranks: &mut [f64]) {
    let sum: f64 = ranks.iter().sum();
    ranks.iter_mut().for_each(|rank| *rank /= sum);
}

/// One iteration. It stores the rank of each page divided by its total weight, because that is what the page passes on
/// per unit of weight.
#[derive(Clone, Copy)]
struct Iteration<'s> {
    backward: &'s Adjacency,
    totals: &'s [u32],
    shares: &'s [f64],
    teleport: f64,
    damping: f64,
}

impl Iteration<'_> {
    /// Computes the new values of a part of the nodes, and returns the change of their ranks and the rank of the
    /// dangling ones.
    ///
    /// Most of the time is spent on cache misses, and the processor overlaps as many of them as fit into its window of
    /// instructions. The kind of weights is therefore decided outside of the loop, and the code per node
    /// is short.
    fn run(
        self,
        part: Range<u32>,
        next: &mut [f64],
        pull: impl Fn(usize, &[u32], &[f64]) -> f64,
    ) -> Result<(f64, f64)> {
        let Iteration { backward, totals, shares, teleport, damping } = self;
        let start = part.start;
        let (mut change, mut dangling) = (0.0, 0.0);
        backward.for_each_in(part, |first_arc, node, sources| {
            let new = teleport + damping * pull(first_arc as usize, sources, shares);
            let total = totals[node as usize];
            change += (new - shares[node as usize] * weight(total)).abs();
            dangling += if total == 0 { new } else { 0.0 };
            next[(node - start) as usize] = new / weight(total);
        })?;
        Ok((change, dangling))
    }
}

/// Divisor of the rank of a page; a page without links passes on all of its rank.
fn weight(total: u32) -> f64 {
    f64::from(total.max(1))
}

fn equal(_: usize, sources: &[u32], shares: &[f64]) -> f64 {
    sources.iter().map(|source| shares[*source as usize]).sum()
}

fn weighted<W: Copy + Into<f64>>(sources: &[u32], shares: &[f64], weights: &[W]) -> f64 {
    sources.iter().zip(weights).map(|(source, weight)| shares[*source as usize] * (*weight).into()).sum()
}
