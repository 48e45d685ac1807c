//! What does the index know of a page? Words to find it by, and facts to choose and count by. No text: that is in the page store.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};

use crate::tokenizer::TOKENIZER;

/// The fields by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    /// The page's id. Not a term: who looks for pages by id goes through the column.
    pub(crate) page_id: Field,
    /// The site's id, also as a term.
    pub(crate) site_id: Field,
    /// The registered domain, or the host where there is none; one term.
    pub(crate) domain: Field,
    /// The code of the language; nothing where it is not certain. It says by which rules the page's words became terms.
    pub(crate) language: Field,
    /// `text/html`; one term.
    pub(crate) mime: Field,
    /// When the page was modified or published by its own word, in Unix seconds; nothing where it says nothing.
    pub(crate) date: Field,
    /// The status of HTTP.
    pub(crate) status: Field,
    /// Bytes of the body.
    pub(crate) size: Field,
    /// Words of the URL, as they are.
    pub(crate) url: Field,
    /// Words of the title.
    pub(crate) title: Field,
    /// Words of the headings.
    pub(crate) headings: Field,
    /// Words by which others link to it.
    pub(crate) anchor: Field,
    /// All that a reader sees.
    pub(crate) body: Field,
}

/// The schema, with the places of words or without.
pub(crate) fn schema(positions: bool) -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let column = NumericOptions::from(FAST);
    let found_by = NumericOptions::from(FAST | INDEXED);
    let word = TextOptions::default()
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
        site_id: schema.add_u64_field("site_id", found_by),
        domain: schema.add_text_field("domain", word.clone()),
        language: schema.add_text_field("language", word.clone()),
        mime: schema.add_text_field("mime", word),
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
