//! Faults of this machine and of what it depends on, as opposed to faults of a server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::Reason;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Time for which an address family that worked before may be without a route while the other one has a route. After it the
/// family is regarded as gone for good, so that sites with such addresses only do not wait for ever.
const MAX_FAMILY_OUTAGE: Duration = Duration::from_secs(300);

/// Fault of this machine, its network, its name server or its proxy. It says nothing about the requested site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LocalFault {
    /// The process or the system has no file descriptor left (EMFILE, ENFILE).
    TooManyOpenFiles,
    /// The system has no memory for a connection (ENOMEM, ENOBUFS).
    OutOfMemory,
    /// No local port is free (EADDRNOTAVAIL).
    NoLocalPort,
    /// This machine has no route to the Internet (ENETUNREACH, ENETDOWN).
    NetworkUnreachable,
    /// No server responds, not even those that responded before. A fetcher sees one request at a time and never reports
    /// this: its caller does.
    NetworkOutage,
    /// No name server responds, or it fails for every name.
    NameServerUnavailable,
    /// The proxy cannot be reached.
    ProxyUnavailable,
    /// The proxy rejects the credentials, or requires some (HTTP 407).
    ProxyAuthentication,
}

impl LocalFault {
    /// Name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            LocalFault::TooManyOpenFiles => "too_many_open_files",
            LocalFault::OutOfMemory => "out_of_memory",
            LocalFault::NoLocalPort => "no_local_port",
            LocalFault::NetworkUnreachable => "network_unreachable",
            LocalFault::NetworkOutage => "network_outage",
            LocalFault::NameServerUnavailable => "name_server_unavailable",
            LocalFault::ProxyUnavailable => "proxy_unavailable",
            LocalFault::ProxyAuthentication => "proxy_authentication",
        }
    }

    /// Remedy that a user can try.
    pub fn hint(self) -> &'static str {
        match self {
            LocalFault::TooManyOpenFiles => "raise the limit (ulimit -n) or lower crawl.max_connections",
            LocalFault::OutOfMemory => "free memory or lower crawl.max_connections",
            LocalFault::NoLocalPort => "lower crawl.max_connections or widen net.ipv4.ip_local_port_range",
            LocalFault::NetworkUnreachable | LocalFault::NetworkOutage => "check the network connection",
            LocalFault::NameServerUnavailable => "check the name server (dns.servers or /etc/resolv.conf)",
            LocalFault::ProxyUnavailable => "check fetch.proxy",
            LocalFault::ProxyAuthentication => "check the user name and password of fetch.proxy",
        }
    }

    /// Fault of a descriptor, memory or port that is missing, from the error of a system call.
    pub(crate) fn from_resource_error(error: &io::Error) -> Option<LocalFault> {
        match Errno::from_io_error(error)? {
            Errno::MFILE | Errno::NFILE => Some(LocalFault::TooManyOpenFiles),
            Errno::NOMEM | Errno::NOBUFS => Some(LocalFault::OutOfMemory),
            _ => None,
        }
    }
}

impl std::fmt::Display for LocalFault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            LocalFault::TooManyOpenFiles => "too many open files",
            LocalFault::OutOfMemory => "no memory for connections",
            LocalFault::NoLocalPort => "no free local port",
            LocalFault::NetworkUnreachable => "network is unreachable",
            LocalFault::NetworkOutage => "no server responds",
            LocalFault::NameServerUnavailable => "name server does not respond",
            LocalFault::ProxyUnavailable => "proxy does not respond",
            LocalFault::ProxyAuthentication => "proxy requires authentication (HTTP 407)",
        })
    }
}

/// Failure of a lookup, a connection or an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Failure that is attributed to the site.
    Site(Reason),
    /// Failure of this machine.
    Local(LocalFault),
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure::Site(reason)
    }
}

