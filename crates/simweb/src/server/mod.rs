//! Server of a synthetic Web: responses, HTTP, TLS, DNS and the request log.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod dns;
pub(crate) mod log;
pub(crate) mod rate_limit;
pub(crate) mod response;
pub(crate) mod route;
pub(crate) mod simweb;
pub(crate) mod stream;
pub(crate) mod tls;
