//! What do its pages and the links say about each site?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Int64, Kind, MaybeId, MaybeInt16, MaybeInt64, MaybeReal, MaybeText, Text};
use super::rows::{Rows, described, table};

table! {
    /// One site, by what is known of its pages.
    "site_ranks", SiteRankRow, SiteRankRows {
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
        /// `http`, `https`, `ftp` or `gopher`.
        protocol: Text,
        /// Its pages.
        pages_known: Int64,
        /// Of those, fetched.
        pages_fetched: Int64,
        /// Of those, the last visit brought nothing.
        pages_failed: Int64,
        /// Known pages without a query or program.
        pages_static: Int64,
        /// The others.
        pages_dynamic: Int64,
        /// Bytes of the content of its pages as transferred.
        bytes: Int64,
        /// Links of its pages to pages of the same host.
        links_internal: Int64,
        /// Links of its pages to other hosts.
        links_external: Int64,
        /// Age of its youngest page.
        age_days_min: MaybeReal,
        /// Mean age of its pages.
        age_days_mean: MaybeReal,
        /// Age of its oldest page.
        age_days_max: MaybeReal,
        /// Depth of the page that is least deep.
        depth_min: MaybeInt16,
        /// Mean depth of its pages.
        depth_mean: MaybeReal,
        /// Depth of the deepest page.
        depth_max: MaybeInt16,
        /// Sites that link to it.
        in_degree: MaybeInt64,
        /// Sites that it links to.
        out_degree: MaybeInt64,
        /// PageRank on the graph of sites.
        site_rank: MaybeReal,
        /// Harmonic centrality: the sum of 1/distance from all sites that reach it.
        harmonic: MaybeReal,
        /// Sum of the PageRank of its pages.
        pagerank: MaybeReal,
        /// Its strongly connected component of the graph of sites; 0 is the largest.
        component: MaybeId,
        /// Its part of the bow tie of sites.
        part: MaybeText,
        /// The software that its server named last.
        server: MaybeText,
        /// The version of HTTP that it answered with last.
        http_version: MaybeText,
        /// Median of `latency_ms` of its pages.
        latency_ms: MaybeReal,
        /// Median of the bytes a second at which its pages came, those without content left out.
        bytes_per_second: MaybeReal,
        /// Status of its robots.txt, 0 when there was no answer; nothing if nobody asked.
        robots_status: MaybeInt16,
        /// The site of which it is another name.
        alias_of: MaybeId,
        /// The site whose pages it has as well.
        mirror_of: MaybeId,
    }
}
