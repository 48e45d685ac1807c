//! Fault injection: kills, aborts at each step of a commit, a full disk, and histories on a simulated disk.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]
#![allow(clippy::print_stdout, reason = "a failed history prints its seed and its steps")]

mod file_access;
mod full_disk;
mod histories;
mod kills;
mod rounds;
mod single_faults;
