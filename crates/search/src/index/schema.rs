//! Schema of the index: text fields for searching, fast fields for filters, facets and sorting. Text is not stored: it is in the
//! WARC files.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use crate::text::tokenizer::TOKENIZER;

/// Fields of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    /// Page id; a fast field only, not indexed as a term.
    pub(crate) page_id: Field,
    /// Site id, also indexed as a term.
    pub(crate) site_id: Field,
    /// Registered domain, or the host if there is none; keyword.
    pub(crate) domain: Field,
    /// Language code, missing if the detection is uncertain; keyword. It decides the stemmer of the page.
    pub(crate) language: Field,
    /// MIME type, such as `text/html`; keyword.
    pub(crate) mime_type: Field,
    /// Date of modification or publication as declared by the page, in Unix seconds; absent if there is none.
    pub(crate) date: Field,
    /// HTTP status.
    pub(crate) status: Field,
    /// Size of the body in bytes.
    pub(crate) size: Field,
    /// Words of the URL, not stemmed.
    pub(crate) url: Field,
    /// Title.
    pub(crate) title: Field,
    /// Headings.
    pub(crate) headings: Field,
    /// Anchor texts of inlinks.
    pub(crate) anchor: Field,
    /// Visible text.
    pub(crate) body: Field,
}

/// Builds the schema, with or without word positions.
pub(crate) fn schema(positions: bool) -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let column = NumericOptions::from(FAST);
    let indexed = NumericOptions::from(FAST | INDEXED);
    let keyword = TextOptions::default()
        .set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_index_option(IndexRecordOption::Basic)
                .set_fieldnorms(false),
        )
        .set_fast("raw");
    let record =
        if positions { IndexRecordOption::WithFreqsAndPositions } else { IndexRecordOption::WithFreqs };
    let text = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(record).set_fieldnorms(true),
    );
    let fields = Fields {
        page_id: schema.add_u64_field("page_id", column.clone()),
        site_id: schema.add_u64_field("site_id", indexed),
        domain: schema.add_text_field("domain", keyword.clone()),
        language: schema.add_text_field("language", keyword.clone()),
        mime_type: schema.add_text_field("mime_type", keyword),
        date: schema.add_i64_field("date", column.clone()),
        status: schema.add_u64_field("status", column.clone()),
        size: schema.add_u64_field("size", column),
        url: schema.add_text_field("url", text.clone()),
        title: schema.add_text_field("title", text.clone()),
        headings: schema.add_text_field("headings", text.clone()),
        anchor: schema.add_text_field("anchor", text.clone()),
        body: schema.add_text_field("body", text),
    };
    (schema.build(), fields)
}
