//! Which pages say what somebody wants to know? An inverted index of the text, beside a collection, and a language to ask it in.
//!
//! This crate never sees a live collection: it reads snapshots, and what an analysis left beside them.
