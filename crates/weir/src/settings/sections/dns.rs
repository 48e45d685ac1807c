//! Name resolution.

use std::time::Duration;

use super::{DAY, MINUTE, SECOND};
use crate::settings::network_values::{HostMap, NameServer};
use crate::settings::section::section;

section! {
    /// Name resolution.
    "dns", DnsSection {
        /// Name servers; empty = those of the system.
        servers: Vec<NameServer> = Vec::new(), wire "harvester/resolvconf";
        /// Maximum number of concurrent queries.
        max_concurrent_queries: u32 = 100, within 1..=10_000;
        /// Maximum number of queries per second.
        max_queries_per_second: u32 = 500, within 1..=1_000_000;
        /// Timeout per query.
        timeout: Duration = 5 * SECOND, within SECOND..=MINUTE;
        /// Maximum number of attempts per query.
        max_attempts: u8 = 2, within 1..=20;
        /// Lower bound of the cache lifetime of an address, also if the TTL of its record is shorter.
        min_ttl: Duration = 10 * MINUTE, within Duration::ZERO..=(30 * DAY);
        /// Upper bound of the cache lifetime of an address.
        max_ttl: Duration = DAY, within SECOND..=(30 * DAY);
        /// Cache lifetime of failed lookups (NXDOMAIN, SERVFAIL, timeout).
        negative_ttl: Duration = 10 * MINUTE, within SECOND..=(30 * DAY);
        /// Maximum number of names in the cache.
        max_cache_entries: u32 = 200_000, within 1..=100_000_000;
        /// Static addresses of hosts, used instead of DNS: { "www.example.org" = "192.0.2.7" }.
        hosts: HostMap = HostMap::default();
    }
}
