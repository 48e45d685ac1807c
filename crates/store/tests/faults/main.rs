//! Fault injection: kills, aborts at each step of a commit, and a full disk.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

mod full_disk;
mod kills;
mod rounds;
