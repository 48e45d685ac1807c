//! Files of a collection, read by this crate and by independent tools.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test helpers may panic")]

mod page_stream;
mod tables;
mod warc;
