//! What did each parsed document say?

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::column::{Id, Int32, Int64, Kind, MaybeInt64, MaybeReal, MaybeText, MaybeTime, Text, Time};
use super::rows::{Rows, described, table};

table! {
    /// One document, as it was at one fetch.
    "documents", DocumentRow, DocumentRows {
        /// The page.
        page_id: Id,
        /// Its site.
        site_id: Id,
        /// The canonical URL.
        url: Text,
        /// When it was fetched.
        fetch_time: Time,
        /// The title.
        title: MaybeText,
        /// The description that the page gives of itself.
        description: MaybeText,
        /// The language detected.
        language: MaybeText,
        /// How sure that is, up to 1.
        language_confidence: MaybeReal,
        /// The language that the page declares.
        language_declared: MaybeText,
        /// The encoding.
        charset: MaybeText,
        /// What the encoding rests on.
        charset_source: MaybeText,
        /// The URL that the page calls its own.
        canonical: MaybeText,
        /// What the page forbids robots: `noindex, nofollow`.
        robots: MaybeText,
        /// When the page says it was published.
        published: MaybeTime,
        /// When the page says it was modified.
        modified: MaybeTime,
        /// Bytes of the body, decompressed.
        raw_length: Int64,
        /// Bytes of the kept form.
        kept_length: MaybeInt64,
        /// Bytes of the text.
        text_length: Int64,
        /// Words of the text.
        words: Int32,
        /// Hash of the main text: equal when only the frame of the page has changed.
        text_digest: Int64,
        /// Fingerprint of the main text: texts with many words in common differ in few bits.
        simhash: Int64,
        /// Another, of four times 16 bits: near duplicates have two or more of them in common. Nothing for a few words.
        minhash: MaybeInt64,
        /// Links to pages of the same host.
        links_internal: Int32,
        /// Links to other hosts.
        links_external: Int32,
        /// Images, scripts and the like.
        links_embedded: Int32,
    }
}
