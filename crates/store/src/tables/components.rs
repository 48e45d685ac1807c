//! Which pages reach each other?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Int64, Kind, Text};
use super::rows::{Rows, described, table};

table! {
    /// One strongly connected component of the graph of links.
    "components", ComponentRow, ComponentRows {
        /// The component; 0 is the largest.
        component: Id,
        /// Its pages.
        pages: Int64,
        /// Their part of the bow tie; of the largest, which has several, `main`.
        part: Text,
    }
}
