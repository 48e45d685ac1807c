//! Distances between nodes: exact breadth-first searches from all nodes of a small graph, or from a sample of a large one.
//!
//! Many searches run at once, as in Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal" (2014): each
//! node has one bit for each sampled node that it reaches within *t* steps; the bits of step *t* + 1 are the union of its own
//! and its neighbours' bits of step *t*. Departing from the paper, nodes pull from their neighbours in the order of the graph, so that the
//! arcs can be read from disk.
//!
//! Sums over HyperBall's counters are not used: most nodes reach the same large component, so that their errors are the same
//! and do not cancel. With an error of 6 % in the number of all pairs, the distance of nine tenths of them is off by two.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::split_by;
use crate::sketch::hyper_log_log::mix;
use crate::threads::Threads;

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

/// Maximum number of nodes of a graph whose distances are exact.
const MAX_EXACT_NODES: u32 = 1 << 14;
/// Number of sampled nodes of a larger graph.
const SAMPLED_NODES: u32 = 1 << 10;
/// Maximum number of words of bits per node.
const MAX_WORDS: u64 = (SAMPLED_NODES / u64::BITS) as u64;
const MAX_ITERATIONS: usize = 1_000;
const PARTS_PER_THREAD: usize = 16;

impl Distances {
    /// Measures the distances to all or to sampled nodes along the arcs, with as many searches at once as fit into
    /// `memory_bytes`. `on_iteration` receives the number of the step.
    pub fn measure(
        arcs: &Adjacency,
        memory_bytes: u64,
        threads: Threads,
        on_iteration: &mut dyn FnMut(u32),
    ) -> Result<Distances> {
        let nodes = arcs.nodes();
        let targets = sample(nodes);
        // Two generations of bits for each node, and two flags.
        let words = (memory_bytes / u64::from(nodes.max(1))).saturating_sub(2) / 16;
        let words = words.clamp(1, MAX_WORDS) as usize;
        let parts = arcs.parts(threads.0 * PARTS_PER_THREAD);
        // Number of pairs at each distance.
        let mut at_distance: Vec<u64> = vec![0];
        for targets in targets.chunks(words * u64::BITS as usize) {
            let mut search = Search::new(nodes as usize, targets);
            for step in 1..=MAX_ITERATIONS {
                let pairs = search.grow(arcs, &parts, threads)?;
                if pairs == 0 {
                    break;
                }
                at_distance.resize(at_distance.len().max(step + 1), 0);
                at_distance[step] += pairs;
                on_iteration(step as u32);
            }
        }
        Ok(Distances::from_counts(&at_distance, f64::from(nodes) / targets.len().max(1) as f64))
    }

    /// Summary of the number of pairs at each distance, each of which stands for `weight` pairs.
    fn from_counts(at_distance: &[u64], weight: f64) -> Distances {
        let pairs: u64 = at_distance.iter().sum();
        if pairs == 0 {
            return Distances { pairs: 0.0, average: 0.0, effective_diameter: 0.0, max_distance: 0 };
        }
        let sum: f64 =
            (0..).zip(at_distance).map(|(distance, count)| f64::from(distance) * *count as f64).sum();
        let target = 0.9 * pairs as f64;
        let (mut below, mut step) = (0.0, 0);
        while below + (at_distance[step] as f64) < target {
            below += at_distance[step] as f64;
            step += 1;
        }
        let part = (target - below) / at_distance[step] as f64;
        Distances {
            pairs: pairs as f64 * weight,
            average: sum / pairs as f64,
            effective_diameter: step as f64 - 1.0 + part,
            max_distance: at_distance.len() as u32 - 1,
        }
    }
}

/// All nodes, or pseudo-random different ones.
fn sample(nodes: u32) -> Vec<u32> {
    if nodes <= MAX_EXACT_NODES {
        return (0..nodes).collect();
    }
    let mut sample: Vec<u32> =
        (0..u64::from(SAMPLED_NODES)).map(|number| (mix(number) % u64::from(nodes)) as u32).collect();
    sample.sort_unstable();
    sample.dedup();
    sample
}

/// Searches that run at the same time.
struct Search {
    words: usize,
    /// For each node the targets that it reaches, after the last step and the step before.
    now: Vec<u64>,
    before: Vec<u64>,
    /// Whether the bits of each node changed in the last step.
    changed: Vec<bool>,
}

/// Part of the nodes for one thread in one step.
struct Task<'s> {
    part: Range<u32>,
    now: &'s mut [u64],
    changed: &'s mut [bool],
}

impl Search {
    fn new(nodes: usize, targets: &[u32]) -> Search {
        let words = targets.len().div_ceil(u64::BITS as usize);
        let mut now = vec![0; nodes * words];
        let mut changed = vec![false; nodes];
        for (number, target) in targets.iter().enumerate() {
            let word = *target as usize * words + number / u64::BITS as usize;
            now[word] |= 1 << (number % u64::BITS as usize);
            changed[*target as usize] = true;
        }
        Search { words, before: now.clone(), now, changed }
    }

    /// Runs one step; returns the number of pairs that were found by it.
    fn grow(&mut self, arcs: &Adjacency, parts: &[Range<u32>], threads: Threads) -> Result<u64> {
        std::mem::swap(&mut self.now, &mut self.before);
        let Search { words, now, before, changed } = self;
        let (words, before) = (*words, &before[..]);
        let was_changed = changed.clone();
        changed.fill(false);
        let mut rest = &mut now[..];
        let mut tasks = Vec::with_capacity(parts.len());
        for (part, changed) in split_by(changed, parts) {
            let (now, behind) = rest.split_at_mut(part.len() * words);
            rest = behind;
            tasks.push(Task { part, now, changed });
        }
        let grown = threads.map(tasks, |task| task.grow(arcs, before, &was_changed, words));
        grown.into_iter().sum()
    }
}

