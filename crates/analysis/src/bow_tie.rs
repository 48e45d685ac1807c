//! What shape has a Web? A bow tie (Broder et al. 2000), with MAIN parted as Baeza-Yates and Castillo do.
//!
//! MAIN is the largest strongly connected component. IN reaches it, OUT is reached from it. Of the others, what is
//! reached from IN and reaches OUT is TUBES, what does one of the two TENDRILS, and the rest ISLANDS. Within MAIN:
//! MAIN-MAIN is linked from IN and links to OUT, MAIN-IN only the first, MAIN-OUT only the second, MAIN-NORM neither.

use serde::Serialize;

use crate::components::Components;
use crate::csr::Csr;

/// A part of the bow tie. The numbers are those in columns; new parts would come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// In the largest component, linked from IN, links to OUT.
    MainMain,
    /// In it, linked from IN only.
    MainIn,
    /// In it, links to OUT only.
    MainOut,
    /// In it, neither.
    MainNorm,
    /// Reaches the largest component.
    In,
    /// Is reached from it.
    Out,
    /// Between IN and OUT, past it.
    Tubes,
    /// Behind IN, or before OUT.
    Tendrils,
    /// All else.
    Islands,
}

impl Part {
    /// All, by their numbers.
    pub const ALL: [Part; 9] = [
        Part::MainMain,
        Part::MainIn,
        Part::MainOut,
        Part::MainNorm,
        Part::In,
        Part::Out,
        Part::Tubes,
        Part::Tendrils,
        Part::Islands,
    ];

    /// As people write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Part::MainMain => "main-main",
            Part::MainIn => "main-in",
            Part::MainOut => "main-out",
            Part::MainNorm => "main-norm",
            Part::In => "in",
            Part::Out => "out",
            Part::Tubes => "tubes",
            Part::Tendrils => "tendrils",
            Part::Islands => "islands",
        }
    }
}

/// The part of each node.
pub fn bow_tie(forward: &Csr, backward: &Csr, components: &Components) -> Vec<Part> {
    let is_main = |node: u32| components.of[node as usize] == 0;
    let main = || (0..forward.nodes()).filter(|node| is_main(*node));
    let from_main = reach(forward, main(), |_| false);
    let to_main = reach(backward, main(), |_| false);
    let is_in = |node: u32| !is_main(node) && to_main[node as usize];
    let is_out = |node: u32| !is_main(node) && from_main[node as usize];
    let known = |node: u32| is_main(node) || is_in(node) || is_out(node);
    let all = || 0..forward.nodes();
    let from_in = reach(forward, all().filter(|node| is_in(*node)), known);
    let to_out = reach(backward, all().filter(|node| is_out(*node)), known);
    let part = |node: u32| {
        if is_main(node) {
            let from_in = backward.of_node(node).iter().any(|from| is_in(*from));
            let to_out = forward.of_node(node).iter().any(|to| is_out(*to));
            match (from_in, to_out) {
                (true, true) => Part::MainMain,
                (true, false) => Part::MainIn,
                (false, true) => Part::MainOut,
                (false, false) => Part::MainNorm,
            }
        } else if is_in(node) {
            Part::In
        } else if is_out(node) {
            Part::Out
        } else {
            match (from_in[node as usize], to_out[node as usize]) {
                (true, true) => Part::Tubes,
                (false, false) => Part::Islands,
                _ => Part::Tendrils,
            }
        }
    };
    all().map(part).collect()
}

/// Which nodes are reached from some, those included, without entering others.
fn reach(graph: &Csr, from: impl Iterator<Item = u32>, closed: impl Fn(u32) -> bool) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes() as usize];
    let mut open: Vec<u32> = from.collect();
    open.iter().for_each(|node| reached[*node as usize] = true);
    while let Some(node) = open.pop() {
        for to in graph.of_node(node) {
            if !reached[*to as usize] && !closed(*to) {
                reached[*to as usize] = true;
                open.push(*to);
            }
        }
    }
    reached
}
