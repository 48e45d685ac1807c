//! Under which URL, and when, was a page stored? CDXJ: sorted lines `key timestamp {json}`, as the tools of web
//! archives read them, written along with the pages.
//!
//! A commit writes its new lines as one sorted file that never changes; small files are merged, so that there are few.
//! The text has no room for checksums, so each file has a small one beside it (`.sums`) with the checksum of every few
//! lines: what is looked up is checked first.

mod file;
mod key;
mod line;
mod set;

pub use key::cdx_key;

pub(crate) use file::{CdxjFile, CdxjWriter, merge};
pub(crate) use line::{CdxjLine, NO_STATUS, REVISIT};
pub(crate) use set::{CdxjSet, MergeJob, adopt, parts_of};
