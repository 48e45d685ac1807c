//! What do others call a page?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Int64, Kind, Text};
use super::rows::{Rows, described, table};

table! {
    /// Words by which other pages link to a page.
    "anchors", AnchorRow, AnchorRows {
        /// The page that the links lead to.
        page_id: Id,
        /// The words.
        anchor: Text,
        /// How many links of other pages have them, as of the last parse of these.
        links: Int64,
        /// Of how many sites.
        sites: Int64,
    }
}
