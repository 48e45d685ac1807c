//! Query language of streams: which pages, in which order, in which format.

pub(crate) mod output;
pub(crate) mod stream_query;
