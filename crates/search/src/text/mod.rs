//! Text analysis: segmentation into words, stop words and stemming by language, word counts.

pub(crate) mod language;
pub(crate) mod query_terms;
pub(crate) mod segmenter;
pub(crate) mod stemmer;
pub(crate) mod tokenizer;
pub(crate) mod wildcard;
pub(crate) mod word_counts;
