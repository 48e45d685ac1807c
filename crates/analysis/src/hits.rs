//! Which pages are good sources, and which good lists of them? HITS (Kleinberg 1999): a good hub links to good
//! authorities, a good authority is linked to by good hubs.
//!
//! Over all pages, not over the answer to a query. Both vectors have the Euclidean length 1. A link of a page to itself
//! does not count, and several to one page count once. Ends when the vectors move by less than 10^-9, or after 100
//! steps. A graph without links has neither: all are 0.

use crate::arcs::Arcs;
use crate::bv::split_by;
use crate::cores::Cores;
use crate::error::Result;

/// Hubs and authorities by node, and how they came about.
#[derive(Debug, Clone)]
pub struct Hits {
    /// How good a list of authorities each node is.
    pub hubs: Vec<f64>,
    /// How good a source each node is.
    pub authorities: Vec<f64>,
    /// Steps that were made.
    pub steps: u32,
    /// How far both vectors moved in the last one.
    pub change: f64,
}

const ENOUGH: f64 = 1e-9;
const MOST_STEPS: u32 = 100;
const PARTS_PER_CORE: usize = 16;

impl Hits {
    /// Finds them, from equal hubs on or from those that were known. `told` hears of each step and the change it made.
    pub fn run(
        forward: &Arcs,
        backward: &Arcs,
        start: Option<Vec<f64>>,
        cores: Cores,
        told: &mut dyn FnMut(u32, f64),
    ) -> Result<Hits> {
        let nodes = forward.nodes() as usize;
        let usable =
            |hubs: &Vec<f64>| hubs.len() == nodes && hubs.iter().all(|hub| hub.is_finite() && *hub > 0.0);
        let hubs = start.filter(usable).unwrap_or_else(|| vec![1.0; nodes]);
        let mut hits = Hits { hubs, authorities: vec![0.0; nodes], steps: 0, change: 0.0 };
        while hits.steps < MOST_STEPS {
            let old_authorities = pull(backward, &hits.hubs, &mut hits.authorities, cores)?;
            let old_hubs = pull(forward, &hits.authorities, &mut hits.hubs, cores)?;
            hits.change = old_authorities.max(old_hubs);
            hits.steps += 1;
            told(hits.steps, hits.change);
            if hits.change < ENOUGH {
                break;
            }
        }
        Ok(hits)
    }
}

/// Gives every node the sum of its neighbours' values, scaled to length 1; tells how far the vector has moved.
fn pull(arcs: &Arcs, from: &[f64], to: &mut [f64], cores: Cores) -> Result<f64> {
    let mut sums = vec![0.0; to.len()];
    let parts = arcs.parts(cores.0 * PARTS_PER_CORE);
    let tasks = split_by(&mut sums, &parts);
    let squares = cores.map(tasks, |(part, sums)| {
        let start = part.start;
        let mut squares = 0.0;
        arcs.for_each_in(part, |_, node, neighbours| {
            let others = neighbours.iter().filter(|neighbour| **neighbour != node);
            let sum: f64 = others.map(|neighbour| from[*neighbour as usize]).sum();
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
