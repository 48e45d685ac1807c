//! How does a collection leave wholesale? As a stream of pages, none of which waits for another.
//!
//! This crate never buffers more than one record: what goes in comes out before the next is read.

mod export;

pub use export::{Exported, export_mirror, export_tables, export_warc};
