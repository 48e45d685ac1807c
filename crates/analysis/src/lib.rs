//! What do the links of a collection say about its pages and sites? The link graph, ranks over it, its structure.
//!
//!
//! This crate never sees a live collection: it reads snapshots, and what it finds lies beside them. It never prints.

mod bits;
mod bv;
mod cores;
mod error;

pub use bv::{BvGraph, BvSink, write_bv};
pub use cores::Cores;
pub use error::{Error, Result};
