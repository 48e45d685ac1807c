//! Table `links`: one row for each link of a parsed document.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{Bool, ColumnType, Float, Id, NullableId, NullableUtf8, Timestamp, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One link of a document.
    "links", LinkRow, LinkRows {
        /// Page with the link.
        source_page_id: Id,
        /// Target page; null if the link was rejected.
        target_page_id: NullableId,
        /// Canonical URL of the target; as written if it is not a valid URL.
        target_url: Utf8,
        /// Time of the response that contains the link.
        fetch_time: Timestamp,
        /// HTML element or relation: `a`, `img`, `canonical`.
        element: Utf8,
        /// Relation that the page declares.
        rel: NullableUtf8,
        /// Anchor text.
        anchor: NullableUtf8,
        /// Whether the target is on the same host.
        is_internal: Bool,
        /// Position in the text: 0 at the start, 1 at the end.
        text_position: Float,
        /// Reason why the link was rejected: `out-of-scope`, `nofollow`; null if it is followed.
        reason: NullableUtf8,
    }
}
