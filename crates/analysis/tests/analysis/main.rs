//! Are the graph, the ranks and the structure what they should be? By collections whose links are known, by the tools of
//! others, by a graph of others, and by a Web whose truth is known.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod cnr_2000;
mod graph;
mod networkx;
mod sample;
mod similarity;
mod simweb;
mod statistics;
mod survey;
mod tables;
#[path = "../../../store/tests/python/venv.rs"]
mod venv;
