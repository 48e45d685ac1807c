//! Macro structure of a graph: strongly connected components and the bow tie.

pub(crate) mod bow_tie;
pub(crate) mod components;