/// Classifier of connection errors. It remembers which address families have worked.
#[derive(Debug, Default)]
pub(crate) struct ConnectErrors {
    ipv4: Mutex<FamilyState>,
    ipv6: Mutex<FamilyState>,
}

/// State of an address family.
#[derive(Debug, Default)]
struct FamilyState {
    has_worked: bool,
    /// Time of the first failure without a route since the last connection.
    no_route_since: Option<Instant>,
}

impl ConnectErrors {
    /// Records an open connection.
    pub(crate) fn connected(&self, address: IpAddr) {
        *self.family(address) = FamilyState { has_worked: true, no_route_since: None };
    }

    /// Local fault that caused the error of a connection to `address`; `None` if the network or the server caused it.
    pub(crate) fn local_fault(&self, error: &io::Error, address: SocketAddr) -> Option<LocalFault> {
        self.classify(error, address, has_route, Instant::now())
    }

    fn classify(
        &self,
        error: &io::Error,
        address: SocketAddr,
        has_route: impl Fn(SocketAddr) -> Result<bool, LocalFault>,
        now: Instant,
    ) -> Option<LocalFault> {
        let resource = LocalFault::from_resource_error(error);
        if resource.is_some() {
            return resource;
        }
        let errno = Errno::from_io_error(error)?;
        if !matches!(errno, Errno::ADDRNOTAVAIL | Errno::NETUNREACH | Errno::NETDOWN) {
            return None;
        }
        // A router can report an unreachable network, too (ICMP), and some addresses, such as 255.255.255.255, never
        // accept a connection: only a missing route of this machine is a local fault.
        match (has_route(address), errno) {
            (Err(fault), _) => Some(fault),
            (Ok(true), Errno::ADDRNOTAVAIL) => Some(LocalFault::NoLocalPort),
            (Ok(true), Errno::NETDOWN) => Some(LocalFault::NetworkUnreachable),
            (Ok(true), _) => None,
            // A machine that never had IPv6 cannot reach sites with IPv6 addresses only, and need not wait for it.
            (Ok(false), _) => match has_route(other_family(address)) {
                Err(fault) => Some(fault),
                Ok(false) => Some(LocalFault::NetworkUnreachable),
                Ok(true) => self.family(address.ip()).is_lost(now).then_some(LocalFault::NetworkUnreachable),
            },
        }
    }

