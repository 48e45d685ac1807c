//! HyperBall (Boldi and Vigna, "In-core computation of geometric centralities with HyperBall", 2013): harmonic centrality.
//!
//! Each node has a HyperLogLog counter of the nodes that it reaches within *t* steps; the counter of step *t* + 1 is
//! the union of its own and its neighbours' counters of step *t*. On transposed arcs their sizes give the harmonic centrality
//! of each node, Σ over other nodes of 1/distance to it, within a few per cent.
//!
//! Counters that did not change in the last step are skipped. The iteration stops when no counter changes, or when the
//! number of pairs grows by less than a millionth.

use std::ops::Range;

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::split_by;
use crate::sketch::hyper_log_log::{estimate, insert, merge, mix};
use crate::threads::Threads;

/// Result of the iteration.
#[derive(Debug, Clone)]
pub struct HyperBall {
    /// For each node the sum of 1/distance over all other nodes that it reaches by these arcs.
    pub harmonic: Vec<f32>,
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
        let (mut pairs, mut step) = (nodes as f64, 0);
        let parts = arcs.parts(threads.0 * PARTS_PER_THREAD);
        while nodes > 0 && step < MAX_ITERATIONS {
            step += 1;
            let (grown, changed) = balls.grow(arcs, &parts, step, threads)?;
            if !changed {
                break;
            }
            on_iteration(step as u32);
            if grown < pairs * MIN_GROWTH {
                break;
            }
            pairs += grown;
        }
        Ok(HyperBall { harmonic: balls.harmonic })
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::graph::csr::Csr;

    /// Harmonic centrality by one search from each node along the arcs.
    fn exact(lists: &[Vec<u32>]) -> Vec<f32> {
        let of_node = |source: usize| {
            let mut distances = vec![None; lists.len()];
            distances[source] = Some(0u32);
            let (mut queue, mut sum) = (VecDeque::from([source]), 0.0);
            while let Some(node) = queue.pop_front() {
                let distance = distances[node].unwrap() + 1;
                for target in lists[node].iter().map(|target| *target as usize) {
                    if distances[target].is_none() {
                        distances[target] = Some(distance);
                        sum += 1.0 / distance as f32;
                        queue.push_back(target);
                    }
                }
            }
            sum
        };
        (0..lists.len()).map(of_node).collect()
    }

    #[test]
    fn harmonic_centrality_is_near_the_exact_one() {
        let next = |node: u32, number: u64| (mix(u64::from(node) * 8 + number) % 2_000) as u32;
        let random: Vec<Vec<u32>> = (0..2_000).map(|node| vec![next(node, 0), next(node, 1)]).collect();
        let star: Vec<Vec<u32>> =
            (0..500).map(|node: u32| if node == 0 { (1..500).collect() } else { vec![0] }).collect();
        let chain: Vec<Vec<u32>> =
            (0..300).map(|node: u32| if node < 299 { vec![node + 1] } else { vec![] }).collect();
        for lists in [random, star, chain] {
            let arcs = Adjacency::from(Csr::from_lists(&lists));
            let found = HyperBall::run(&arcs, 1 << 24, Threads(2), &mut |_| ()).unwrap().harmonic;
            let expected = exact(&lists);
            let errors = found.iter().zip(&expected).map(|(found, expected)| {
                if *expected == 0.0 { *found } else { (found / expected - 1.0).abs() }
            });
            let errors: Vec<f32> = errors.collect();
            let mean = errors.iter().sum::<f32>() / errors.len() as f32;
            let max = errors.iter().copied().fold(0.0, f32::max);
            assert!(mean < 0.08 && max < 0.3, "mean {mean}, maximum {max}");
        }
    }
}
