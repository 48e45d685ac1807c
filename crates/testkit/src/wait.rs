//! Waiting for a condition, and free ports.

use std::time::{Duration, Instant};

const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value and returns it; `name` says what is waited for.
///
/// # Panics
/// After a minute without a value.
pub fn wait_for<T>(name: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = poll() {
            return value;
        }
        assert!(started.elapsed() < WAIT_TIMEOUT, "timeout after {WAIT_TIMEOUT:?}: {name}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns a loopback port without a listener.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
