//! Arcs of a graph for iterations: in memory if they fit, otherwise decoded from the compressed file.

use std::ops::Range;

use crate::error::Result;
use crate::graph::bv::BvGraph;
use crate::graph::csr::Csr;
use crate::threads::Threads;

/// Arcs of a graph in one direction.
#[derive(Debug)]
pub enum Adjacency {
    /// Decompressed.
    InMemory(Csr),
    /// Decompressed chunk by chunk in every iteration.
    Compressed(BvGraph),
}

impl Adjacency {
    /// Decompresses a graph if that takes at most `memory_bytes`.
    pub fn load(graph: BvGraph, memory_bytes: u64, threads: Threads) -> Result<Adjacency> {
        if Csr::bytes(graph.nodes(), graph.arcs()) > memory_bytes {
            return Ok(Adjacency::Compressed(graph));
        }
        Csr::from_bv(&graph, threads).map(Adjacency::InMemory)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        match self {
            Adjacency::InMemory(csr) => csr.nodes(),
            Adjacency::Compressed(graph) => graph.nodes(),
        }
    }

    /// Number of arcs.
    pub fn arcs(&self) -> u64 {
        match self {
            Adjacency::InMemory(csr) => csr.arcs(),
            Adjacency::Compressed(graph) => graph.arcs(),
        }
    }

    /// Number of neighbours of each node.
    pub fn degrees(&self, threads: Threads) -> Result<Vec<u32>> {
        match self {
            Adjacency::InMemory(csr) => {
                Ok((0..csr.nodes()).map(|node| csr.neighbours(node).len() as u32).collect())
            }
            Adjacency::Compressed(graph) => graph.degrees(threads),
        }
    }

    /// Splits the nodes into about `count` ranges of about equal work.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        match self {
            Adjacency::InMemory(csr) => csr.parts(count),
            Adjacency::Compressed(graph) => graph.parts(count),
        }
    }

    /// Calls `f` with the index of the first arc, the node, and the neighbours, for each node of a part.
    #[inline]
    pub(crate) fn for_each_in(&self, part: Range<u32>, f: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        match self {
            Adjacency::InMemory(csr) => {
                csr.for_each_in(part, f);
                Ok(())
            }
            Adjacency::Compressed(graph) => graph.for_each_in(part, f),
        }
    }
}

impl From<Csr> for Adjacency {
    fn from(csr: Csr) -> Adjacency {
        Adjacency::InMemory(csr)
    }
}
