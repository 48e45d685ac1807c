//! Credentials of the server: access token, session secrets, TLS certificate.

pub(crate) mod session;
pub(crate) mod tls;
pub(crate) mod token;
