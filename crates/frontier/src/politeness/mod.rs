//! Politeness: delays between requests, back-off after failures, and the queue that enforces both.

pub(crate) mod delays;
pub(crate) mod retry_policy;
pub(crate) mod workbench;
