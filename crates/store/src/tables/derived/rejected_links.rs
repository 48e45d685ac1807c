//! Table `rejected_links`: targets of links that are not followed.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Int64, NullableUtf8, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// Links to one domain that were rejected for one reason.
    "rejected_links", RejectedLinkRow, RejectedLinkRows {
        /// Registered domain; the host if there is none.
        registered_domain: Utf8,
        /// Last label of the host name.
        url_host_tld: NullableUtf8,
        /// Reason why the links were rejected, as in `links`.
        reason: Utf8,
        /// Number of links, by the last parse of each linking page.
        link_count: Int64,
    }
}
