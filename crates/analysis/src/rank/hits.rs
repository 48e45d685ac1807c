//! HITS (Kleinberg 1999): a good hub links to good authorities, and a good authority is linked from good hubs.
//!
//! Computed over all pages, not over the result of a query. Both vectors have the Euclidean length 1. Self-links do not
//! count, and several links to one page count once. The iteration stops when the vectors move by less than 10^-9, or
//! after 100 iterations. Without links, all values are 0.

use crate::error::Result;
use crate::graph::adjacency::Adjacency;
use crate::graph::bv::split_by;
use crate::threads::Threads;

/// Hub and authority values by node, and how the iteration ended.
#[derive(Debug, Clone)]
pub struct Hits {
    /// Hub value of each node.
    pub hubs: Vec<f64>,
    /// Authority value of each node.
    pub authorities: Vec<f64>,
    /// Number of iterations.
    pub iterations: u32,
    /// Distance that the vectors moved in the last iteration.
    pub residual: f64,
}

const TOLERANCE: f64 = 1e-9;
const MAX_ITERATIONS: u32 = 100;
const PARTS_PER_THREAD: usize = 16;

impl Hits {
    /// Computes both vectors, from equal hub values or from those given. `on_iteration` receives the number of the
    /// iteration and its residual.
    pub fn run(
        forward: &Adjacency,
        backward: &Adjacency,
        start: Option<Vec<f64>>,
        threads: Threads,
        on_iteration: &mut dyn FnMut(u32, f64),
    ) -> Result<Hits> {
        let nodes = forward.nodes() as usize;
        let usable =
            |hubs: &Vec<f64>| hubs.len() == nodes && hubs.iter().all(|hub| hub.is_finite() && *hub > 0.0);
        let hubs = start.filter(usable).unwrap_or_else(|| vec![1.0; nodes]);
        let mut hits = Hits { hubs, authorities: vec![0.0; nodes], iterations: 0, residual: 0.0 };
        while hits.iterations < MAX_ITERATIONS {
            let authority_change = pull(backward, &hits.hubs, &mut hits.authorities, threads)?;
            let hub_change = pull(forward, &hits.authorities, &mut hits.hubs, threads)?;
            hits.residual = authority_change.max(hub_change);
            hits.iterations += 1;
            on_iteration(hits.iterations, hits.residual);
            if hits.residual < TOLERANCE {
                break;
            }
        }
        Ok(hits)
    }
}

/// Sets each node to the sum of its neighbours' values, scales the vector to length 1, and returns the distance that it
/// moved.
fn pull(arcs: &Adjacency, from: &[f64], to: &mut [f64], threads: Threads) -> Result<f64> {
    let mut sums = vec![0.0; to.len()];
    let parts = arcs.parts(threads.0 * PARTS_PER_THREAD);
    let tasks = split_by(&mut sums, &parts);
    let squares = threads.map(tasks, |(part, sums)| {
        let start = part.start;
        let mut squares = 0.0;
        arcs.for_each_in(part, |_, node, neighbours| {
            let sum: f64 = neighbours.iter().map(|neighbour| from[*neighbour as usize]).sum();
            squares += sum * sum;
            sums[(node - start) as usize] = sum;
        })?;
        Ok(squares)
    });
    let length = squares.into_iter().sum::<Result<f64>>()?.sqrt();
    let mut moved = 0.0;
    for (old, sum) in to.iter_mut().zip(sums) {
        let new = if length > 0.0 { sum / length } else { 0.0 };
        moved += (new - *old) * (new - *old);
        *old = new;
    }
    Ok(moved.sqrt())
}
