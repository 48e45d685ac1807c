//! Table `fetches`: one row for each attempt to fetch a page.
//!
//! Columns of Common Crawl's cc-index have its names, so that its queries run unchanged.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{
    ColumnType, Id, Int16, Int64, NullableBool, NullableId, NullableInt32, NullableInt64, NullableUtf8,
    Timestamp, Utf8,
};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One fetch.
    "fetches", FetchRow, FetchRows {
        /// URL in SURT form, which sorts the pages of a domain together.
        url_surtkey: Utf8,
        /// Canonical URL.
        url: Utf8,
        /// Host name or IP address.
        url_host_name: Utf8,
        /// Last label of the host name.
        url_host_tld: NullableUtf8,
        /// Public suffix: `co.uk`.
        url_host_registry_suffix: NullableUtf8,
        /// Registered domain: `example.co.uk`.
        url_host_registered_domain: NullableUtf8,
        /// `http`, `https`, `ftp` or `gopher`.
        url_protocol: Utf8,
        /// Port, unless it is the default of the protocol.
        url_port: NullableInt32,
        /// Path.
        url_path: Utf8,
        /// Query without its question mark.
        url_query: NullableUtf8,
        /// Time of the response.
        fetch_time: Timestamp,
        /// HTTP status; 0 without a response.
        fetch_status: Int16,
        /// Target of a redirect, resolved.
        fetch_redirect: NullableUtf8,
        /// SHA-1 of the payload in base 32, as in the WARC record.
        content_digest: NullableUtf8,
        /// MIME type that the server declared.
        content_mime_type: NullableUtf8,
        /// MIME type that the body was parsed as.
        content_mime_detected: NullableUtf8,
        /// Character encoding.
        content_charset: NullableUtf8,
        /// Detected language.
        content_languages: NullableUtf8,
        /// Reason why the body is incomplete: `length`, `time`, `disconnect`; `unspecified` for an invalid content encoding, see `reason`.
        content_truncated: NullableUtf8,
        /// WARC file, relative to the directory of the collection; null if nothing was stored.
        warc_filename: NullableUtf8,
        /// Start of the record in the WARC file.
        warc_record_offset: NullableInt64,
        /// Compressed size of the record.
        warc_record_length: NullableInt32,
        /// Page.
        page_id: Id,
        /// Site of the page.
        site_id: Id,
        /// Link depth from the entry page of its site.
        depth: Int16,
        /// Outcome class: `ok`, `not_modified`, `redirect`, `client_error`, `server_error`, `unexpected_status`, `incomplete`, `no_response`.
        outcome: Utf8,
        /// Reason of a failure or truncation: `total-timeout`, `connection-closed`; null on success.
        reason: NullableUtf8,
        /// IP address of the server.
        ip_address: NullableUtf8,
        /// `1.1` or `2`.
        http_version: NullableUtf8,
        /// Value of the header field Server.
        server: NullableUtf8,
        /// Bytes of the body as transferred.
        content_length: Int64,
        /// Time from the request to the first byte.
        latency_ms: NullableInt32,
        /// Time from the request to the last byte.
        duration_ms: NullableInt32,
        /// Hash of the main text: equal if only the boilerplate of the page has changed. Null if there is none.
        main_text_hash: NullableInt64,
        /// Whether the main text (or the body, if there is no main text) differs from the previous fetch; null for the first fetch.
        changed: NullableBool,
        /// First page with the same body.
        duplicate_of: NullableId,
    }
}
