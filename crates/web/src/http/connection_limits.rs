//! Limit on the connections of one client, so that no client can use all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of connections of one client: half of all.
pub(crate) const MAX_CONNECTIONS_PER_CLIENT: usize = 128;

/// Numbers of open connections by client network.
#[derive(Default)]
pub(crate) struct ConnectionLimits(Mutex<HashMap<IpAddr, usize>>);

/// Permit for one connection; released on drop.
pub(crate) struct ConnectionPermit {
    limits: Arc<ConnectionLimits>,
    network: IpAddr,
}

impl ConnectionLimits {
    /// Returns a permit for another connection of an IP address; `None` at the limit.
    pub(crate) fn acquire(self: &Arc<ConnectionLimits>, address: IpAddr) -> Option<ConnectionPermit> {
        let network = network(address);
        let mut connections = self.connections();
        let own = connections.entry(network).or_default();
        if *own >= MAX_CONNECTIONS_PER_CLIENT {
            return None;
        }
        *own += 1;
        Some(ConnectionPermit { limits: Arc::clone(self), network })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut connections = self.limits.connections();
        if let Some(own) = connections.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                connections.remove(&self.network);
            }
        }
    }
}

/// The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, since a client usually owns all of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
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
        assert!(limits.acquire(ip("10.0.0.2")).is_some());
        held.pop();
        assert!(limits.acquire(ip("10.0.0.1")).is_some());
        drop(held);
        assert!(limits.connections().is_empty(), "clients without connections are removed");
    }

    #[test]
    fn a_client_is_an_ipv6_network_or_an_ipv4_address() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
    }
}
