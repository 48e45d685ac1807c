//! WARC 1.1 (ISO 28500:2017) and CDXJ reading and writing.
//!
//! [`RecordEncoder`] compresses a [`Capture`] into WARC records, each a gzip member of its own; [`WarcReader`] reads
//! archives of any writer, compressed or not, also ARC files; [`list_package`] lists the WARC files of a WACZ package; [`GzipMembers`] walks through files with one member per record.
//! [`CdxjEntry`] is a line of an index of captures.
//!
//! This crate never knows a collection: file names, numbering and commits belong to `store`.

mod arc;
mod cdxj;
mod chunked;
mod date;
mod digest;
mod encoder;
mod error;
mod gzip;
mod header;
mod http_head;
mod package;
mod reader;
mod record;
mod verified;

pub use cdxj::{CdxjEntry, CdxjLocation, DecodedLine, MIME_REVISIT, NO_STATUS, cdxj_key};
pub use date::{cdx_timestamp, parse_date};
pub use digest::{PayloadKey, Sha1Digest};
pub use encoder::{EncodedRecord, RecordEncoder, RevisitProfile, cdxj_entry_for};
pub use error::{Error, Result};
pub use gzip::{GzipMember, GzipMembers, gunzip};
pub use header::{WarcHeader, WarcType};
pub use http_head::{head_bytes, header_value, status};
pub use package::{PackagedWarc, list_package};
pub use reader::WarcReader;
pub use record::{Capture, DigestCheck, WarcRecord};
pub use verified::VerifiedCapture;
