//! Table `ranks`: link-based scores of each page.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Id, NullableFloat, NullableInt64};
use crate::tables::rows::{Rows, described, table};

table! {
    /// Ranks of one page.
    "ranks", RankRow, RankRows {
        /// Page.
        page_id: Id,
        /// Pages that link to it.
        in_degree: NullableInt64,
        /// Pages that it links to.
        out_degree: NullableInt64,
        /// PageRank.
        pagerank: NullableFloat,
        /// PageRank with weighted links.
        link_rank: NullableFloat,
        /// Hub score (HITS).
        hub: NullableFloat,
        /// Authority score (HITS).
        authority: NullableFloat,
    }
}
