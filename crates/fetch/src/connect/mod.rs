//! Connections: sockets, TLS, proxy tunnels, and the address check that comes before them.

pub(crate) mod connection;
pub(crate) mod connector;
pub(crate) mod tls;
