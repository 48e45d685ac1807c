//! HTTP/1.1 and HTTP/2 as seen by the client: request heads, response parsing, limits on sizes.

pub(crate) mod chunked;
pub(crate) mod head;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod metered_stream;
pub(crate) mod request;
pub(crate) mod response_reader;
