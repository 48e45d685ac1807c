//! Does `weir crawl` do what it promises, as seen from outside: by its users, by the servers it asks, and by those who would
//! harm it? All tests run the real program against real sockets of this machine.
//!
//! `WEIR_LONG=1` has them run in their long form.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod beside;
mod choosing;
mod clocks;
mod hostile;
mod kills;
mod politeness;
mod process;
mod reasons;
mod report_truth;
mod request_log;
mod retry_after;
mod roles;
mod round_trip;
mod servers;
mod stops;
mod terminal;
mod workers;

/// Whether there is time.
fn long() -> bool {
    std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0")
}
