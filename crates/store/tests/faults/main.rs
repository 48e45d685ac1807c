//! What survives when something goes wrong: kills, stops at each step of a commit, a full disk.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod full_disk;
mod kills;
mod rounds;
