//! The link graph: construction from the link log, compressed storage (BVGraph), access in memory or on disk, export.

pub(crate) mod adjacency;
pub(crate) mod bit_codes;
pub(crate) mod bv;
pub(crate) mod checksummed_file;
pub(crate) mod csr;
pub(crate) mod export;
pub(crate) mod link_graph;
pub(crate) mod link_weight;
pub(crate) mod node_order;
pub(crate) mod site_graph;
pub(crate) mod sorted_runs;
