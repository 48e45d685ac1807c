//! DNS resolver with a cache, for the configured name servers or those of the system.
//!
//! It returns every address, allowed or not: the network filter is applied when the connection is opened. Name servers that
//! do not respond at all, or fail for every name, are a [`LocalFault`], not a failure of the host, and are not cached.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::{Name, RecordType};
use model::Reason;
use tokio::time::{sleep, timeout};

use crate::address::dns_settings::DnsSettings;
use crate::address::name_server_health::{NameServerHealth, QueryClass, is_healthy};
use crate::error::Error;
use crate::local_fault;
use crate::local_fault::{Failure, LocalFault};

/// Lifetime of results that need no name server: IP addresses and configured hosts.
const STATIC_TTL: Duration = Duration::from_secs(365 * 86_400);
/// Time without any response after which the name servers themselves are checked.
const CHECK_AFTER: Duration = Duration::from_secs(2);
/// Name servers that have resolved a name within this time can resolve names.
const HEALTHY_PERIOD: Duration = Duration::from_secs(60);
/// Public address for a check of the route, if the name servers are those of the system (RFC 5737).
const REFERENCE_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 53);
/// Maximum number of addresses stored per host.
const MAX_ADDRESSES_PER_HOST: usize = 8;

/// Looks up the addresses of hosts. To be used within one Tokio runtime.
pub struct Resolver {
    client: TokioResolver,
    settings: DnsSettings,
    cache: Mutex<DnsCache>,
    health: NameServerHealth,
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
        Ok(Resolver { client, settings, cache, health: NameServerHealth::default() })
    }

    /// Looks up a host as written in a URL: a name, an IPv4 address, or an IPv6 address in brackets. `now_ms` is Unix
    /// time.
    pub async fn resolve(&self, host: &str, now_ms: u64) -> Result<ResolvedHost, Failure> {
        let name = normalize_host(host);
        if let Some(address) = name.parse().ok().or_else(|| self.settings.hosts.get(&name).copied()) {
            return Ok(ResolvedHost { addresses: vec![address], expires_ms: now_ms + millis(STATIC_TTL) });
        }
        if let Some(cached) = self.cache().get(&name, now_ms) {
            return cached.map_err(Failure::Site);
        }
        let (outcome, ttl) = self.query(&name).await.map_err(Failure::Local)?;
        let expires_ms = now_ms + millis(ttl);
        self.cache().put(name, CacheEntry { outcome: outcome.clone(), expires_ms });
        outcome.map(|addresses| ResolvedHost { addresses, expires_ms }).map_err(Failure::Site)
    }

    /// Whether a host is an IP address or has a static address, so that no name server is needed.
    pub fn is_static(&self, host: &str) -> bool {
        let name = normalize_host(host);
        name.parse::<IpAddr>().is_ok() || self.settings.hosts.contains_key(&name)
    }

    /// Whether the name servers respond and can be expected to resolve names, such as `known_host`, which was resolved
    /// before. Takes at most the timeout of a query.
    pub async fn is_healthy(&self, known_host: Option<&str>) -> bool {
        let (mut root, mut known) = (pin!(self.resolves_root()), pin!(self.resolves_known(known_host)));
        tokio::select! {
            is_healthy = &mut root => is_healthy || known.await,
            is_healthy = &mut known => is_healthy || root.await,
        }
    }

    /// Whether the name servers respond to a query for the root. Every recursive name server knows it.
    async fn resolves_root(&self) -> bool {
        let root = self.client.lookup(Name::root(), RecordType::NS);
        timeout(self.settings.timeout, root).await.is_ok_and(|response| {
            self.health.record(QueryClass::of(&response), Instant::now());
            is_healthy(&response)
        })
    }

    /// Whether the name servers still resolve a name that was resolved before. Those of a private network can ignore queries
    /// for the root.
    async fn resolves_known(&self, known_host: Option<&str>) -> bool {
        let Some(name) = known_host.map(normalize_host).or_else(|| self.health.known_name()) else {
            return false;
        };
        let Ok(name) = Name::from_ascii(format!("{name}.")) else { return false };
        timeout(self.settings.timeout, self.client.lookup_ip(name)).await.is_ok_and(|response| {
            self.health.record(QueryClass::of(&response), Instant::now());
            QueryClass::of(&response) == QueryClass::Known
        })
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, DnsCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queries the name servers; the second value is the lifetime of the result.
    async fn query(&self, host: &str) -> Result<(Result<Vec<IpAddr>, Reason>, Duration), LocalFault> {
        let DnsSettings { min_ttl, max_ttl, negative_ttl, .. } = self.settings;
        // The final dot prevents the search domains of the system from being appended. An invalid name cannot exist.
        let Ok(name) = Name::from_ascii(format!("{host}.")) else {
            return Ok((Err(Reason::DnsNotFound), negative_ttl));
        };
        let started = Instant::now();
        let result = tokio::select! {
            biased;
            result = self.look_up(name) => result,
            // All attempts, for both types of addresses, take up to half a minute: a dead server is noticed earlier.
            () = self.silence(started) => return Err(LocalFault::NameServerUnavailable),
        };
        let class = QueryClass::of(&result);
        self.health.record(class, Instant::now());
        match result {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(Instant::now());
                let addresses: Vec<IpAddr> = found.iter().take(MAX_ADDRESSES_PER_HOST).collect();
                if addresses.is_empty() {
                    return Ok((Err(Reason::DnsNotFound), negative_ttl));
                }
                self.health.set_known_name(host);
                Ok((Ok(addresses), ttl.max(min_ttl).min(max_ttl)))
            }
            Err(_) if class == QueryClass::Known => Ok((Err(Reason::DnsNotFound), negative_ttl)),
            Err(_) => match self.local_fault(class, started).await {
                Some(fault) => Err(fault),
                None => Ok((Err(Reason::DnsFailed), negative_ttl)),
            },
        }
    }

    /// Looks up the addresses of a name. A query that could not be sent is repeated: missing descriptors are often free again
    /// at once.
    async fn look_up(&self, name: Name) -> Result<LookupIp, NetError> {
        let result = self.client.lookup_ip(name.clone()).await;
        match QueryClass::of(&result) {
            QueryClass::NotSent if self.socket_fault().is_none() => self.client.lookup_ip(name).await,
            _ => result,
        }
    }

    /// Returns when the name servers have not responded to any query for a while, nor to a check; otherwise never.
    async fn silence(&self, started: Instant) {
        sleep(self.settings.timeout.min(CHECK_AFTER)).await;
        let now = Instant::now();
        if self.health.has_responded_since(recently(started, now))
            || self.is_healthy(None).await
            || self.health.has_responded_since(now)
        {
            std::future::pending::<()>().await;
        }
    }

    /// Local fault that caused the failure of a query started at `started`; `None` if the name itself cannot be resolved.
    async fn local_fault(&self, class: QueryClass, started: Instant) -> Option<LocalFault> {
        let now = Instant::now();
        match class {
            QueryClass::Known => None,
            QueryClass::Failed if self.health.has_succeeded_within(HEALTHY_PERIOD, now) => None,
            QueryClass::Failed => (!self.is_healthy(None).await).then_some(LocalFault::NameServerUnavailable),
            QueryClass::Silent if self.health.has_responded_since(recently(started, now)) => None,
            QueryClass::Silent => {
                let responds = self.is_healthy(None).await || self.health.has_responded_since(now);
                (!responds).then_some(LocalFault::NameServerUnavailable)
            }
            QueryClass::NotSent => match self.socket_fault() {
                Some(fault) => Some(fault),
                None => (!self.is_healthy(None).await).then_some(LocalFault::NameServerUnavailable),
            },
        }
    }

    /// Reason why no query can be sent, if sockets have a fault at this moment.
    fn socket_fault(&self) -> Option<LocalFault> {
        let server = self.settings.name_servers.first().copied().unwrap_or(REFERENCE_ADDRESS);
        local_fault::udp_fault(server)
    }
}

/// Host in lower case, without brackets and final dot.
fn normalize_host(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

/// Time since which a response shows that the name servers work. They can fail at any time during a query, so that responses
/// at its beginning show nothing.
fn recently(started: Instant, now: Instant) -> Instant {
    now - CHECK_AFTER.min(now.saturating_duration_since(started) / 2)
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
    // The library counts the attempts after the first one.
    options.attempts = settings.max_attempts.saturating_sub(1);
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
