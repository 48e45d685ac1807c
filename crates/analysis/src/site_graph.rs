//! Which site links to which, and how often? The weight of an arc is how many links of pages of the one lead to pages
//! of the other; links inside a site are left out.

use std::collections::HashMap;
use std::path::Path;

use crate::bv::{BvGraph, write_bv};
use crate::cores::Cores;
use crate::csr::Csr;
use crate::error::Result;
use crate::sealed::{read_numbers, write_numbers};

/// The graph of sites, in memory. Nodes are places in [`crate::LinkGraph::sites`].
#[derive(Debug)]
pub struct SiteGraph {
    /// The arcs.
    pub forward: Csr,
    /// The weight of each arc.
    pub weights: Vec<u32>,
}

impl SiteGraph {
    pub(crate) fn write(&self, basename: &Path, cores: Cores) -> Result<()> {
        write_bv(basename, cores, |sink| {
            (0..self.forward.nodes()).for_each(|node| sink.push(self.forward.of_node(node)));
            Ok(())
        })?;
        write_numbers(&basename.with_extension("weights"), &self.weights)
    }

    pub(crate) fn read(basename: &Path) -> Result<SiteGraph> {
        let forward = Csr::of(&BvGraph::open(basename)?, Cores(1))?;
        Ok(SiteGraph { forward, weights: read_numbers(&basename.with_extension("weights"))? })
    }

    /// The arcs turned round, with their weights.
    pub fn turned(&self) -> (Csr, Vec<u32>) {
        let backward = self.forward.transposed();
        let mut next: Vec<u64> = (0..backward.nodes()).map(|node| backward.first_arc(node)).collect();
        let mut weights = vec![0; self.weights.len()];
        for node in 0..self.forward.nodes() {
            for (arc, to) in (self.forward.first_arc(node)..).zip(self.forward.of_node(node)) {
                let place = &mut next[*to as usize];
                weights[*place as usize] = self.weights[arc as usize];
                *place += 1;
            }
        }
        (backward, weights)
    }

    /// The weight of all arcs of each site; what exceeds a u32 counts as its largest value.
    pub fn totals(&self) -> Vec<u32> {
        let total = |node: u32| {
            let first = self.forward.first_arc(node) as usize;
            let weights = &self.weights[first..first + self.forward.of_node(node).len()];
            u32::try_from(weights.iter().map(|weight| u64::from(*weight)).sum::<u64>()).unwrap_or(u32::MAX)
        };
        (0..self.forward.nodes()).map(total).collect()
    }
}

/// Counts links between sites as pages go by. The pages of a host come together, so no more than its links are held in
/// a table.
pub(crate) struct SiteLinks {
    host: u32,
    counts: HashMap<(u32, u32), u32>,
    sorted: Vec<((u32, u32), u32)>,
}

impl SiteLinks {
    pub(crate) fn new() -> SiteLinks {
        SiteLinks { host: 0, counts: HashMap::new(), sorted: Vec::new() }
    }

    /// The pages of a host follow; hosts ascend.
    pub(crate) fn enter(&mut self, host: u32) {
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
