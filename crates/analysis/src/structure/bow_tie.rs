//! Bow-tie structure of a Web graph (Broder et al. 2000), with MAIN divided as by Baeza-Yates and Castillo.
//!
//! MAIN is the largest strongly connected component. IN reaches it, OUT is reached from it. Of the other nodes, TUBES
//! are reached from IN and reach OUT, TENDRILS do one of the two, and ISLANDS neither. Within MAIN: MAIN-MAIN is linked
//! from IN and links to OUT, MAIN-IN only the first, MAIN-OUT only the second, MAIN-NORM neither.

use serde::{Deserialize, Serialize};

use crate::graph::csr::Csr;
use crate::structure::components::Components;

/// Part of the bow tie. The discriminants are stored in columns; append new parts at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BowTiePart {
    /// In MAIN, linked from IN, links to OUT.
    MainMain,
    /// In MAIN, linked from IN only.
    MainIn,
    /// In MAIN, links to OUT only.
    MainOut,
    /// In MAIN, neither.
    MainNorm,
    /// Reaches MAIN.
    In,
    /// Reached from MAIN.
    Out,
    /// From IN to OUT without passing MAIN.
    Tubes,
    /// Reached from IN, or reaching OUT.
    Tendrils,
    /// All other nodes.
    Islands,
}

impl BowTiePart {
    /// All parts, by their numbers.
    pub const ALL: [BowTiePart; 9] = [
        BowTiePart::MainMain,
        BowTiePart::MainIn,
        BowTiePart::MainOut,
        BowTiePart::MainNorm,
        BowTiePart::In,
        BowTiePart::Out,
        BowTiePart::Tubes,
        BowTiePart::Tendrils,
        BowTiePart::Islands,
    ];

    /// Name in tables and output.
    pub fn as_str(self) -> &'static str {
        match self {
            BowTiePart::MainMain => "main-main",
            BowTiePart::MainIn => "main-in",
            BowTiePart::MainOut => "main-out",
            BowTiePart::MainNorm => "main-norm",
            BowTiePart::In => "in",
            BowTiePart::Out => "out",
            BowTiePart::Tubes => "tubes",
            BowTiePart::Tendrils => "tendrils",
            BowTiePart::Islands => "islands",
        }
    }

    /// Name of the part with this number in a column.
    pub(crate) fn name_of(number: u32) -> Option<&'static str> {
        BowTiePart::ALL.get(number as usize).map(|part| part.as_str())
    }
}

/// Part of each node.
pub fn bow_tie(forward: &Csr, backward: &Csr, components: &Components) -> Vec<BowTiePart> {
    let is_main = |node: u32| components.component_of[node as usize] == 0;
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
            let from_in = backward.neighbours(node).iter().any(|from| is_in(*from));
            let to_out = forward.neighbours(node).iter().any(|to| is_out(*to));
            match (from_in, to_out) {
                (true, true) => BowTiePart::MainMain,
                (true, false) => BowTiePart::MainIn,
                (false, true) => BowTiePart::MainOut,
                (false, false) => BowTiePart::MainNorm,
            }
        } else if is_in(node) {
            BowTiePart::In
        } else if is_out(node) {
            BowTiePart::Out
        } else {
            match (from_in[node as usize], to_out[node as usize]) {
                (true, true) => BowTiePart::Tubes,
                (false, false) => BowTiePart::Islands,
                _ => BowTiePart::Tendrils,
            }
        }
    };
    all().map(part).collect()
}

/// Nodes reachable from the start nodes, including those, without entering closed ones.
fn reach(graph: &Csr, from: impl Iterator<Item = u32>, closed: impl Fn(u32) -> bool) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes() as usize];
    let mut open: Vec<u32> = from.collect();
    open.iter().for_each(|node| reached[*node as usize] = true);
    while let Some(node) = open.pop() {
        for to in graph.neighbours(node) {
            if !reached[*to as usize] && !closed(*to) {
                reached[*to as usize] = true;
                open.push(*to);
            }
        }
    }
    reached
}
