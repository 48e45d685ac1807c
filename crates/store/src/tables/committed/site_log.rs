//! Table `site_log`: state of a site at the times when the crawl recorded it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{
    ColumnType, Id, Int64, NullableId, NullableInt16, NullableInt32, NullableUtf8, Timestamp, Utf8,
};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One site at one time.
    "site_log", SiteLogRow, SiteLogRows {
        /// Site.
        site_id: Id,
        /// Scheme, host and port.
        site: Utf8,
        /// Host name or IP address.
        url_host_name: Utf8,
        /// Registered domain.
        url_host_registered_domain: NullableUtf8,
        /// Last label of the host name.
        url_host_tld: NullableUtf8,
        /// Time of this observation.
        observed_time: Timestamp,
        /// IP address of the host.
        ip_address: NullableUtf8,
        /// Site of which this is an alias.
        alias_of: NullableId,
        /// HTTP status of robots.txt.
        robots_status: NullableInt16,
        /// Crawl-delay of robots.txt.
        crawl_delay_ms: NullableInt32,
        /// Known pages.
        pages_known: Int64,
        /// Pages in open batches.
        pages_queued: Int64,
        /// Pages fetched.
        pages_fetched: Int64,
        /// Known pages whose URL has no query and names no program.
        pages_static: Int64,
        /// Known pages whose URL has a query or names a program.
        pages_dynamic: Int64,
        /// Failed fetches.
        failed_fetches: Int64,
        /// Bytes received.
        bytes_received: Int64,
    }
}
