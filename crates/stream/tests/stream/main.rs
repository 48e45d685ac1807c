//! Streams as those see them who study pages: handlers, clients, archives.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

#[cfg(feature = "flight")]
mod flight;
mod handlers;
mod http;
mod sample;
mod tls;
