//! Rankings over the link graph: PageRank, HITS, and distances.

pub(crate) mod distances;
pub(crate) mod hits;
pub(crate) mod hyper_ball;
pub(crate) mod page_rank;
