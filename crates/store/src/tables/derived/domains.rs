//! Table `domains`: one row for each registered domain, aggregated over its sites.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{ColumnType, Int64, NullableFloat, NullableUtf8, Utf8};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One registered domain at a commit.
    "domains", DomainRow, DomainRows {
        /// Registered domain; the host if there is none.
        url_host_registered_domain: Utf8,
        /// Last label of the host name.
        url_host_tld: NullableUtf8,
        /// Sites of the domain.
        sites: Int64,
        /// Known pages.
        pages_known: Int64,
        /// Pages fetched.
        pages_fetched: Int64,
        /// Bytes of the bodies of its pages as transferred.
        content_bytes: Int64,
        /// Sum of the PageRank of its pages.
        pagerank_sum: NullableFloat,
    }
}
