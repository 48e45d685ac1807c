//! What is known of each site?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Int64, Kind, MaybeId, MaybeInt16, MaybeInt32, MaybeText, Text, Time};
use super::rows::{Rows, described, table};

table! {
    /// One site, at one moment.
    "sites", SiteRow, SiteRows {
        /// The site.
        site_id: Id,
        /// Scheme, host and port.
        site: Text,
        /// Host name or address.
        host: Text,
        /// The registered domain.
        registered_domain: MaybeText,
        /// The last label of the host name.
        tld: MaybeText,
        /// When this was so.
        time: Time,
        /// The address it resolved to.
        address: MaybeText,
        /// The site of which it is another name.
        alias_of: MaybeId,
        /// Status of its robots.txt.
        robots_status: MaybeInt16,
        /// The wait it asks for.
        crawl_delay_ms: MaybeInt32,
        /// Pages heard of.
        pages_known: Int64,
        /// Pages to be fetched.
        pages_queued: Int64,
        /// Pages fetched.
        pages_fetched: Int64,
        /// Known pages without a query or program.
        pages_static: Int64,
        /// The others.
        pages_dynamic: Int64,
        /// Fetches that failed.
        errors: Int64,
        /// Bytes fetched.
        bytes: Int64,
    }
}
