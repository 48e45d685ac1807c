//! Which pages say what somebody wants to know? An inverted index of the text, beside a collection, and a language to ask it in.
//!
//! [`index`] reads the pages of a snapshot and keeps `DIR/text/` up to date; [`TextIndex`] is what a search opens. The words of
//! a page become terms by one way (`cutter`, `stems`), which queries take too.
//!
//! This crate never sees a live collection: it reads snapshots, and what an analysis left beside them.

mod cutter;
mod entry;
mod error;
mod forms;
mod index;
mod language;
mod query;
mod schema;
mod stems;
mod text_index;
mod tokenizer;

pub use error::{Error, Result};
pub use index::{IndexSettings, IndexSummary, Indexed, index};
pub use query::{
    Compare, Condition, LinkCondition, LinkKind, Measure, NEAR_LIMIT, Part, Period, QUERY_LIMIT_BYTES,
    QUERY_LIMIT_DEPTH, QUERY_LIMIT_TERMS, Query, QueryError, Words,
};
pub use text_index::TextIndex;
