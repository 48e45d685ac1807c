//! Where are a node's neighbours, fast? In one array, one list behind the other; for iterations over all links.

use std::ops::Range;

use crate::bv::BvGraph;
use crate::cores::Cores;
use crate::error::Result;

/// A graph in memory: 4 bytes an arc and 8 bytes a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    /// Where each node's list starts; one more at the end.
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Csr {
    /// A graph of lists by node, which ascend.
    pub fn from_lists<L: AsRef<[u32]>>(lists: impl IntoIterator<Item = L>) -> Csr {
        let mut csr = Csr { offsets: vec![0], targets: Vec::new() };
        for list in lists {
            csr.targets.extend_from_slice(list.as_ref());
            csr.offsets.push(csr.targets.len() as u64);
        }
        csr
    }

    /// How much memory a graph takes in this form.
    pub fn bytes(nodes: u32, arcs: u64) -> u64 {
        (u64::from(nodes) + 1) * 8 + arcs * 4
    }

    /// Unpacks a compressed graph.
    pub fn of(graph: &BvGraph, cores: Cores) -> Result<Csr> {
        let nodes = graph.nodes() as usize;
        let mut offsets = vec![0; nodes + 1];
        let mut targets = vec![0; graph.arcs() as usize];
        let parts = graph.parts(cores.0 * 8);
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
        let done = cores.map(tasks, |(part, offsets, targets)| fill(graph, part, offsets, targets));
        done.into_iter().collect::<Result<()>>()?;
        Ok(Csr { offsets, targets })
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// How many arcs there are.
    pub fn arcs(&self) -> u64 {
        self.targets.len() as u64
    }

    /// The neighbours of a node, ascending.
    pub fn of_node(&self, node: u32) -> &[u32] {
        let [start, end] = [self.offsets[node as usize], self.offsets[node as usize + 1]];
        &self.targets[start as usize..end as usize]
    }

    /// The number of a node's first arc.
    pub(crate) fn first_arc(&self, node: u32) -> u64 {
        self.offsets[node as usize]
    }

    /// Calls `each` with the number of the first arc, the node, and the neighbours of every node of a part.
    #[inline]
    pub(crate) fn for_each_in(&self, part: Range<u32>, mut each: impl FnMut(u64, u32, &[u32])) {
        let offsets = &self.offsets[part.start as usize..=part.end as usize];
        for (node, pair) in part.zip(offsets.windows(2)) {
            each(pair[0], node, &self.targets[pair[0] as usize..pair[1] as usize]);
        }
    }

    /// The same arcs, all turned round.
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
            for target in self.of_node(node) {
                let place = &mut next[*target as usize];
                targets[*place as usize] = node;
                *place += 1;
            }
        }
        Csr { offsets, targets }
    }

    /// So many ranges of nodes, or fewer, with about as many arcs and nodes each.
    pub(crate) fn parts(&self, count: usize) -> Vec<Range<u32>> {
        let work = |node: u32| self.offsets[node as usize] + u64::from(node);
        let all = work(self.nodes());
        let border = |part: usize| {
            let wanted = all * part as u64 / count as u64;
            let (mut low, mut high) = (0, self.nodes());
            while low < high {
                let middle = low + (high - low) / 2;
                if work(middle) < wanted { low = middle + 1 } else { high = middle }
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
    let mut wrong = false;
    graph.for_each_in(part, |first_arc, node, successors| {
        let at = (first_arc - first) as usize;
        match targets.get_mut(at..at + successors.len()) {
            Some(place) => place.copy_from_slice(successors),
            None => wrong = true,
        }
        offsets[(node - start) as usize] = first_arc + successors.len() as u64;
    })?;
    if wrong { Err(graph.wrong("it has more arcs than it says")) } else { Ok(()) }
}
