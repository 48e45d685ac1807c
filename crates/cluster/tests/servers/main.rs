//! Are messages and objects carried as promised by the servers that users run? A real NATS server and a real server of S3, on
//! ports of their own, killed and started again in between.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod access;
mod batches;
mod depots;
mod logs;
mod nats_server;
mod orders;
mod outages;
mod proxy;
mod s3_server;
#[path = "../../../store/tests/python/venv.rs"]
#[allow(dead_code, reason = "others run its tools")]
mod venv;
mod waiting;
