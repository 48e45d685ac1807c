//! How important is each page?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Kind, MaybeInt64, MaybeReal};
use super::rows::{Rows, described, table};

table! {
    /// The ranks of one page.
    "ranks", RankRow, RankRows {
        /// The page.
        page_id: Id,
        /// Pages that link to it.
        in_degree: MaybeInt64,
        /// Pages that it links to.
        out_degree: MaybeInt64,
        /// PageRank.
        pagerank: MaybeReal,
        /// PageRank with links of unequal weight.
        link_rank: MaybeReal,
        /// How good a hub it is (HITS).
        hub: MaybeReal,
        /// How good an authority it is (HITS).
        authority: MaybeReal,
    }
}
