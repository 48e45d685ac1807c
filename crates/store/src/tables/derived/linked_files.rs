//! Table `linked_files`: files that pages link to or embed, by extension.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Int64, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// Links to all files with the same extension.
    "linked_files", LinkedFileRow, LinkedFileRows {
        /// Extension of the path, in lower case.
        extension: Utf8,
        /// Kind of these files: `image`, `audio`, `video`, `document`, `archive`, `software`, `font`, `data` or `style`.
        kind: Utf8,
        /// Number of links, by the last parse of each linking page.
        link_count: Int64,
    }
}
