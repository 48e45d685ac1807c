//! Scoring queries: words, phrases and proximity by BM25, sets of terms, and the bonus for adjacent words.

pub(super) mod bm25;
pub(super) mod bm25_statistics;
pub(super) mod proximity;
pub(super) mod term_set;
pub(super) mod word_pairs;
pub(super) mod word_query;
