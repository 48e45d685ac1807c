//! What happened each time a page was asked for? The columns of Common Crawl's cc-index have its names, so that
//! its queries run unchanged; the others follow them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{
    Id, Int16, Int64, Kind, MaybeFlag, MaybeId, MaybeInt32, MaybeInt64, MaybeText, Text, Time,
};
use super::rows::{Rows, described, table};

table! {
    /// One fetch.
    "fetches", FetchRow, FetchRows {
        /// The URL in SURT form, which sorts a domain's pages together.
        url_surtkey: Text,
        /// The canonical URL.
        url: Text,
        /// Host name or address.
        url_host_name: Text,
        /// The last label of the host name.
        url_host_tld: MaybeText,
        /// The public suffix: `co.uk`.
        url_host_registry_suffix: MaybeText,
        /// The registered domain: `example.co.uk`.
        url_host_registered_domain: MaybeText,
        /// `http`, `https`, `ftp` or `gopher`.
        url_protocol: Text,
        /// The port, if it is not the protocol's own.
        url_port: MaybeInt32,
        /// The path.
        url_path: Text,
        /// The query, without its question mark.
        url_query: MaybeText,
        /// When the answer had come.
        fetch_time: Time,
        /// The status of HTTP; 0 when there was no answer.
        fetch_status: Int16,
        /// Where a redirect leads, resolved.
        fetch_redirect: MaybeText,
        /// SHA-1 of the payload in base 32, as in the WARC record.
        content_digest: MaybeText,
        /// The type that the server declared.
        content_mime_type: MaybeText,
        /// The type that the body was read as.
        content_mime_detected: MaybeText,
        /// The encoding.
        content_charset: MaybeText,
        /// The language detected.
        content_languages: MaybeText,
        /// Why the body is not whole: `length`, `time`, `disconnect`.
        content_truncated: MaybeText,
        /// The WARC file, relative to the collection's folder; nothing when nothing was stored.
        warc_filename: MaybeText,
        /// Where in it the record starts.
        warc_record_offset: MaybeInt64,
        /// How long the record is there.
        warc_record_length: MaybeInt32,
        /// The page.
        page_id: Id,
        /// Its site.
        site_id: Id,
        /// Links to the page from where its site was entered.
        depth: Int16,
        /// How it went, in one word: `ok`, `not_modified`, `redirect`, `timeout`.
        outcome: Text,
        /// Why nothing came of it, or not all: `total-timed-out`, `connection-lost`; nothing if all went well.
        reason: MaybeText,
        /// The address that was connected to.
        address: MaybeText,
        /// `1.1` or `2`.
        http_version: MaybeText,
        /// The software that the server names.
        server: MaybeText,
        /// Bytes of the body as transferred.
        content_length: Int64,
        /// From the request to the first byte.
        latency_ms: MaybeInt32,
        /// From the request to the last byte.
        duration_ms: MaybeInt32,
        /// Hash of the main text: equal when only the frame of the page has changed. Nothing without one.
        text_digest: MaybeInt64,
        /// Whether its main text (its bytes, without one) differs from the visit before; nothing on the first.
        changed: MaybeFlag,
        /// The page that had the same body first.
        duplicate_of: MaybeId,
    }
}
