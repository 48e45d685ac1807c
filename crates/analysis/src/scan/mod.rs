//! Parallel scans over the tables and the stored pages of a commit.

pub(crate) mod analyzer;
pub(crate) mod table_scan;
