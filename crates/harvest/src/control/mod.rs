//! Control interface of a running crawl: stop, pause, rate limit, settings, counters and live status.

pub mod budgets;
pub mod context;
pub(crate) mod control_state;
pub mod counters;
pub mod handle;
pub(crate) mod lease_deadline;
pub mod live_status;
pub mod local_faults;
pub(crate) mod process_memory;
pub(crate) mod rate_limiter;
pub mod status_state;
