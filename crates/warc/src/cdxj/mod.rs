//! CDXJ, the index format of web archives: sorted lines `key timestamp {json}`.

mod entry;
mod key;

pub use entry::{CdxjEntry, CdxjLocation, DecodedLine, MIME_REVISIT, NO_STATUS};
pub use key::cdxj_key;
