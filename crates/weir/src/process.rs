//! What does this process use, and how wide is its terminal?

use std::fs;
use std::os::fd::AsFd;

use rustix::time::{ClockId, clock_gettime};

/// Time that all cores together have spent on this process.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Memory that this process occupies; `None` where the system does not tell.
pub(crate) fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Columns of the terminal behind a stream; `None` if there is none.
pub(crate) fn terminal_columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // Some terminals do not know their size.
    Some(if size.ws_col == 0 { 80 } else { usize::from(size.ws_col) })
}
