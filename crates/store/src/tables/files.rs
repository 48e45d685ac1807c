//! Which files do pages link to or embed?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Int64, Kind, Text};
use super::rows::{Rows, described, table};

table! {
    /// Links to files with one extension.
    "files", FileRow, FileRows {
        /// The extension of the path, in lower case.
        extension: Text,
        /// What such files are: `image`, `audio`, `video`, `document`, `archive`, `software`, `font`, `data` or `style`.
        kind: Text,
        /// How many links there are, as of the last parse of the pages that have them.
        links: Int64,
    }
}
