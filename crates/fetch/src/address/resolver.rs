//! DNS resolver with a cache, for the configured name servers or those of the system.
//!
//! It returns every address, allowed or not: the network filter is applied when the connection is opened.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use model::Reason;

use crate::address::dns_settings::DnsSettings;
use crate::error::Error;

/// Lifetime of results that need no name server: IP addresses and configured hosts.
const STATIC_TTL: Duration = Duration::from_secs(365 * 86_400);
/// Maximum number of addresses stored per host.
const MAX_ADDRESSES_PER_HOST: usize = 8;

/// Looks up the addresses of hosts. To be used within one Tokio runtime.
pub struct Resolver {
    client: TokioResolver,
    settings: DnsSettings,
    cache: Mutex<DnsCache>,
}

/// Addresses of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedHost {
    /// IP addresses, at least one.
    pub addresses: Vec<IpAddr>,
    /// End of validity, in Unix milliseconds.
    pub expires_ms: u64,
}

impl Resolver {
    /// Creates a resolver with these settings.
    pub fn new(settings: &DnsSettings) -> Result<Resolver, Error> {
        let failed = |error: NetError| Error::Resolver(error.to_string());
        let is_system = settings.name_servers.is_empty();
        let mut builder = if is_system {
            TokioResolver::builder_tokio().map_err(failed)?
        } else {
            let servers = settings.name_servers.iter().map(|address| name_server(*address)).collect();
            let config = ResolverConfig::from_name_servers(servers);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        set_options(builder.options_mut(), settings, is_system);
        let client = builder.build().map_err(failed)?;
        let cache = Mutex::new(DnsCache::new(settings.max_cache_entries));
        let mut settings = settings.clone();
        settings.hosts =
            settings.hosts.into_iter().map(|(name, address)| (normalize_host(&name), address)).collect();
        Ok(Resolver { client, settings, cache })
    }

    /// Looks up a host as written in a URL: a name, an IPv4 address, or an IPv6 address in brackets. `now_ms` is Unix
    /// time.
    pub async fn resolve(&self, host: &str, now_ms: u64) -> Result<ResolvedHost, Reason> {
        let name = normalize_host(host);
        if let Some(address) = name.parse().ok().or_else(|| self.settings.hosts.get(&name).copied()) {
            return Ok(ResolvedHost { addresses: vec![address], expires_ms: now_ms + millis(STATIC_TTL) });
        }
        if let Some(cached) = self.cache().get(&name, now_ms) {
            return cached;
        }
        let (outcome, ttl) = self.query(&name).await;
        let expires_ms = now_ms + millis(ttl);
        self.cache().put(name, CacheEntry { outcome: outcome.clone(), expires_ms });
        outcome.map(|addresses| ResolvedHost { addresses, expires_ms })
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, DnsCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queries the name servers; the second value is the lifetime of the result.
    async fn query(&self, name: &str) -> (Result<Vec<IpAddr>, Reason>, Duration) {
        let DnsSettings { min_ttl, max_ttl, negative_ttl, .. } = self.settings;
        // The final dot prevents the search domains of the system from being appended. An invalid name cannot exist.
        let Ok(name) = Name::from_ascii(format!("{name}.")) else {
            return (Err(Reason::DnsNotFound), negative_ttl);
        };
        match self.client.lookup_ip(name).await {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(Instant::now());
                let addresses: Vec<IpAddr> = found.iter().take(MAX_ADDRESSES_PER_HOST).collect();
                if addresses.is_empty() {
                    return (Err(Reason::DnsNotFound), negative_ttl);
                }
                (Ok(addresses), ttl.max(min_ttl).min(max_ttl))
            }
            Err(error) if error.is_no_records_found() => (Err(Reason::DnsNotFound), negative_ttl),
            Err(_) => (Err(Reason::DnsFailed), negative_ttl),
        }
    }
}

/// Host in lower case, without brackets and final dot.
fn normalize_host(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.to_vec())
}

fn set_options(options: &mut ResolverOpts, settings: &DnsSettings, is_system: bool) {
    options.timeout = settings.timeout;
    options.attempts = settings.max_attempts;
    options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
    options.use_hosts_file = if is_system { ResolveHosts::Always } else { ResolveHosts::Never };
    // One server at a time; the others are used when it does not respond.
    options.num_concurrent_reqs = 1;
    // `DnsCache` replaces the cache of the library: it takes the time as an argument and caches failures too.
    options.cache_size = 0;
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

struct CacheEntry {
    outcome: Result<Vec<IpAddr>, Reason>,
    expires_ms: u64,
}

/// Cache of lookups in two generations. When the new generation is full it becomes the old one, and the previous old
/// one is dropped; a lookup moves its entry to the new generation. This bounds the size and keeps entries that are used.
struct DnsCache {
    new: HashMap<String, CacheEntry>,
    old: HashMap<String, CacheEntry>,
    max_half_entries: usize,
}

impl DnsCache {
    fn new(entries: usize) -> DnsCache {
        DnsCache { new: HashMap::new(), old: HashMap::new(), max_half_entries: (entries / 2).max(1) }
    }

    fn get(&mut self, name: &str, now_ms: u64) -> Option<Result<ResolvedHost, Reason>> {
        if let Some((name, entry)) = self.old.remove_entry(name) {
            self.put(name, entry);
        }
        let CacheEntry { outcome, expires_ms } =
            self.new.get(name).filter(|entry| entry.expires_ms > now_ms)?;
        let resolved = |addresses| ResolvedHost { addresses, expires_ms: *expires_ms };
        Some(outcome.clone().map(resolved))
    }

    fn put(&mut self, name: String, entry: CacheEntry) {
        if self.new.len() >= self.max_half_entries && !self.new.contains_key(&name) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(name, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(expires_ms: u64) -> CacheEntry {
        CacheEntry { outcome: Err(Reason::DnsNotFound), expires_ms }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_entries() {
        let mut cache = DnsCache::new(10);
        for number in 0..1000 {
            cache.put(format!("host{number}"), entry(100));
            assert!(cache.get("host0", 50).is_some(), "{number}");
            assert!(cache.new.len() + cache.old.len() <= 10);
        }
        assert!(cache.get("host1", 50).is_none());
        assert!(cache.get("host0", 100).is_none());
    }
}
