//! Ground truth about a synthetic Web: what a perfect crawler would find.

pub(crate) mod ground_truth;
pub(crate) mod pagerank;
