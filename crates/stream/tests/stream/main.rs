//! Tests of streams as their users see them: handlers, HTTP, Arrow Flight, TLS.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

#[cfg(feature = "flight")]
mod flight;
mod handlers;
mod http;
mod sample;
mod tls;
