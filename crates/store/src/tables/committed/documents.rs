//! Table `documents`: one row for each parsed document.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::tables::column::{
    ColumnType, Id, Int32, Int64, NullableFloat, NullableInt64, NullableTimestamp, NullableUtf8, Timestamp,
    Utf8,
};
use crate::tables::rows::{Rows, described, table};

table! {
    /// One document, as of one fetch.
    "documents", DocumentRow, DocumentRows {
        /// Page.
        page_id: Id,
        /// Site of the page.
        site_id: Id,
        /// Canonical URL.
        url: Utf8,
        /// Time of the response.
        fetch_time: Timestamp,
        /// Title.
        title: NullableUtf8,
        /// Content of the meta description.
        description: NullableUtf8,
        /// Detected language.
        language: NullableUtf8,
        /// Confidence, 0 to 1.
        language_confidence: NullableFloat,
        /// Language that the page declares.
        language_declared: NullableUtf8,
        /// Character encoding.
        charset: NullableUtf8,
        /// Source of the character encoding.
        charset_source: NullableUtf8,
        /// URL that the page declares as canonical.
        canonical_url: NullableUtf8,
        /// Directives of the page for robots: `noindex, nofollow`.
        robots_directives: NullableUtf8,
        /// Time of publication that the page declares.
        published_time: NullableTimestamp,
        /// Time of the last modification that the page declares.
        modified_time: NullableTimestamp,
        /// Bytes of the body after content decoding.
        decoded_length: Int64,
        /// Bytes of the simplified HTML.
        simplified_length: NullableInt64,
        /// Bytes of the text.
        text_length: Int64,
        /// Words of the text; in scripts without spaces estimated from the characters.
        word_count: Int32,
        /// Hash of the main text: equal if only the boilerplate of the page has changed.
        main_text_hash: Int64,
        /// SimHash of the main text: texts with many words in common differ in few bits.
        simhash: Int64,
        /// MinHash of the main text, four times 16 bits: near duplicates share two or more of them. Null for short texts.
        minhash: NullableInt64,
        /// Links to pages of the same host.
        internal_links: Int32,
        /// Links to other hosts.
        external_links: Int32,
        /// Images, scripts and other embedded resources.
        embedded_links: Int32,
    }
}
