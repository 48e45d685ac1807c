//! The simulated Web: its pages, its servers and its ground truth.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]

mod server;
mod shares;
mod support;
mod tls;
mod walk;
mod world;