    fn family(&self, address: IpAddr) -> MutexGuard<'_, FamilyState> {
        let family = if address.to_canonical().is_ipv4() { &self.ipv4 } else { &self.ipv6 };
        family.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FamilyState {
    /// Whether the family worked before and may work again soon; `now` is the time of a failure without a route.
    fn is_lost(&mut self, now: Instant) -> bool {
        let since = *self.no_route_since.get_or_insert(now);
        self.has_worked && now.saturating_duration_since(since) < MAX_FAMILY_OUTAGE
    }
}

/// Fault that prevents sending a datagram to an address. Nothing is sent.
pub(crate) fn udp_fault(address: SocketAddr) -> Option<LocalFault> {
    let error = connect_udp(address).err()?;
    ConnectErrors::default().local_fault(&error, address)
}

/// Whether this machine has a route to an address; the fault if a missing resource prevents the check.
fn has_route(address: SocketAddr) -> Result<bool, LocalFault> {
    let Err(error) = connect_udp(address) else { return Ok(true) };
    if let Some(fault) = LocalFault::from_resource_error(&error) {
        return Err(fault);
    }
    // Other errors, such as EACCES for a broadcast address, are not about routes.
    Ok(Errno::from_io_error(&error).is_none_or(|errno| {
        !matches!(errno, Errno::NETUNREACH | Errno::NETDOWN | Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT)
    }))
}

/// Connects a UDP socket, which looks up the route but sends no packet.
fn connect_udp(address: SocketAddr) -> io::Result<()> {
    let unspecified = match address.ip() {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    UdpSocket::bind((unspecified, 0))?.connect(address)
}

/// Address of the other family that the default route covers: of the documentation ranges (RFC 5737, RFC 3849).
fn other_family(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(_) => IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
        IpAddr::V6(_) => IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classifies an error on this machine.
    fn classify(errno: Errno, address: &str) -> Option<LocalFault> {
        ConnectErrors::default().local_fault(&errno.into(), address.parse().unwrap())
    }

    #[test]
    fn missing_resources_are_local_faults_for_every_address() {
        for address in ["127.0.0.1:80", "[::1]:80", "203.0.113.1:80"] {
            assert_eq!(classify(Errno::MFILE, address), Some(LocalFault::TooManyOpenFiles));
            assert_eq!(classify(Errno::NFILE, address), Some(LocalFault::TooManyOpenFiles));
            assert_eq!(classify(Errno::NOBUFS, address), Some(LocalFault::OutOfMemory));
            assert_eq!(classify(Errno::NOMEM, address), Some(LocalFault::OutOfMemory));
        }
    }

    #[test]
    fn a_refused_reset_or_unreachable_host_is_no_local_fault() {
        use Errno as E;
        for errno in [E::CONNREFUSED, E::CONNRESET, E::HOSTUNREACH, E::TIMEDOUT, E::ACCESS] {
            assert_eq!(classify(errno, "127.0.0.1:80"), None, "{errno:?}");
        }
    }

    #[test]
    fn an_unreachable_network_with_a_route_is_no_local_fault() {
        // There is always a route to loopback: a router, or a special address, is the cause.
        assert_eq!(classify(Errno::NETUNREACH, "127.0.0.1:80"), None);
        assert_eq!(classify(Errno::NETUNREACH, "255.255.255.255:80"), None);
        assert_eq!(classify(Errno::NETDOWN, "127.0.0.1:80"), Some(LocalFault::NetworkUnreachable));
        assert_eq!(classify(Errno::ADDRNOTAVAIL, "127.0.0.1:80"), Some(LocalFault::NoLocalPort));
    }

    #[test]
    fn without_a_route_the_network_is_down_unless_only_the_other_address_family_ever_worked() {
        let unreachable = io::Error::from(Errno::NETUNREACH);
        let addresses: [SocketAddr; 2] =
            ["198.51.100.1:80".parse().unwrap(), "[2001:db8::7]:80".parse().unwrap()];
        for address in addresses {
            let (errors, start) = (ConnectErrors::default(), Instant::now());
            let at = |is_other_usable: bool, now| {
                let has_route = |target: SocketAddr| Ok(is_other_usable && target.ip() != address.ip());
                errors.classify(&unreachable, address, has_route, now)
            };
            let local_fault = |is_other_usable| at(is_other_usable, start);
            assert_eq!(local_fault(false), Some(LocalFault::NetworkUnreachable), "no route at all");
            assert_eq!(local_fault(true), None, "this machine has only the other family");
            errors.connected(address.ip());
            assert_eq!(local_fault(true), Some(LocalFault::NetworkUnreachable), "it worked before");
            assert_eq!(at(true, start + MAX_FAMILY_OUTAGE), None, "it is gone for good");
            assert_eq!(at(false, start + MAX_FAMILY_OUTAGE), Some(LocalFault::NetworkUnreachable));
            errors.connected(address.ip());
            assert_eq!(at(true, start + MAX_FAMILY_OUTAGE), Some(LocalFault::NetworkUnreachable));
        }
    }

    #[test]
    fn a_missing_descriptor_during_the_check_of_the_route_is_the_fault() {
        let (errors, address) = (ConnectErrors::default(), "[2001:db8::7]:80".parse().unwrap());
        let has_route = |_| Err(LocalFault::TooManyOpenFiles);
        let fault = errors.classify(&Errno::NETUNREACH.into(), address, has_route, Instant::now());
        assert_eq!(fault, Some(LocalFault::TooManyOpenFiles));
    }
}
