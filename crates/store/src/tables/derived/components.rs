//! Table `components`: strongly connected components of the link graph.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Id, Int64, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One strongly connected component.
    "components", ComponentRow, ComponentRows {
        /// Component; 0 is the largest.
        component: Id,
        /// Pages of the component.
        pages: Int64,
        /// Part of the bow tie; `main` for the largest component, which has several.
        bow_tie_part: Utf8,
    }
}
