//! Table of the open connections of a server: limits in total and by client, and room for new clients when it is full.
//!
//! A connection is idle while no request is in progress on it: before the first request head is complete, and between two
//! requests. When all connections are taken, a new one replaces an idle one of the client with the most connections, so that
//! connections without requests cannot keep other clients out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use model::AddressGroup;

/// Maximum number of open connections of a server.
const MAX_CONNECTIONS: usize = 256;
/// Maximum number of connections of one client: half of all.
const MAX_CONNECTIONS_PER_CLIENT: usize = 128;
/// Maximum number of connections including replaced ones that have not closed yet.
const MAX_SOCKETS: usize = 2 * MAX_CONNECTIONS;

/// Reason to refuse a connection for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionRefusal {
    /// The client has its share of the connections.
    #[error(
        "too many connections from this client (maximum {MAX_CONNECTIONS_PER_CLIENT}); close some and retry"
    )]
    ClientLimit,
    /// A request is in progress on every connection.
    #[error("all {MAX_CONNECTIONS} connections are busy; retry later")]
    ServerLimit,
}

/// Open connections of a server by age.
#[derive(Debug, Default)]
pub struct ConnectionTable(Mutex<Connections>);

#[derive(Debug, Default)]
struct Connections {
    by_number: BTreeMap<u64, TableEntry>,
    next_number: u64,
}

#[derive(Debug)]
struct TableEntry {
    client: AddressGroup,
    activity: ConnectionActivity,
}

/// Requests in progress on a connection, and whether it is to be closed.
#[derive(Debug, Clone, Default)]
pub struct ConnectionActivity(Arc<ActivityState>);

#[derive(Debug, Default)]
struct ActivityState {
    requests: AtomicUsize,
    is_replaced: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// Request in progress; it ends on drop.
#[derive(Debug)]
pub struct ActiveRequest(Arc<ActivityState>);

/// Permit for one connection; released on drop.
#[derive(Debug)]
pub struct ConnectionPermit {
    table: Arc<ConnectionTable>,
    number: u64,
    activity: ConnectionActivity,
}

impl ConnectionTable {
    /// Returns a permit for another connection of an IP address.
    pub fn acquire(
        self: &Arc<ConnectionTable>,
        address: IpAddr,
    ) -> Result<ConnectionPermit, ConnectionRefusal> {
        let client = AddressGroup::from(address);
        let mut connections = self.connections();
        let by_client = connections.count_by_client();
        if by_client.get(&client).is_some_and(|own| *own >= MAX_CONNECTIONS_PER_CLIENT) {
            return Err(ConnectionRefusal::ClientLimit);
        }
        let is_full = by_client.values().sum::<usize>() >= MAX_CONNECTIONS;
        if connections.by_number.len() >= MAX_SOCKETS || (is_full && !connections.replace_idle(&by_client)) {
            return Err(ConnectionRefusal::ServerLimit);
        }
        let (number, activity) = (connections.next_number, ConnectionActivity::default());
        connections.next_number += 1;
        connections.by_number.insert(number, TableEntry { client, activity: activity.clone() });
        Ok(ConnectionPermit { table: Arc::clone(self), number, activity })
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    /// Numbers of connections by client, without those that are about to close.
    fn count_by_client(&self) -> HashMap<AddressGroup, usize> {
        let mut counts = HashMap::new();
        for entry in self.by_number.values().filter(|entry| !entry.activity.is_replaced()) {
            *counts.entry(entry.client).or_default() += 1;
        }
        counts
    }

    /// Replaces the oldest idle connection of the client with the most connections; `false` if none is idle.
    fn replace_idle(&self, by_client: &HashMap<AddressGroup, usize>) -> bool {
        let idle = self.by_number.values().rev().filter(|entry| entry.activity.is_idle());
        // The last of several maxima, which is the oldest.
        let replaced = idle.max_by_key(|entry| by_client.get(&entry.client));
        replaced.inspect(|entry| entry.activity.replace()).is_some()
    }
}

impl ConnectionActivity {
    /// Marks the connection as busy until the returned value is dropped.
    pub fn begin_request(&self) -> ActiveRequest {
        self.0.requests.fetch_add(1, SeqCst);
        ActiveRequest(Arc::clone(&self.0))
    }

    /// Waits until the connection is to be closed, because it was replaced while idle.
    pub fn poll_replaced(&self, context: &mut Context<'_>) -> Poll<()> {
        *self.waker() = Some(context.waker().clone());
        if !self.is_replaced() {
            return Poll::Pending;
        }
        if self.0.requests.load(SeqCst) == 0 {
            return Poll::Ready(());
        }
        // A request began at the same moment, so the connection stays.
        self.0.is_replaced.store(false, SeqCst);
        Poll::Pending
    }

