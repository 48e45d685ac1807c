//! Where do iterations over all links get them from? From memory if they fit, else from the compressed file.

use std::ops::Range;

use crate::bv::BvGraph;
use crate::cores::Cores;
use crate::csr::Csr;
use crate::error::Result;

/// The arcs of a graph in one direction.
#[derive(Debug)]
pub enum Arcs {
    /// Unpacked.
    InMemory(Csr),
    /// Unpacked piece by piece in every iteration.
    Compressed(BvGraph),
}

impl Arcs {
    /// Unpacks a graph if that takes no more than so much memory.
    pub fn of(graph: BvGraph, memory_bytes: u64, cores: Cores) -> Result<Arcs> {
        if Csr::bytes(graph.nodes(), graph.arcs()) > memory_bytes {
            return Ok(Arcs::Compressed(graph));
        }
        Csr::of(&graph, cores).map(Arcs::InMemory)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        match self {
            Arcs::InMemory(csr) => csr.nodes(),
            Arcs::Compressed(graph) => graph.nodes(),
        }
    }

    /// How many arcs there are.
    pub fn arcs(&self) -> u64 {
        match self {
            Arcs::InMemory(csr) => csr.arcs(),
            Arcs::Compressed(graph) => graph.arcs(),
        }
    }

    /// Every node's number of neighbours.
    pub fn degrees(&self, cores: Cores) -> Result<Vec<u32>> {
        match self {
            Arcs::InMemory(csr) => Ok((0..csr.nodes()).map(|node| csr.of_node(node).len() as u32).collect()),
            Arcs::Compressed(graph) => graph.degrees(cores),
        }
    }

    /// About so many ranges of nodes with about as much work each; together they are all nodes.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        match self {
            Arcs::InMemory(csr) => csr.parts(count),
            Arcs::Compressed(graph) => graph.parts(count),
        }
    }

    /// Calls `each` with the number of the first arc, the node, and the neighbours of every node of a part.
    #[inline]
    pub(crate) fn for_each_in(&self, part: Range<u32>, each: impl FnMut(u64, u32, &[u32])) -> Result<()> {
        match self {
            Arcs::InMemory(csr) => {
                csr.for_each_in(part, each);
                Ok(())
            }
            Arcs::Compressed(graph) => graph.for_each_in(part, each),
        }
    }
}

impl From<Csr> for Arcs {
    fn from(csr: Csr) -> Arcs {
        Arcs::InMemory(csr)
    }
}
