//! Compressed sparse rows: all neighbour lists in one array. For iterations over all links.

use std::ops::Range;

use crate::error::Result;
use crate::graph::bv::BvGraph;
use crate::threads::Threads;

/// A graph in memory: 4 bytes per arc and 8 bytes per node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    /// Start of the list of each node, and the end of the last one.
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Csr {
    /// Builds a graph from the ascending lists of all nodes.
    pub fn from_lists<L: AsRef<[u32]>>(lists: impl IntoIterator<Item = L>) -> Csr {
        let mut csr = Csr { offsets: vec![0], targets: Vec::new() };
        for list in lists {
            csr.targets.extend_from_slice(list.as_ref());
            csr.offsets.push(csr.targets.len() as u64);
        }
        csr
    }

    /// Memory that a graph takes in this form.
    pub fn bytes(nodes: u32, arcs: u64) -> u64 {
        arcs.saturating_mul(4).saturating_add((u64::from(nodes) + 1) * 8)
    }

    /// Decompresses a graph.
    pub fn from_bv(graph: &BvGraph, threads: Threads) -> Result<Csr> {
        let nodes = graph.nodes() as usize;
        let mut offsets = vec![0; nodes + 1];
        let mut targets = Vec::new();
        // The number of arcs is that of the properties, which may be wrong.
        let arcs = graph.arcs() as usize;
        let reserved = targets.try_reserve_exact(arcs);
        reserved.map_err(|error| graph.corrupt(&format!("cannot load {arcs} arcs: {error}")))?;
        targets.resize(arcs, 0);
        let parts = graph.parts(threads.0 * 8);
        let mut rest = (&mut offsets[1..], &mut targets[..]);
        let mut tasks = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let end_arc = parts.get(index + 1).map_or(graph.arcs(), |next| graph.first_arc(next.start));
            let arcs = end_arc.saturating_sub(graph.first_arc(part.start)) as usize;
            let (own_offsets, behind_offsets) = rest.0.split_at_mut(part.len());
            let (own_targets, behind_targets) = rest.1.split_at_mut(arcs);
            tasks.push((part.clone(), own_offsets, own_targets));
            rest = (behind_offsets, behind_targets);
        }
        let done = threads.map(tasks, |(part, offsets, targets)| fill(graph, part, offsets, targets));
        done.into_iter().collect::<Result<()>>()?;
        Ok(Csr { offsets, targets })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Number of arcs.
    pub fn arcs(&self) -> u64 {
        self.targets.len() as u64
    }

    /// Neighbours of a node, ascending.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let [start, end] = [self.offsets[node as usize], self.offsets[node as usize + 1]];
        &self.targets[start as usize..end as usize]
    }

    /// Index of the first arc of a node.
    pub(crate) fn first_arc(&self, node: u32) -> u64 {
        self.offsets[node as usize]
    }

    /// Calls `f` with the index of the first arc, the node, and the neighbours, for each node of a part.
    #[inline]
    pub(crate) fn for_each_in(&self, part: Range<u32>, mut f: impl FnMut(u64, u32, &[u32])) {
        let offsets = &self.offsets[part.start as usize..=part.end as usize];
        for (node, pair) in part.zip(offsets.windows(2)) {
            f(pair[0], node, &self.targets[pair[0] as usize..pair[1] as usize]);
        }
    }

    /// The same arcs, reversed.
    pub fn transposed(&self) -> Csr {
        let mut offsets = vec![0u64; self.offsets.len()];
        for target in &self.targets {
            offsets[*target as usize + 1] += 1;
        }
        for index in 1..offsets.len() {
            offsets[index] += offsets[index - 1];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; self.targets.len()];
        for node in 0..self.nodes() {
            for target in self.neighbours(node) {
                let slot = &mut next[*target as usize];
                targets[*slot as usize] = node;
                *slot += 1;
            }
        }
        Csr { offsets, targets }
    }

    /// Splits the nodes into at most `count` ranges with about equal numbers of arcs and nodes.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        let work = |node: u32| self.offsets[node as usize] + u64::from(node);
        let all = work(self.nodes());
        let border = |part: usize| {
            let target = all * part as u64 / count as u64;
            let (mut low, mut high) = (0, self.nodes());
            while low < high {
                let middle = low + (high - low) / 2;
                if work(middle) < target { low = middle + 1 } else { high = middle }
            }
            low
        };
        let parts = (0..count)
            .map(|part| border(part)..if part + 1 == count { self.nodes() } else { border(part + 1) });
        parts.filter(|part| !part.is_empty()).collect()
    }
}

fn fill(graph: &BvGraph, part: Range<u32>, offsets: &mut [u64], targets: &mut [u32]) -> Result<()> {
    let (start, first) = (part.start, graph.first_arc(part.start));
    let mut has_too_many = false;
    graph.for_each_in(part, |first_arc, node, successors| {
        let at = (first_arc - first) as usize;
        match targets.get_mut(at..at + successors.len()) {
            Some(slot) => slot.copy_from_slice(successors),
            None => has_too_many = true,
        }
        offsets[(node - start) as usize] = first_arc + successors.len() as u64;
    })?;
    if has_too_many { Err(graph.corrupt("more arcs than the properties state")) } else { Ok(()) }
}
