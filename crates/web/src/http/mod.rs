//! HTTP server: listener, connections with their limits and timeouts, routes and static files.

pub(crate) mod active_body;
pub(crate) mod assets;
pub(crate) mod connection;
pub(crate) mod router;
pub(crate) mod server;
pub(crate) mod stall_timeout;
