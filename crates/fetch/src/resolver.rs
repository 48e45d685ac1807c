//! Where is a host? Asked of chosen name servers or the system's, and remembered for a while.
//!
//! It never judges an address: who may be asked is decided where the connection is made.

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

use crate::error::Error;
use crate::settings::DnsSettings;

/// What needs no name server is good for so long; there is nothing to ask again.
const KNOWN_TTL: Duration = Duration::from_secs(365 * 86_400);
/// Addresses kept of one host.
const ADDRESSES_LIMIT: usize = 8;

/// Tells the addresses of hosts. For one runtime.
pub struct Resolver {
    asker: TokioResolver,
    settings: DnsSettings,
    cache: Mutex<Cache>,
}

/// Where a host is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// At least one.
    pub addresses: Vec<IpAddr>,
    /// Until when this may be relied on, in Unix milliseconds.
    pub good_until_ms: u64,
}

impl Resolver {
    /// Asks as the settings say.
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
        let asker = builder.build().map_err(failed)?;
        let cache = Mutex::new(Cache::new(settings.cache_entries));
        let mut settings = settings.clone();
        settings.hosts = settings.hosts.into_iter().map(|(name, address)| (plain(&name), address)).collect();
        Ok(Resolver { asker, settings, cache })
    }

    /// The addresses of a host, as it stands in a URL: a name, an IPv4 address, or an IPv6 address in brackets.
    /// `now_ms` is Unix time.
    pub async fn resolve(&self, host: &str, now_ms: u64) -> Result<Resolved, Reason> {
        let name =
            host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase();
        if let Some(address) = name.parse().ok().or_else(|| self.settings.hosts.get(&name).copied()) {
            return Ok(Resolved { addresses: vec![address], good_until_ms: now_ms + millis(KNOWN_TTL) });
        }
        if let Some(known) = self.cache().get(&name, now_ms) {
            return known;
        }
        let (outcome, ttl) = self.ask(&name).await;
        let good_until_ms = now_ms + millis(ttl);
        self.cache().put(name, Entry { outcome: outcome.clone(), good_until_ms });
        outcome.map(|addresses| Resolved { addresses, good_until_ms })
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses, and for how long they are good.
    async fn ask(&self, name: &str) -> (Result<Vec<IpAddr>, Reason>, Duration) {
        let DnsSettings { least_ttl, most_ttl, failure_ttl, .. } = self.settings;
        // With its last dot no other domain is tried behind a name. What is no name cannot be found.
        let Ok(name) = Name::from_ascii(format!("{name}.")) else {
            return (Err(Reason::NameNotFound), failure_ttl);
        };
        match self.asker.lookup_ip(name).await {
            Ok(found) => {
                let ttl = found.valid_until().saturating_duration_since(Instant::now());
                let addresses: Vec<IpAddr> = found.iter().take(ADDRESSES_LIMIT).collect();
                if addresses.is_empty() {
                    return (Err(Reason::NameNotFound), failure_ttl);
                }
                (Ok(addresses), ttl.max(least_ttl).min(most_ttl))
            }
            Err(error) if error.is_no_records_found() => (Err(Reason::NameNotFound), failure_ttl),
            Err(_) => (Err(Reason::NameServerFailed), failure_ttl),
        }
    }
}

/// One way to write a host.
fn plain(host: &str) -> String {
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
    options.attempts = settings.attempts;
    options.ip_strategy = LookupIpStrategy::Ipv4thenIpv6;
    options.use_hosts_file = if is_system { ResolveHosts::Always } else { ResolveHosts::Never };
    // One server is asked at a time; the others are for when it does not answer.
    options.num_concurrent_reqs = 1;
    // Ours is told the time and has a limit on failures, too.
    options.cache_size = 0;
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

struct Entry {
    outcome: Result<Vec<IpAddr>, Reason>,
    good_until_ms: u64,
}

/// What was asked lately, in two halves: when the new half is full it becomes the old one, whose names are forgotten
/// unless somebody asked for them. So there is a limit, and what is used stays.
struct Cache {
    new: HashMap<String, Entry>,
    old: HashMap<String, Entry>,
    half_entries: usize,
}

impl Cache {
    fn new(entries: usize) -> Cache {
        Cache { new: HashMap::new(), old: HashMap::new(), half_entries: (entries / 2).max(1) }
    }

    fn get(&mut self, name: &str, now_ms: u64) -> Option<Result<Resolved, Reason>> {
        if let Some((name, entry)) = self.old.remove_entry(name) {
            self.put(name, entry);
        }
        let Entry { outcome, good_until_ms } =
            self.new.get(name).filter(|entry| entry.good_until_ms > now_ms)?;
        let resolved = |addresses| Resolved { addresses, good_until_ms: *good_until_ms };
        Some(outcome.clone().map(resolved))
    }

    fn put(&mut self, name: String, entry: Entry) {
        if self.new.len() >= self.half_entries && !self.new.contains_key(&name) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(name, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(good_until_ms: u64) -> Entry {
        Entry { outcome: Err(Reason::NameNotFound), good_until_ms }
    }

    #[test]
    fn the_cache_has_a_limit_and_keeps_what_is_used() {
        let mut cache = Cache::new(10);
        for number in 0..1000 {
            cache.put(format!("host{number}"), entry(100));
            assert!(cache.get("host0", 50).is_some(), "{number}");
            assert!(cache.new.len() + cache.old.len() <= 10);
        }
        assert!(cache.get("host1", 50).is_none());
        assert!(cache.get("host0", 100).is_none());
    }
}
