//! What is known about each registered domain?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Int64, Kind, MaybeReal, MaybeText, Text};
use super::rows::{Rows, described, table};

table! {
    /// One registered domain, by what is known of its sites.
    "domains", DomainRow, DomainRows {
        /// The registered domain; the host, where there is none.
        registered_domain: Text,
        /// The last label of the host name.
        tld: MaybeText,
        /// Its sites.
        sites: Int64,
        /// Their pages.
        pages: Int64,
        /// Of those, fetched.
        pages_fetched: Int64,
        /// Bytes of their content as transferred.
        bytes: Int64,
        /// Sum of their PageRank.
        pagerank: MaybeReal,
    }
}