    fn is_replaced(&self) -> bool {
        self.0.is_replaced.load(SeqCst)
    }

    fn is_idle(&self) -> bool {
        !self.is_replaced() && self.0.requests.load(SeqCst) == 0
    }

    fn replace(&self) {
        self.0.is_replaced.store(true, SeqCst);
        if let Some(waker) = self.waker().take() {
            waker.wake();
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, SeqCst);
    }
}

impl ConnectionPermit {
    /// Activity of the connection.
    pub fn activity(&self) -> &ConnectionActivity {
        &self.activity
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.table.connections().by_number.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_replaced(permit: &ConnectionPermit) -> bool {
        permit.activity().poll_replaced(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// All connections of a server, `per_client` of each client.
    fn fill(table: &Arc<ConnectionTable>, per_client: usize) -> Vec<ConnectionPermit> {
        let address = |number: usize| IpAddr::from([10, 1, 0, u8::try_from(number / per_client).unwrap()]);
        (0..MAX_CONNECTIONS).map(|number| table.acquire(address(number)).unwrap()).collect()
    }

    #[test]
    fn each_client_has_its_own_limit() {
        let table = Arc::new(ConnectionTable::default());
        let mut held: Vec<ConnectionPermit> =
            (0..MAX_CONNECTIONS_PER_CLIENT).map(|_| table.acquire(ip("10.0.0.1")).unwrap()).collect();
        assert_eq!(table.acquire(ip("10.0.0.1")).unwrap_err(), ConnectionRefusal::ClientLimit);
        let mapped = table.acquire(ip("::ffff:10.0.0.1"));
        assert_eq!(mapped.unwrap_err(), ConnectionRefusal::ClientLimit, "the same address mapped to IPv6");
        let ipv6 = table.acquire(ip("2001:db8::1")).unwrap();
        let by_client = table.connections().count_by_client();
        assert_eq!(by_client.get(&ip("2001:db8::2").into()), Some(&1), "one client owns a /64");
        drop(ipv6);
        assert!(table.acquire(ip("10.0.0.2")).is_ok());
        held.pop();
        assert!(table.acquire(ip("10.0.0.1")).is_ok());
        drop(held);
        assert!(table.connections().by_number.is_empty());
    }

    #[test]
    fn a_full_server_replaces_the_oldest_idle_connection_of_the_largest_client() {
        let table = Arc::new(ConnectionTable::default());
        let mut held = fill(&table, 8);
        held.remove(0);
        held.push(table.acquire(ip("10.2.0.1")).unwrap());
        let busy = held[7].activity().begin_request();
        let new = table.acquire(ip("10.2.0.2")).unwrap();
        // The first client has only seven connections, and the first one of the second client is busy.
        let replaced: Vec<usize> = (0..held.len()).filter(|number| is_replaced(&held[*number])).collect();
        assert_eq!(replaced, [8]);
        drop((busy, new));
        assert!(table.acquire(ip("10.2.0.3")).is_ok(), "there is room again");
    }

    #[test]
    fn a_server_with_a_request_on_each_connection_refuses_more() {
        let table = Arc::new(ConnectionTable::default());
        let held = fill(&table, 8);
        let mut busy: Vec<ActiveRequest> =
            held.iter().map(|permit| permit.activity().begin_request()).collect();
        assert_eq!(table.acquire(ip("10.2.0.1")).unwrap_err(), ConnectionRefusal::ServerLimit);
        busy.pop();
        assert!(table.acquire(ip("10.2.0.1")).is_ok());
        // A request that begins before the connection is closed keeps it open.
        let late = held[MAX_CONNECTIONS - 1].activity().begin_request();
        assert!(!is_replaced(&held[MAX_CONNECTIONS - 1]));
        drop(late);
        assert!(!is_replaced(&held[MAX_CONNECTIONS - 1]));
    }

    #[test]
    fn the_number_of_sockets_is_limited_while_replaced_connections_close() {
        let table = Arc::new(ConnectionTable::default());
        let address = |number: usize| IpAddr::from([10, 1, (number >> 8) as u8, number as u8]);
        let held: Vec<_> = (0..MAX_SOCKETS).map(|number| table.acquire(address(number)).unwrap()).collect();
        assert_eq!(table.acquire(ip("10.2.0.1")).unwrap_err(), ConnectionRefusal::ServerLimit);
        drop(held);
        assert!(table.acquire(ip("10.2.0.1")).is_ok());
    }
}
