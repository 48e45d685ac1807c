//! Tests of searching: small collections are indexed and searched.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod conditions;
mod ranking;
mod results;
mod sample;
mod test_collections;
mod words;
