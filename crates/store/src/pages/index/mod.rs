//! CDXJ index of the stored pages: sorted lines `key timestamp {json}`, readable by the tools of web archives.
//!
//! A commit writes its new lines as one sorted, immutable file; small files are merged, so that there are few. CDXJ is
//! plain text without checksums, so each file has a second one beside it (`.checksums`) with the checksum of every
//! chunk of lines. A chunk is verified before one of its lines is used.

mod entry;
mod file;
mod set;

pub(crate) use entry::IndexEntry;
pub(crate) use file::{CdxjFileReader, CdxjWriter, merge};
pub(crate) use set::{CdxjIndex, CdxjMergeJob, move_from_scratch, parts_of};
