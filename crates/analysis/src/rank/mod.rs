//! Rankings over the link graph: PageRank, HITS, and distances (HyperBall).

pub(crate) mod hits;
pub(crate) mod hyper_ball;
pub(crate) mod page_rank;
