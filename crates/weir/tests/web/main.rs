//! Tests of the web server: API, pages, access control, hostile content. They run the real program over sockets, some with a
//! browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod archive;
mod browser;
mod browsing;
mod hostile;
mod http_api;
mod robots_directives;
mod safety;
mod schema;
mod served;
mod tls;
