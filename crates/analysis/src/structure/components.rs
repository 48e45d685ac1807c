//! Strongly connected components, by Tarjan's algorithm in the form of Pearce ("A space-efficient algorithm for finding
//! strongly connected components", 2016): one number per node, and no recursion.

use crate::graph::csr::Csr;

/// Strongly connected components of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// Component of each node. The largest component has number 0; of equal ones, the one with the smallest node comes
    /// first.
    pub component_of: Vec<u32>,
    /// Number of nodes of each component, descending.
    pub sizes: Vec<u32>,
}

impl Components {
    /// Finds the components.
    pub fn find(graph: &Csr) -> Components {
        let mut search = Search::new(graph);
        for node in 0..graph.nodes() {
            if search.index[node as usize] == UNSEEN {
                search.search_from(node);
            }
        }
        by_size(search.index)
    }
}

const UNSEEN: u32 = 0;

struct Search<'g> {
    graph: &'g Csr,
    /// For a node whose component is not known yet, the order in which it, or the earliest node that it is known to
    /// reach, was found, from 1; for other nodes the component, from `u32::MAX` down. The two ranges never meet.
    index: Vec<u32>,
    next_index: u32,
    next_component: u32,
    /// Nodes that wait for the root of their component.
    waiting: Vec<u32>,
    /// The path from the start node: each node, the number of its arcs that were followed, and whether it is still a
    /// possible root of its component.
    path: Vec<(u32, u32, bool)>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Csr) -> Search<'g> {
        let index = vec![UNSEEN; graph.nodes() as usize];
        Search {
            graph,
            index,
            next_index: 1,
            next_component: u32::MAX,
            waiting: Vec::new(),
            path: Vec::new(),
        }
    }

    fn search_from(&mut self, first: u32) {
        self.enter(first);
        while let Some((node, followed, _)) = self.path.last().copied() {
            let successors = &self.graph.neighbours(node)[followed as usize..];
            match successors.iter().position(|to| self.index[*to as usize] == UNSEEN) {
                // All successors before it are visited, and are evaluated now.
                Some(unseen) => {
                    self.update_from(node, &successors[..unseen]);
                    if let Some(top) = self.path.last_mut() {
                        top.1 += unseen as u32;
                    }
                    self.enter(successors[unseen]);
                }
                None => {
                    self.update_from(node, successors);
                    self.leave();
                }
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.index[node as usize] = self.next_index;
        self.next_index += 1;
        self.path.push((node, 0, true));
    }

    fn update_from(&mut self, node: u32, successors: &[u32]) {
        for to in successors {
            if self.index[*to as usize] < self.index[node as usize] {
                self.index[node as usize] = self.index[*to as usize];
                if let Some(top) = self.path.last_mut() {
                    top.2 = false;
                }
            }
        }
    }

    /// Finishes a node: it is the root of its component, or waits for the root.
    fn leave(&mut self) {
        let Some((node, _, is_first)) = self.path.pop() else { return };
        if !is_first {
            self.waiting.push(node);
            return;
        }
        self.next_index -= 1;
        let own = self.index[node as usize];
        while let Some(member) = self.waiting.pop_if(|top| self.index[*top as usize] >= own) {
            self.index[member as usize] = self.next_component;
            self.next_index -= 1;
        }
        self.index[node as usize] = self.next_component;
        self.next_component -= 1;
    }
}

/// Numbers components by size.
fn by_size(mut of: Vec<u32>) -> Components {
    of.iter_mut().for_each(|component| *component = u32::MAX - *component);
    let count = of.iter().max().map_or(0, |largest| *largest as usize + 1);
    let mut found = vec![(0u32, u32::MAX); count];
    for (node, component) in of.iter().enumerate() {
        let (size, first) = &mut found[*component as usize];
        *size += 1;
        *first = (*first).min(node as u32);
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by_key(|component| {
        let (size, first) = found[*component as usize];
        (std::cmp::Reverse(size), first)
    });
    let mut number = vec![0; count];
    for (new, old) in (0..).zip(&order) {
        number[*old as usize] = new;
    }
    of.iter_mut().for_each(|component| *component = number[*component as usize]);
    Components { component_of: of, sizes: order.iter().map(|old| found[*old as usize].0).collect() }
}
