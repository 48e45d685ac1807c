//! Limit on the connections of one client, so that no client can use all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::AddressGroup;

/// Maximum number of connections of one client: half of all.
pub const MAX_CONNECTIONS_PER_CLIENT: usize = 128;

/// Numbers of open connections by client network.
#[derive(Debug, Default)]
pub struct ConnectionLimits(Mutex<HashMap<AddressGroup, usize>>);

/// Permit for one connection; released on drop.
#[derive(Debug)]
pub struct ConnectionPermit {
    limits: Arc<ConnectionLimits>,
    client: AddressGroup,
}

impl ConnectionLimits {
    /// Returns a permit for another connection of an IP address; `None` at the limit.
    pub fn acquire(self: &Arc<ConnectionLimits>, address: IpAddr) -> Option<ConnectionPermit> {
        let client = AddressGroup::from(address);
        let mut connections = self.connections();
        let own = connections.entry(client).or_default();
        if *own >= MAX_CONNECTIONS_PER_CLIENT {
            return None;
        }
        *own += 1;
        Some(ConnectionPermit { limits: Arc::clone(self), client })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<AddressGroup, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut connections = self.limits.connections();
        if let Some(own) = connections.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                connections.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_limit() {
        let limits = Arc::new(ConnectionLimits::default());
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut held: Vec<ConnectionPermit> =
            (0..MAX_CONNECTIONS_PER_CLIENT).map(|_| limits.acquire(ip("10.0.0.1")).unwrap()).collect();
        assert!(limits.acquire(ip("10.0.0.1")).is_none());
        assert!(limits.acquire(ip("::ffff:10.0.0.1")).is_none(), "the same address mapped to IPv6");
        let ipv6 = limits.acquire(ip("2001:db8::1")).unwrap();
        assert_eq!(*limits.connections().get(&ip("2001:db8::2").into()).unwrap(), 1, "one client owns a /64");
        drop(ipv6);
        assert!(limits.acquire(ip("10.0.0.2")).is_some());
        held.pop();
        assert!(limits.acquire(ip("10.0.0.1")).is_some());
        drop(held);
        assert!(limits.connections().is_empty(), "clients without connections are removed");
    }
}
