//! Tests of distributed crawls: all processes run on this machine, but communicate only over a real NATS server and a real
//! S3 server.
//!
//! `WEIR_LONG=1` runs longer versions of the tests.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "../crawl/process.rs"]
#[allow(dead_code, reason = "the tests of `crawl` use the rest")]
mod process;
#[path = "../crawl/request_log.rs"]
#[allow(dead_code, reason = "the tests of `crawl` use the rest")]
mod request_log;
#[path = "../crawl/servers.rs"]
#[allow(dead_code, reason = "the tests of `crawl` use the rest")]
mod servers;

mod faults;
mod refusals;
mod site;

/// Whether the long versions of the tests run.
fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}
