//! Mutable state of a crawl: one fixed-size record per page and per site, kept in memory-friendly columns.

pub(crate) mod page;
pub(crate) mod records;
pub(crate) mod site;
