//! Do workers on other machines make the same collection as one process, and politely, whatever fails? All processes are on this
//! machine, but meet only at a real NATS server and a real server of S3.
//!
//! `WEIR_LONG=1` has them run in their long form.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "../../../cluster/tests/servers/nats_server.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod nats_server;
#[path = "../crawl/process.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod process;
#[path = "../crawl/request_log.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod request_log;
#[path = "../../../cluster/tests/servers/s3_server.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod s3_server;
#[path = "../crawl/servers.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod servers;
#[path = "../../../store/tests/faults/small_disk.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod small_disk;
#[path = "../../../store/tests/python/venv.rs"]
#[allow(dead_code, reason = "others run its tools")]
mod venv;
#[path = "../../../cluster/tests/servers/waiting.rs"]
mod waiting;

mod faults;
mod refusals;
mod site;

/// Whether there is time.
fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}
