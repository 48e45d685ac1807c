//! Settings of the DNS resolver.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Settings of a [`Resolver`](crate::Resolver).
#[derive(Debug, Clone)]
pub struct DnsSettings {
    /// Name servers, queried by UDP, and by TCP if the response is truncated. Empty = hosts file and name servers of
    /// the system.
    pub name_servers: Vec<SocketAddr>,
    /// Static addresses by host name; these names are never queried.
    pub hosts: HashMap<String, IpAddr>,
    /// Timeout of one query to one server.
    pub timeout: Duration,
    /// Maximum number of attempts per query.
    pub max_attempts: usize,
    /// Minimum lifetime of a cached address; overrides a shorter TTL of the record.
    pub min_ttl: Duration,
    /// Maximum lifetime of a cached address.
    pub max_ttl: Duration,
    /// Lifetime of a cached failure: no such host, or no usable response.
    pub negative_ttl: Duration,
    /// Maximum number of host names in the cache.
    pub max_cache_entries: usize,
}

impl Default for DnsSettings {
    fn default() -> DnsSettings {
        DnsSettings {
            name_servers: Vec::new(),
            hosts: HashMap::new(),
            timeout: Duration::from_secs(5),
            max_attempts: 2,
            min_ttl: Duration::from_secs(600),
            max_ttl: Duration::from_secs(86_400),
            negative_ttl: Duration::from_secs(600),
            max_cache_entries: 200_000,
        }
    }
}
