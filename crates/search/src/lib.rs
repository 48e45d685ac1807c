//! Which pages say what somebody wants to know? An inverted index of the text, beside a collection, and a language to ask it in.
//!
//! This crate never sees a live collection: it reads snapshots, and what an analysis left beside them.

mod query;

pub use query::{
    Compare, Condition, LinkCondition, LinkKind, Measure, NEAR_LIMIT, Part, Period, QUERY_LIMIT_BYTES,
    QUERY_LIMIT_DEPTH, QUERY_LIMIT_TERMS, Query, QueryError, Words,
};
