//! Waiting for a condition, and free ports.

use std::time::{Duration, Instant};

const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Polls until there is a value and returns it; `name` describes the value in the error message.
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

/// Ports outside of the range from which Linux takes the ports of outgoing connections (32768 and above), so that a
/// connection of another test cannot take one between this check and the start of a server.
const SERVER_PORTS: std::ops::Range<u16> = 12_000..32_000;

/// Returns different loopback ports without a listener.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), count);
    let start = (random % SERVER_PORTS.len() as u64) as usize;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    SERVER_PORTS.cycle().skip(start).take(SERVER_PORTS.len()).filter(is_free).take(count).collect()
}

/// Returns a loopback port without a listener.
pub(crate) fn free_port() -> u16 {
    free_ports(1)[0]
}
