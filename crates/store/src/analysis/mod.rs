//! Results of an analysis that are stored beside a snapshot: rank columns and statistics.

pub(crate) mod ranks;
pub(crate) mod statistics;
