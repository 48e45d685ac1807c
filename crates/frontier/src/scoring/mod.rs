//! Scores of pages: quality from weighted terms, strategies, link-based ranks, and the priority of a fetch.

pub(crate) mod objective;
pub(crate) mod opic;
pub(crate) mod page_facts;
pub(crate) mod pagerank;
pub(crate) mod priority;
pub(crate) mod quality;
pub(crate) mod strategy;
pub(crate) mod term;
