//! ftp and gopher, whose results are presented as HTTP responses.

pub(crate) mod close_delimited;
pub(crate) mod ftp;
pub(crate) mod gopher;
pub(crate) mod synthesized;
