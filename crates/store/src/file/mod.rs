//! File formats shared by the components of a collection: checksummed blocks, framed logs, append-only and immutable
//! files, and the encoding of their fields.

pub(crate) mod append_file;
pub(crate) mod blocks;
pub(crate) mod fields;
pub(crate) mod frames;
pub(crate) mod immutable_file;
pub(crate) mod merge_policy;
pub(crate) mod varint;
