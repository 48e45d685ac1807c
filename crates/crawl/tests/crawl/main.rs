//! Crawls of a synthetic Web, compared with its ground truth and its request log.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod carry_over;
mod control;
mod freshness;
mod ground_truth;
mod import;
mod lying_worker;
mod polling;
mod revisits;
mod scripted;
mod strategies;
mod traps;
mod web;
mod years;
