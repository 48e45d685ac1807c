//! Similarity of pages: exact and near duplicates, mirrors of sites, similar texts, similar links.

pub(crate) mod co_citation;
pub(crate) mod mirrors;
pub(crate) mod near_duplicates;
pub(crate) mod page_text;
pub(crate) mod similar_pages;
pub(crate) mod similar_texts;
pub(crate) mod term_vector;
pub(crate) mod text_fingerprints;
pub(crate) mod union_find;
