//! Fetches over loopback: HTTP, TLS, DNS, proxies, ftp and gopher, and servers that misbehave.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]

mod dns;
mod ftp;
mod gopher;
mod hostile;
mod http;
mod http2;
mod proxy;
mod support;
mod tls;
mod web;
