//! Tests of `weir crawl` from outside: output, requests at the servers, hostile servers. They run the real program against
//! sockets on this machine.
//!
//! `WEIR_LONG=1` runs longer versions of the tests.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod clocks;
mod concurrent_commands;
mod hostile;
mod kills;
mod local_faults;
mod politeness;
mod process;
mod reasons;
mod report_ground_truth;
mod request_log;
mod retry_after;
mod roles;
mod round_trip;
mod scheduling;
mod servers;
mod settings_changes;
mod stops;
mod terminal;
mod transfers;
mod traps;
mod why_ground_truth;
mod workers;

/// Whether the long versions of the tests run.
fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}
