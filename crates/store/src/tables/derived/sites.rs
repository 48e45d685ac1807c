//! Table `sites`: one row for each site, aggregated over its pages.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{
    ColumnType, Id, Int64, NullableFloat, NullableId, NullableInt16, NullableInt64, NullableUtf8, Utf8,
};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One site at a commit.
    "sites", SiteRow, SiteRows {
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
        /// `http`, `https`, `ftp` or `gopher`.
        url_protocol: Utf8,
        /// Known pages.
        pages_known: Int64,
        /// Pages fetched.
        pages_fetched: Int64,
        /// Pages whose last fetch failed.
        pages_failed: Int64,
        /// Known pages whose URL has no query and names no program.
        pages_static: Int64,
        /// Known pages whose URL has a query or names a program.
        pages_dynamic: Int64,
        /// Bytes of the bodies of its pages as transferred.
        content_bytes: Int64,
        /// Links of its pages to pages of the same host.
        internal_links: Int64,
        /// Links of its pages to other hosts.
        external_links: Int64,
        /// Age of its youngest page.
        age_days_min: NullableFloat,
        /// Mean age of its pages.
        age_days_mean: NullableFloat,
        /// Age of its oldest page.
        age_days_max: NullableFloat,
        /// Minimum depth of its pages.
        depth_min: NullableInt16,
        /// Mean depth of its pages.
        depth_mean: NullableFloat,
        /// Maximum depth of its pages.
        depth_max: NullableInt16,
        /// Sites that link to it.
        in_degree: NullableInt64,
        /// Sites that it links to.
        out_degree: NullableInt64,
        /// PageRank on the graph of sites.
        site_rank: NullableFloat,
        /// Harmonic centrality: the sum of 1/distance from all sites that reach it.
        harmonic_centrality: NullableFloat,
        /// Sum of the PageRank of its pages.
        pagerank_sum: NullableFloat,
        /// Strongly connected component of the graph of sites; 0 is the largest.
        component: NullableId,
        /// Part of the bow tie of sites.
        bow_tie_part: NullableUtf8,
        /// Last value of the header field Server.
        server: NullableUtf8,
        /// HTTP version of the last response.
        http_version: NullableUtf8,
        /// Median of `latency_ms` of its pages.
        latency_ms: NullableFloat,
        /// Median transfer rate of its pages with content.
        bytes_per_second: NullableFloat,
        /// HTTP status of robots.txt, 0 without a response; null if never fetched.
        robots_status: NullableInt16,
        /// Site of which this is an alias.
        alias_of: NullableId,
        /// Site with the same pages.
        mirror_of: NullableId,
    }
}
