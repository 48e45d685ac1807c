//! Graph of sites. The weight of an arc is the number of page links from one site to the other; links inside a site are
//! omitted.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Result;
use crate::graph::bv::{BvGraph, write_bv};
use crate::graph::checksummed_file::{read_u32s, write_u32s};
use crate::graph::csr::Csr;
use crate::threads::Threads;

/// Graph of sites in memory. Nodes are positions in [`crate::LinkGraph::sites`].
#[derive(Debug)]
pub struct SiteGraph {
    /// The arcs.
    pub forward: Csr,
    /// The weight of each arc.
    pub weights: Vec<u32>,
}

impl SiteGraph {
    pub(crate) fn write(&self, basename: &Path, threads: Threads) -> Result<()> {
        write_bv(basename, threads, |sink| {
            (0..self.forward.nodes()).for_each(|node| sink.push(self.forward.neighbours(node)));
            Ok(())
        })?;
        write_u32s(&basename.with_extension("weights"), &self.weights)
    }

    pub(crate) fn read(basename: &Path) -> Result<SiteGraph> {
        let forward = Csr::from_bv(&BvGraph::open(basename)?, Threads(1))?;
        Ok(SiteGraph { forward, weights: read_u32s(&basename.with_extension("weights"))? })
    }

    /// Transposed arcs, with their weights.
    pub fn transposed(&self) -> (Csr, Vec<u32>) {
        let backward = self.forward.transposed();
        let mut next: Vec<u64> = (0..backward.nodes()).map(|node| backward.first_arc(node)).collect();
        let mut weights = vec![0; self.weights.len()];
        for node in 0..self.forward.nodes() {
            for (arc, to) in (self.forward.first_arc(node)..).zip(self.forward.neighbours(node)) {
                let slot = &mut next[*to as usize];
                weights[*slot as usize] = self.weights[arc as usize];
                *slot += 1;
            }
        }
        (backward, weights)
    }

    /// Sum of the weights of the outgoing arcs of each site, saturating at `u32::MAX`.
    pub fn totals(&self) -> Vec<u32> {
        let total = |node: u32| {
            let first = self.forward.first_arc(node) as usize;
            let weights = &self.weights[first..first + self.forward.neighbours(node).len()];
            u32::try_from(weights.iter().map(|weight| u64::from(*weight)).sum::<u64>()).unwrap_or(u32::MAX)
        };
        (0..self.forward.nodes()).map(total).collect()
    }
}

/// Counts links between sites while pages are written. Pages arrive grouped by host, so only the links of one host are
/// held in the hash table.
pub(crate) struct SiteLinkCounter {
    host: u32,
    counts: HashMap<(u32, u32), u32>,
    sorted: Vec<((u32, u32), u32)>,
}

impl SiteLinkCounter {
    pub(crate) fn new() -> SiteLinkCounter {
        SiteLinkCounter { host: 0, counts: HashMap::new(), sorted: Vec::new() }
    }

    /// Starts the pages of a host; hosts ascend.
    pub(crate) fn start_host(&mut self, host: u32) {
        if host != self.host {
            self.flush();
            self.host = host;
        }
    }

    pub(crate) fn add(&mut self, from: u32, to: u32) {
        let count = self.counts.entry((from, to)).or_default();
        *count = count.saturating_add(1);
    }

    fn flush(&mut self) {
        let start = self.sorted.len();
        self.sorted.extend(self.counts.drain());
        self.sorted[start..].sort_unstable();
    }

    pub(crate) fn finish(mut self, sites: u32) -> SiteGraph {
        self.flush();
        let mut rest = &self.sorted[..];
        let lists = (0..sites).map(|site| {
            let (own, behind) = rest.split_at(rest.iter().take_while(|((from, _), _)| *from == site).count());
            rest = behind;
            own.iter().map(|((_, to), _)| *to).collect::<Vec<u32>>()
        });
        let forward = Csr::from_lists(lists);
        SiteGraph { forward, weights: self.sorted.iter().map(|(_, count)| *count).collect() }
    }
}
