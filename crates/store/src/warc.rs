//! How does a page lie on disk so that everybody's tools can read it? As a record of a WARC 1.1 file (ISO 28500:2017),
//! each record a gzip member of its own.
//!
//! [`Preparer`] turns a [`Capture`] into compressed bytes, on any thread; [`WarcReader`] reads the files of others,
//! in whichever form they come. Nothing here knows where a file lies in a collection, or what a page means.

mod chunked;
mod date;
mod digest;
mod header;
mod http_head;
mod member;
mod reader;
mod record;
mod writer;

pub use header::{WarcHeader, WarcKind};
pub use reader::{WarcError, WarcReader};
pub use record::{Capture, DigestVerdict, Truncated, WarcRecord};
pub use writer::{Prepared, PreparedLabel, Preparer};

pub(crate) use date::{parse_date, timestamp};
pub(crate) use digest::{Digest, DigestKey};
pub(crate) use http_head::{head_bytes, header_value, status};
pub(crate) use member::{Members, gunzip};
pub(crate) use writer::{RevisitProfile, index_line};
