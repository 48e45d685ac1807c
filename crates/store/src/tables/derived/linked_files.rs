//! Table `linked_files`: files that pages link to or embed, by extension.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Int64, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// Links to files with one extension.
    "linked_files", LinkedFileRow, LinkedFileRows {
        /// Extension of the path, in lower case.
        extension: Utf8,
        /// Kind of such files: `image`, `audio`, `video`, `document`, `archive`, `software`, `font`, `data` or `style`.
        kind: Utf8,
        /// Links, as of the last parse of the pages with them.
        link_count: Int64,
    }
}
