//! Tests of the broker and the blob store against a real NATS server and a real S3 server, which are killed and restarted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]
#![allow(clippy::print_stderr, reason = "a skipped test prints why")]

mod access;
mod batches;
mod blob_stores;
mod control;
mod logs;
mod nats_server;
mod outages;
mod proxy;
mod s3_server;
mod venv {
    //! Python tools for the tests of this crate.
    #![allow(unused_imports, reason = "not every test uses both")]

    pub(crate) use testkit::run;

    pub(crate) fn venv() -> Option<std::path::PathBuf> {
        testkit::venv(env!("CARGO_MANIFEST_DIR"))
    }
}
