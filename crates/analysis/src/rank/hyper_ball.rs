//! HyperBall (Boldi and Vigna, "In-core computation of geometric centralities with HyperBall", 2013): distances between
//! nodes, and harmonic centrality.
//!
//! Each node has a HyperLogLog counter of the nodes that it reaches within *t* steps; the counter of step *t* + 1 is
//! the union of its own and its neighbours' counters of step *t*. The sizes give the number of pairs within each
//! distance, and from it the average distance and the effective diameter, within a few per cent. On transposed arcs
//! they give the harmonic centrality of each node: Σ over other nodes of 1/distance to it.
//!
//! Counters that did not change in the last step are skipped. The iteration stops when no counter changes, or when the
//! number of pairs grows by less than a millionth.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::split_by;
use crate::sketch::hyper_log_log::{estimate, insert, merge, mix};
use crate::threads::Threads;

/// Result of the iteration.
#[derive(Debug, Clone)]
pub struct HyperBall {
    /// Number of ordered pairs of nodes, including each node with itself, at distance at most 0, 1, 2 ...
    pub pairs: Vec<f64>,
    /// For each node the sum of 1/distance over all other nodes that it reaches by these arcs.
    pub harmonic: Vec<f32>,
}

/// Distances between nodes that reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distances {
    /// Number of ordered pairs of different nodes of which the first reaches the second.
    pub pairs: f64,
    /// Average distance of these pairs.
    pub average: f64,
    /// Distance within which 90 % of these pairs lie, interpolated between whole numbers.
    pub effective_diameter: f64,
    /// Maximum distance seen.
    pub max_distance: u32,
}

/// Fewer registers are too inexact; more cost memory without much gain.
const LOG2_REGISTERS: Range<u32> = 4..9;
const MAX_ITERATIONS: usize = 1_000;
const MIN_GROWTH: f64 = 1e-6;
const PARTS_PER_THREAD: usize = 16;

impl HyperBall {
    /// Grows balls along the arcs, with the most exact counters that fit into `memory_bytes`. `on_iteration` receives
    /// the number of the step.
    pub fn run(
        arcs: &Adjacency,
        memory_bytes: u64,
        threads: Threads,
        on_iteration: &mut dyn FnMut(u32),
    ) -> Result<HyperBall> {
        let nodes = arcs.nodes() as usize;
        // Two generations of counters of 2^log2 bytes, and 14 bytes for the other arrays.
        let fits = |log2: &u32| (nodes as u64) * ((2 << log2) + 14) <= memory_bytes;
        let log2 = LOG2_REGISTERS.rev().find(fits).unwrap_or(LOG2_REGISTERS.start);
        let mut balls = Balls::new(nodes, log2);
        let mut pairs = vec![nodes as f64];
        let parts = arcs.parts(threads.0 * PARTS_PER_THREAD);
        while nodes > 0 && pairs.len() <= MAX_ITERATIONS {
            let (grown, changed) = balls.grow(arcs, &parts, pairs.len(), threads)?;
            let last = pairs[pairs.len() - 1];
            if !changed {
                break;
            }
            pairs.push(last + grown);
            on_iteration(pairs.len() as u32 - 1);
            if grown < last * MIN_GROWTH {
                break;
            }
        }
        Ok(HyperBall { pairs, harmonic: balls.harmonic })
    }

    /// Distances computed from the numbers of pairs.
    pub fn distances(&self) -> Distances {
        let first = self.pairs.first().copied().unwrap_or(0.0);
        let last = self.pairs.last().copied().unwrap_or(0.0);
        let reached = last - first;
        if reached <= 0.0 {
            return Distances { pairs: 0.0, average: 0.0, effective_diameter: 0.0, max_distance: 0 };
        }
        let steps = self.pairs.windows(2).enumerate();
        let sum: f64 = steps.map(|(step, pair)| (step + 1) as f64 * (pair[1] - pair[0])).sum();
        let target = first + 0.9 * reached;
        let step = self.pairs.iter().position(|pairs| *pairs >= target).unwrap_or(self.pairs.len() - 1);
        let below = self.pairs[step.saturating_sub(1)];
        let part = (target - below) / (self.pairs[step] - below).max(f64::MIN_POSITIVE);
        Distances {
            pairs: reached,
            average: sum / reached,
            effective_diameter: step as f64 - 1.0 + part,
            max_distance: self.pairs.len() as u32 - 1,
        }
    }
}

