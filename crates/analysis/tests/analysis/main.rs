//! Tests of the graph, the ranks and the structure: on collections with known links, against other tools, on a public
//! graph, and on a synthetic Web with ground truth.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod cnr_2000;
mod graph;
mod networkx;
mod sample;
mod similarity;
mod simweb;
mod statistics;
mod table_scan;
mod tables;
mod venv {
    //! Python tools for the tests of this crate.
    #![allow(unused_imports, reason = "not every test uses both")]

    pub(crate) use testkit::run;

    pub(crate) fn venv() -> Option<std::path::PathBuf> {
        testkit::venv(env!("CARGO_MANIFEST_DIR"))
    }
}
