//! Table `pages`: one row for each known page.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{
    Bool, ColumnType, Id, Int16, Int32, NullableFloat, NullableId, NullableInt16, NullableInt32,
    NullableInt64, NullableTimestamp, NullableUtf8, Utf8,
};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One page at a commit.
    "pages", PageRow, PageRows {
        /// Page.
        page_id: Id,
        /// Site of the page.
        site_id: Id,
        /// Canonical URL.
        url: Utf8,
        /// Host name or IP address.
        url_host_name: Utf8,
        /// Last label of the host name.
        url_host_tld: NullableUtf8,
        /// Registered domain: `example.co.uk`.
        url_host_registered_domain: NullableUtf8,
        /// `http`, `https`, `ftp` or `gopher`.
        url_protocol: Utf8,
        /// Link depth from the entry page of its site.
        depth: Int16,
        /// Stage of the page: `discovered`, `queued`, `fetched`, `failed` or `rejected`.
        stage: Utf8,
        /// HTTP status of the last fetch, 0 without a response; null if never fetched.
        fetch_status: NullableInt16,
        /// Outcome class of the last fetch, as in `fetches`.
        outcome: NullableUtf8,
        /// Reason of a failure, rejection or delay: `dns-not-found`, `robots-disallowed`, `client-error`.
        reason: NullableUtf8,
        /// MIME type that the body was parsed as; if there is none, the type that the server declared.
        mime_type: NullableUtf8,
        /// Character encoding.
        charset: NullableUtf8,
        /// Detected language.
        language: NullableUtf8,
        /// Confidence, 0 to 1.
        language_confidence: NullableFloat,
        /// Bytes of the body as transferred, at the last fetch with content.
        content_length: NullableInt64,
        /// Bytes of the text.
        text_length: NullableInt64,
        /// Characters of the title; 0 if there is none.
        title_chars: NullableInt32,
        /// Words of the text.
        word_count: NullableInt32,
        /// Whether the URL has a query or names a program.
        is_dynamic: Bool,
        /// Program that the URL names, by its extension: `php`, `aspx`, `cgi`.
        technology: NullableUtf8,
        /// Whether the page is a seed.
        is_seed: Bool,
        /// Fetches of the page.
        fetch_count: Int32,
        /// Revisits whose content could be compared with that of the previous fetch.
        revisits_compared: Int32,
        /// Compared revisits at which the content had changed.
        change_count: Int32,
        /// Estimated change rate; null without a comparison.
        changes_per_day: NullableFloat,
        /// Time of the first fetch.
        first_fetch_time: NullableTimestamp,
        /// Time of the last fetch.
        last_fetch_time: NullableTimestamp,
        /// Time of publication that the page declares.
        published_time: NullableTimestamp,
        /// Time of the last modification that the page or its server declares.
        modified_time: NullableTimestamp,
        /// Days from the modification (or, if it is unknown, from the publication) to the fetch; null for dates before 1990 or after the fetch.
        age_days: NullableFloat,
        /// Date that the age is based on: `modified` or `published`.
        age_source: NullableUtf8,
        /// Milliseconds from the request to the first byte, at the last fetch with a response.
        latency_ms: NullableInt32,
        /// Milliseconds from the request to the last byte, at that fetch.
        duration_ms: NullableInt32,
        /// Links to pages of the same host.
        internal_links: NullableInt32,
        /// Links to other hosts.
        external_links: NullableInt32,
        /// Images, scripts and other embedded resources.
        embedded_links: NullableInt32,
        /// Pages that link to it.
        in_degree: NullableInt64,
        /// Pages that it links to.
        out_degree: NullableInt64,
        /// PageRank.
        pagerank: NullableFloat,
        /// PageRank with weighted links.
        link_rank: NullableFloat,
        /// Hub score (HITS).
        hub: NullableFloat,
        /// Authority score (HITS).
        authority: NullableFloat,
        /// Strongly connected component; 0 is the largest.
        component: NullableId,
        /// Part of the bow tie: `main-main`, `in`, `islands`.
        bow_tie_part: NullableUtf8,
        /// First page with the same body.
        duplicate_of: NullableId,
        /// First page with the same text, possibly itself.
        duplicate_group: NullableId,
        /// First page with nearly the same text, possibly itself.
        near_duplicate_group: NullableId,
    }
}
