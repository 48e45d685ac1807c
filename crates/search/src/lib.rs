//! Which pages say what somebody wants to know? An inverted index of the text, beside a collection, and a language to ask it in.
//!
//! [`index()`] reads the pages of a snapshot and keeps `DIR/text/` up to date; [`TextIndex`] is what a search opens. The words of
//! a page become terms by one way (`cutter`, `stems`), which queries take too. [`Query`] reads what somebody asks, and
//! [`Searcher`] finds the pages.
//!
//! This crate never sees a live collection: it reads snapshots, and what an analysis left beside them.

mod anchors;
mod budget;
mod crew;
mod cutter;
mod deletions;
mod entry;
mod entry_reader;
mod error;
mod forms;
mod index;
mod language;
mod left_out;
mod merging;
mod note;
mod part;
mod plan;
mod query;
mod run;
mod schema;
mod searcher;
mod seen;
mod stems;
mod text_folder;
mod text_index;
mod tokenizer;
mod told;
mod vocabulary;
mod word_counts;

pub use error::{Error, Result};
pub use index::{DamagedPage, IndexSettings, IndexSummary, Indexed, index};
pub use left_out::LeftOutCounts;
pub use query::{
    Compare, Condition, LinkCondition, Measure, NEAR_LIMIT, Part, Period, QUERY_LIMIT_BYTES,
    QUERY_LIMIT_DEPTH, QUERY_LIMIT_LINKS, QUERY_LIMIT_STARS, QUERY_LIMIT_TERMS, Query, QueryError, Words,
};
pub use searcher::{
    Answer, Cut, FacetCount, Facets, Hit, LinkAnswers, Piece, Ranking, Request, SEARCH_LIMIT_HITS, Searcher,
    Share, Snippet, Sort,
};
pub use text_index::TextIndex;
pub use told::Told;
pub use vocabulary::Vocabulary;
