//! How many connections has one client? So many, and no more: others want to be answered, too.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections of one client; half of all, so that nobody can have all of them.
pub(crate) const MOST_PER_CLIENT: usize = 128;

/// Those who have connections.
#[derive(Default)]
pub(crate) struct Clients(Mutex<HashMap<IpAddr, usize>>);

/// A connection of a client; it counts until this is gone.
pub(crate) struct Client {
    clients: Arc<Clients>,
    network: IpAddr,
}

impl Clients {
    /// One more connection of an address, if it may have one.
    pub(crate) fn enter(self: &Arc<Clients>, address: IpAddr) -> Option<Client> {
        let network = network(address);
        let mut connections = self.connections();
        let own = connections.entry(network).or_default();
        if *own >= MOST_PER_CLIENT {
            return None;
        }
        *own += 1;
        Some(Client { clients: Arc::clone(self), network })
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut connections = self.clients.connections();
        if let Some(own) = connections.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                connections.remove(&self.network);
            }
        }
    }
}

/// Who has one address of IPv6 has the 2^64 beside it, too.
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
    fn a_client_has_so_many_and_others_have_their_own() {
        let clients = Arc::new(Clients::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut held: Vec<Client> =
            (0..MOST_PER_CLIENT).map(|_| clients.enter(address("10.0.0.1")).unwrap()).collect();
        assert!(clients.enter(address("10.0.0.1")).is_none());
        assert!(clients.enter(address("::ffff:10.0.0.1")).is_none(), "the same written otherwise");
        assert!(clients.enter(address("10.0.0.2")).is_some());
        held.pop();
        assert!(clients.enter(address("10.0.0.1")).is_some());
        drop(held);
        assert!(clients.connections().is_empty(), "nobody is remembered for ever");
    }

    #[test]
    fn neighbours_are_one_client_in_version_6_alone() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
    }
}
