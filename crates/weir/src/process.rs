//! What time is it, what does this process use, and how wide is its terminal?

use std::os::fd::AsFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// The time, in Unix milliseconds.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

/// Time that all cores together have spent on this process.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Columns of the terminal behind a stream; `None` if there is none.
pub(crate) fn terminal_columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // Some terminals do not know their size.
    Some(if size.ws_col == 0 { 80 } else { usize::from(size.ws_col) })
}
