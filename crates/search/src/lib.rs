//! Full-text search: an inverted index beside the collection, and a query language.
//!
//! [`index()`] reads the pages of a snapshot and keeps `DIR/text/` up to date; [`TextIndex`] opens it. [`Query`] parses a query, and
//! [`Searcher`] returns the matching pages. Pages and queries are tokenized by the same code (`text`).
//!
//! - `text`: segmentation into words, stemming, languages
//! - `index`: files, schema and vocabulary of the index
//! - `indexing`: incremental indexer
//! - `query`: syntax of queries
//! - `searcher`: execution, ranking, snippets, facets
//! - `highlighter`: words of a query in other texts
//!
//! This crate never opens a collection for writing: it reads snapshots and the results of the last analysis.

mod error;
mod highlighter;
mod index;
mod indexing;
mod query;
mod response;
mod searcher;
mod text;

pub use error::{Error, Result};
pub use highlighter::Highlighter;
pub use index::exclusion::ExclusionCounts;
pub use index::text_index::TextIndex;
pub use index::vocabulary::Vocabulary;
pub use indexing::summary::{DamagedPage, IndexProgress, IndexSettings, IndexSummary};
pub use indexing::{discard_index, index};
pub use query::{
    Comparison, Condition, LinkCondition, MAX_NEAR_DISTANCE, MAX_QUERY_BYTES, MAX_QUERY_DEPTH,
    MAX_QUERY_LINK_CONDITIONS, MAX_QUERY_TERMS, MAX_QUERY_WILDCARDS, MatchMode, NumericField, Period, Query,
    QueryError, QueryField, WordPattern,
};
pub use response::SearchResponse;
pub use searcher::{
    EmptyingCondition, FacetCount, Facets, Fragment, Hit, LimitHit, LinkMatches, MAX_RESULT_WINDOW, Ranking,
    ScorePart, SearchOptions, SearchResult, Searcher, Snippet, Sort,
};
