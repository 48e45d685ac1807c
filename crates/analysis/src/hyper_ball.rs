//! How far apart are pages, and which sites are close to all others? HyperBall (Boldi and Vigna, "In-core computation of
//! geometric centralities with HyperBall", 2013).
//!
//! Every node has a HyperLogLog counter of the nodes it reaches within *t* steps; that of step *t* + 1 is the union of
//! its own and its neighbours' counters of step *t*. The sizes give the number of pairs within each distance, and with
//! it the average distance and the effective diameter, within a few per cent; and, with the arcs turned round, every
//! node's harmonic centrality Σ over others of 1/distance to it.
//!
//! A counter that did not change in the last step is not looked at again. Ends when none changes, or when the pairs grow
//! by less than a millionth.

use std::ops::Range;

use serde::Serialize;

use crate::arcs::Arcs;
use crate::bv::split_by;
use crate::cores::Cores;
use crate::distinct::{estimate, mix, note, unite};
use crate::error::Result;

/// What the balls around all nodes have told.
#[derive(Debug, Clone)]
pub struct HyperBall {
    /// How many ordered pairs of nodes, the equal ones included, are at most 0, 1, 2 ... arcs apart.
    pub pairs: Vec<f64>,
    /// For each node the sum of 1/distance over all others that it reaches by these arcs.
    pub harmonic: Vec<f32>,
}

/// How far apart nodes are that reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distances {
    /// Ordered pairs of different nodes of which the first reaches the second.
    pub pairs: f64,
    /// The average over these.
    pub average: f64,
    /// Nine tenths of them are at most so far apart; between whole numbers by interpolation.
    pub effective_diameter: f64,
    /// The largest distance that was seen.
    pub most: u32,
}

/// Fewer registers tell nothing, more only cost.
const LOG2_REGISTERS: Range<u32> = 4..9;
const MOST_STEPS: usize = 1_000;
const LEAST_GROWTH: f64 = 1e-6;
const PARTS_PER_CORE: usize = 16;

impl HyperBall {
    /// Grows balls along the arcs, with counters as exact as so much memory allows. `told` hears of each step.
    pub fn run(arcs: &Arcs, memory_bytes: u64, cores: Cores, told: &mut dyn FnMut(u32)) -> Result<HyperBall> {
        let nodes = arcs.nodes() as usize;
        let fits = |log2: &u32| (nodes as u64) * ((2 << log2) + 14) <= memory_bytes;
        let log2 = LOG2_REGISTERS.rev().find(fits).unwrap_or(LOG2_REGISTERS.start);
        let mut balls = Balls::new(nodes, log2);
        let mut pairs = vec![nodes as f64];
        let parts = arcs.parts(cores.0 * PARTS_PER_CORE);
        while nodes > 0 && pairs.len() <= MOST_STEPS {
            let (grown, changed) = balls.grow(arcs, &parts, pairs.len(), cores)?;
            let last = pairs[pairs.len() - 1];
            if !changed {
                break;
            }
            pairs.push(last + grown);
            told(pairs.len() as u32 - 1);
            if grown < last * LEAST_GROWTH {
                break;
            }
        }
        Ok(HyperBall { pairs, harmonic: balls.harmonic })
    }

    /// What the pairs say.
    pub fn distances(&self) -> Distances {
        let first = self.pairs.first().copied().unwrap_or(0.0);
        let last = self.pairs.last().copied().unwrap_or(0.0);
        let reached = last - first;
        if reached <= 0.0 {
            return Distances { pairs: 0.0, average: 0.0, effective_diameter: 0.0, most: 0 };
        }
        let steps = self.pairs.windows(2).enumerate();
        let sum: f64 = steps.map(|(step, pair)| (step + 1) as f64 * (pair[1] - pair[0])).sum();
        let wanted = first + 0.9 * reached;
        let step = self.pairs.iter().position(|pairs| *pairs >= wanted).unwrap_or(self.pairs.len() - 1);
        let below = self.pairs[step.saturating_sub(1)];
        let part = (wanted - below) / (self.pairs[step] - below).max(f64::MIN_POSITIVE);
        Distances {
            pairs: reached,
            average: sum / reached,
            effective_diameter: step as f64 - 1.0 + part,
            most: self.pairs.len() as u32 - 1,
        }
    }
}

struct Balls {
    log2: u32,
    /// The counters after the last step, one behind the other, and those of the step before.
    now: Vec<u8>,
    before: Vec<u8>,
    /// Whether each counter changed in the last step.
    changed: Vec<bool>,
    sizes: Vec<f32>,
    harmonic: Vec<f32>,
}

/// What one core works on in a step.
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
            note(counter, mix(node as u64));
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

    /// One step; tells by how many pairs all balls together grew, and whether a counter changed.
    fn grow(&mut self, arcs: &Arcs, parts: &[Range<u32>], step: usize, cores: Cores) -> Result<(f64, bool)> {
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
        let grown = cores.map(tasks, |task| task.grow(arcs, before, &was_changed, registers, step));
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
        arcs: &Arcs,
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
                unite(counter, theirs);
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