impl Task<'_> {
    fn grow(self, arcs: &Adjacency, before: &[u64], was_changed: &[bool], words: usize) -> Result<u64> {
        let Task { part, now, changed } = self;
        let start = part.start;
        let mut found = 0;
        arcs.for_each_in(part, |_, node, neighbours| {
            let own = (node - start) as usize;
            let bits = &mut now[own * words..][..words];
            let old = &before[node as usize * words..][..words];
            bits.copy_from_slice(old);
            for neighbour in neighbours.iter().filter(|neighbour| was_changed[**neighbour as usize]) {
                let theirs = &before[*neighbour as usize * words..][..words];
                bits.iter_mut().zip(theirs).for_each(|(bits, theirs)| *bits |= theirs);
            }
            let new: u32 = bits.iter().zip(old).map(|(new, old)| (new ^ old).count_ones()).sum();
            changed[own] = new > 0;
            found += u64::from(new);
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::graph::csr::Csr;

    /// Number of pairs at each distance, by one search from each node.
    fn exact(lists: &[Vec<u32>]) -> Distances {
        let mut at_distance = vec![0];
        for source in 0..lists.len() {
            let mut distances = vec![None; lists.len()];
            distances[source] = Some(0);
            let mut queue = VecDeque::from([source]);
            while let Some(node) = queue.pop_front() {
                let distance: usize = distances[node].unwrap();
                for target in lists[node].iter().map(|target| *target as usize) {
                    if distances[target].is_none() {
                        distances[target] = Some(distance + 1);
                        at_distance.resize(at_distance.len().max(distance + 2), 0);
                        at_distance[distance + 1] += 1;
                        queue.push_back(target);
                    }
                }
            }
        }
        Distances::from_counts(&at_distance, 1.0)
    }

    fn measured(lists: &[Vec<u32>], memory_bytes: u64) -> Distances {
        let arcs = Adjacency::from(Csr::from_lists(lists));
        Distances::measure(&arcs, memory_bytes, Threads(2), &mut |_| ()).unwrap()
    }

    /// Directed graph with a core, nodes that lead to it, and chains that lead out of it.
    fn bow_tie(nodes: u32, mut next: impl FnMut(u32) -> u32) -> Vec<Vec<u32>> {
        (0..nodes)
            .map(|node| match node * 4 / nodes {
                0 => vec![nodes / 4 + next(nodes / 4)],
                1 | 2 => (0..4).map(|_| nodes / 4 + next(nodes / 2)).collect(),
                _ if (node + 1) % 16 == 0 || node + 1 == nodes => vec![],
                _ => vec![node + 1],
            })
            .enumerate()
            .map(|(node, mut targets): (usize, Vec<u32>)| {
                if node as u32 == nodes / 2 {
                    targets.extend((nodes * 3 / 4..nodes).step_by(16));
                }
                targets.sort_unstable();
                targets.dedup();
                targets.retain(|target| *target != node as u32);
                targets
            })
            .collect()
    }

    fn random() -> impl FnMut(u32) -> u32 {
        let mut state = 0;
        move |below| {
            state += 1;
            (mix(state) % u64::from(below)) as u32
        }
    }

    #[test]
    fn distances_of_small_graphs_are_exact() {
        let grid: Vec<Vec<u32>> = (0..400)
            .map(|node: u32| {
                let [right, below] =
                    [(node % 20 < 19).then_some(node + 1), (node < 380).then_some(node + 20)];
                right.into_iter().chain(below).collect()
            })
            .collect();
        let cycle: Vec<Vec<u32>> = (0..100).map(|node: u32| vec![(node + 1) % 100]).collect();
        for lists in [grid, cycle, bow_tie(1_000, random())] {
            let expected = exact(&lists);
            // In one round, and in many with little memory.
            for memory_bytes in [1 << 20, 0] {
                assert_eq!(measured(&lists, memory_bytes), expected);
            }
        }
        let cycle_of_100 =
            Distances { pairs: 9_900.0, average: 50.0, effective_diameter: 89.1, max_distance: 99 };
        let found = exact(&(0..100).map(|node: u32| vec![(node + 1) % 100]).collect::<Vec<_>>());
        assert!((found.effective_diameter - cycle_of_100.effective_diameter).abs() < 1e-9);
        assert_eq!((found.pairs, found.average, found.max_distance), (9_900.0, 50.0, 99));
        assert_eq!(measured(&[], 0).pairs, 0.0);
        assert_eq!(measured(&[vec![], vec![]], 0).max_distance, 0);
    }

    #[test]
    fn distances_of_a_sample_are_near_the_exact_ones() {
        let lists = bow_tie(MAX_EXACT_NODES * 5 / 4, random());
        let (found, expected) = (measured(&lists, 1 << 24), exact(&lists));
        let ratio = |found: f64, expected: f64| (found / expected - 1.0).abs();
        assert!(
            (found.effective_diameter - expected.effective_diameter).abs() < 0.2,
            "{found:?} {expected:?}"
        );
        assert!(ratio(found.average, expected.average) < 0.02, "{found:?} {expected:?}");
        assert!(ratio(found.pairs, expected.pairs) < 0.05, "{found:?} {expected:?}");
    }
}
