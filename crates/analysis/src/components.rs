//! Which pages reach each other? Strongly connected components, by Tarjan's algorithm in the form of Pearce ("A
//! space-efficient algorithm for finding strongly connected components", 2016): one number a node, and no recursion.

use crate::csr::Csr;

/// The strongly connected components of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Components {
    /// The component of each node. The largest is number 0; of equal ones the one with the first node comes first.
    pub of: Vec<u32>,
    /// How many nodes each component has; descends.
    pub sizes: Vec<u32>,
}

impl Components {
    /// Finds them.
    pub fn find(graph: &Csr) -> Components {
        let mut search = Search::new(graph);
        for node in 0..graph.nodes() {
            if search.place[node as usize] == UNSEEN {
                search.visit(node);
            }
        }
        by_size(search.place)
    }
}

const UNSEEN: u32 = 0;

struct Search<'g> {
    graph: &'g Csr,
    /// Of a node whose component is not known yet, the number in which it, or the earliest node that it is known to
    /// reach, was found, from 1 on; of others the number of the component, from the top down. The two never meet.
    place: Vec<u32>,
    next_place: u32,
    next_component: u32,
    /// Nodes that wait for the first one of their component.
    waiting: Vec<u32>,
    /// The path from the first node, each with how many of its arcs were followed, and whether it is still taken for the first one of its component.
    path: Vec<(u32, u32, bool)>,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Csr) -> Search<'g> {
        let place = vec![UNSEEN; graph.nodes() as usize];
        Search {
            graph,
            place,
            next_place: 1,
            next_component: u32::MAX,
            waiting: Vec::new(),
            path: Vec::new(),
        }
    }

    fn visit(&mut self, first: u32) {
        self.enter(first);
        while let Some((node, followed, _)) = self.path.last().copied() {
            let successors = &self.graph.of_node(node)[followed as usize..];
            match successors.iter().position(|to| self.place[*to as usize] == UNSEEN) {
                // All before it are seen, and are looked at now.
                Some(unseen) => {
                    self.look_at(node, &successors[..unseen]);
                    if let Some(top) = self.path.last_mut() {
                        top.1 += unseen as u32;
                    }
                    self.enter(successors[unseen]);
                }
                None => {
                    self.look_at(node, successors);
                    self.leave();
                }
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.place[node as usize] = self.next_place;
        self.next_place += 1;
        self.path.push((node, 0, true));
    }

    fn look_at(&mut self, node: u32, successors: &[u32]) {
        for to in successors {
            if self.place[*to as usize] < self.place[node as usize] {
                self.place[node as usize] = self.place[*to as usize];
                if let Some(top) = self.path.last_mut() {
                    top.2 = false;
                }
            }
        }
    }

    /// The end of a node: it is the first of its component, or waits for it.
    fn leave(&mut self) {
        let Some((node, _, is_first)) = self.path.pop() else { return };
        if !is_first {
            self.waiting.push(node);
            return;
        }
        self.next_place -= 1;
        let own = self.place[node as usize];
        while let Some(member) = self.waiting.pop_if(|top| self.place[*top as usize] >= own) {
            self.place[member as usize] = self.next_component;
            self.next_place -= 1;
        }
        self.place[node as usize] = self.next_component;
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
    Components { of, sizes: order.iter().map(|old| found[*old as usize].0).collect() }
}