struct Balls {
    log2: u32,
    /// Counters after the last step, concatenated, and those of the step before.
    now: Vec<u8>,
    before: Vec<u8>,
    /// Whether each counter changed in the last step.
    changed: Vec<bool>,
    sizes: Vec<f32>,
    harmonic: Vec<f32>,
}

/// Part of the nodes for one thread in one step.
struct Task<'b> {
    part: Range<u32>,
    now: &'b mut [u8],
    changed: &'b mut [bool],
    sizes: &'b mut [f32],
    harmonic: &'b mut [f32],
}

impl Balls {
    fn new(nodes: usize, log2: u32) -> Balls {
        let registers = 1usize << log2;
        let mut now = vec![0; nodes * registers];
        for (node, counter) in now.chunks_mut(registers).enumerate() {
            insert(counter, mix(node as u64));
        }
        let before = now.clone();
        Balls {
            log2,
            now,
            before,
            changed: vec![true; nodes],
            sizes: vec![1.0; nodes],
            harmonic: vec![0.0; nodes],
        }
    }

    /// Runs one step, and returns by how many pairs all balls grew together, and whether a counter changed.
    fn grow(
        &mut self,
        arcs: &Adjacency,
        parts: &[Range<u32>],
        step: usize,
        threads: Threads,
    ) -> Result<(f64, bool)> {
        std::mem::swap(&mut self.now, &mut self.before);
        let Balls { log2, now, before, changed, sizes, harmonic } = self;
        let was_changed = std::mem::replace(changed, vec![false; changed.len()]);
        let registers = 1usize << *log2;
        let mut rest = &mut now[..];
        let mut tasks = Vec::with_capacity(parts.len());
        let columns =
            split_by(changed, parts).into_iter().zip(split_by(sizes, parts)).zip(split_by(harmonic, parts));
        for (((part, changed), (_, sizes)), (_, harmonic)) in columns {
            let (now, behind) = rest.split_at_mut(part.len() * registers);
            rest = behind;
            tasks.push(Task { part, now, changed, sizes, harmonic });
        }
        let grown = threads.map(tasks, |task| task.grow(arcs, before, &was_changed, registers, step));
        let mut all = (0.0, false);
        for result in grown {
            let (grown, changed) = result?;
            all = (all.0 + grown, all.1 | changed);
        }
        Ok(all)
    }
}

impl Task<'_> {
    fn grow(
        self,
        arcs: &Adjacency,
        before: &[u8],
        was_changed: &[bool],
        registers: usize,
        step: usize,
    ) -> Result<(f64, bool)> {
        let Task { part, now, changed, sizes, harmonic } = self;
        let start = part.start;
        let mut all = (0.0, false);
        arcs.for_each_in(part, |_, node, neighbours| {
            let own = (node - start) as usize;
            let counter = &mut now[own * registers..][..registers];
            let old = &before[node as usize * registers..][..registers];
            counter.copy_from_slice(old);
            for neighbour in neighbours.iter().filter(|neighbour| was_changed[**neighbour as usize]) {
                let theirs = &before[*neighbour as usize * registers..][..registers];
                merge(counter, theirs);
            }
            if counter != old {
                let size = (estimate(counter) as f32).max(sizes[own]);
                let grown = size - sizes[own];
                sizes[own] = size;
                harmonic[own] += grown / step as f32;
                changed[own] = true;
                all = (all.0 + f64::from(grown), true);
            }
        })?;
        Ok(all)
    }
}
