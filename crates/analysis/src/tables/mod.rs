//! Tables that the analysis writes: pages, sites, domains, components, anchors, rejected links.

pub(crate) mod anchor_runs;
pub(crate) mod anchors;
pub(crate) mod latest_rows;
pub(crate) mod page_ranks;
pub(crate) mod page_table;
pub(crate) mod rejected_links;
pub(crate) mod site_aggregates;
pub(crate) mod sites;
pub(crate) mod string_pool;
pub(crate) mod technology;
