//! Crawls of the synthetic Web, compared with its truth and with its request log.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod freshness;
mod ground_truth;
mod helm;
mod heritage;
mod strategies;
mod visits;
mod web;
