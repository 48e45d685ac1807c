//! Test support shared by the crates of this repository: conformance data, external tools and servers.
//!
//! A test that cannot run fails. With the environment variable `WEIR_ALLOW_SKIP` it is skipped instead, for machines that
//! lack a tool, a privilege or a data set; see [`skip()`].
#![allow(clippy::unwrap_used, reason = "a test that cannot be prepared fails")]

mod data;
#[cfg(feature = "collections")]
pub mod index_dump;
mod nats_server;
mod python;
mod s3_server;
mod skip;
mod small_disk;
#[cfg(feature = "collections")]
pub mod text_collection;
mod wait;

pub use data::{data, shared_data};
pub use nats_server::NatsServer;
pub use python::{run, venv};
pub use s3_server::{S3_KEY_ID, S3_REGION, S3_SECRET_KEY, S3Server};
pub use skip::skip;
pub use small_disk::SmallDisk;
pub use wait::wait_for;
