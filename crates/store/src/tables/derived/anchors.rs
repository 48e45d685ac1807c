//! Table `anchors`: anchor texts of the links to each page.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Id, Int64, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One anchor text of the links to a page.
    "anchors", AnchorRow, AnchorRows {
        /// Target page of the links.
        page_id: Id,
        /// Anchor text.
        anchor: Utf8,
        /// Links of other pages with this text, as of the last parse of these pages.
        link_count: Int64,
        /// Sites with such links.
        site_count: Int64,
    }
}
