//! Owners and cooldowns of hosts, by name, so that a fetch of robots.txt for another site also respects the clock of a host
//! that is in no batch or not even in the collection.
//!
//! A host has one owner at a time: the harvester that works on the site, or a fetch of robots.txt for another site. Further
//! requests are passed to the former, or wait for the end of the latter. This module sends nothing and reads no clock.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Owners and cooldowns of hosts; `W` is the type of waiting tasks.
#[derive(Debug)]
pub(crate) struct HostClocks<W> {
    /// Owners of hosts, with the tasks that wait for them.
    owned: HashMap<Box<str>, (HostOwner, Vec<W>)>,
    /// Cooldowns of hosts without an owner, by the hash of the name: there can be millions.
    cooldowns: HashMap<u64, Cooldown>,
    /// Number of cooldowns above which expired ones are removed.
    sweep_above: usize,
}

/// Cooldown of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cooldown {
    pub(crate) until_ms: u64,
    /// Last request by a sender that did not know the delay of the site; 0 if there is none.
    pub(crate) last_request_ms: u64,
}

/// Owner of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostOwner {
    /// Harvester that works on the site.
    Harvester(usize),
    /// Fetch of a robots.txt for another site.
    RobotsFetch,
}

const MIN_SWEEP_SIZE: usize = 1 << 10;

impl<W> HostClocks<W> {
    pub(crate) fn new(cooldowns: impl IntoIterator<Item = (String, u64)>) -> HostClocks<W> {
        let cooldowns = cooldowns.into_iter();
        let cooldowns: HashMap<u64, Cooldown> = cooldowns
            .map(|(name, until_ms)| (hash(&name), Cooldown { until_ms, last_request_ms: 0 }))
            .collect();
        HostClocks { owned: HashMap::new(), sweep_above: MIN_SWEEP_SIZE.max(2 * cooldowns.len()), cooldowns }
    }

    /// Owner of a host.
    pub(crate) fn owner(&self, name: &str) -> Option<HostOwner> {
        self.owned.get(name).map(|(owner, _)| *owner)
    }

    /// Harvester that works on a host, if one does.
    pub(crate) fn harvester(&self, name: &str) -> Option<usize> {
        match self.owner(name) {
            Some(HostOwner::Harvester(harvester)) => Some(harvester),
            Some(HostOwner::RobotsFetch) | None => None,
        }
    }

    /// Queues a task for the release of a host.
    pub(crate) fn enqueue(&mut self, name: &str, task: W) {
        if let Some((_, waiting)) = self.owned.get_mut(name) {
            waiting.push(task);
        }
    }

    /// Claims a host for a fetch of robots.txt; returns its cooldown.
    pub(crate) fn claim_for_robots(&mut self, name: &str) -> Cooldown {
        self.claim(name, HostOwner::RobotsFetch)
    }

    /// Claims a host for a harvester; returns its cooldown.
    pub(crate) fn claim_for_harvester(&mut self, name: &str, harvester: usize) -> Cooldown {
        self.claim(name, HostOwner::Harvester(harvester))
    }

    fn claim(&mut self, name: &str, owner: HostOwner) -> Cooldown {
        self.owned.insert(name.into(), (owner, Vec::new()));
        self.cooldowns.get(&hash(name)).copied().unwrap_or_default()
    }

    /// Releases a host; returns the tasks that have waited for it, in their order.
    pub(crate) fn release(&mut self, name: &str, cooldown: Cooldown, now_ms: u64) -> Vec<W> {
        if self.cooldowns.len() > self.sweep_above {
            // The time of a request is kept longer, because the delay of the site is unknown here.
            let is_recent = |request_ms: u64| request_ms > 0 && request_ms + LAST_REQUEST_TTL_MS > now_ms;
            self.cooldowns
                .retain(|_, cooldown| cooldown.until_ms > now_ms || is_recent(cooldown.last_request_ms));
            self.sweep_above = MIN_SWEEP_SIZE.max(2 * self.cooldowns.len());
        }
        let known = self.cooldowns.entry(hash(name)).or_default();
        known.until_ms = known.until_ms.max(cooldown.until_ms);
        known.last_request_ms = known.last_request_ms.max(cooldown.last_request_ms);
        self.owned.remove(name).map_or(Vec::new(), |(_, waiting)| waiting)
    }
}

/// Time for which the last request to a host is kept.
const LAST_REQUEST_TTL_MS: u64 = 3_600_000;

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_owner_at_a_time() {
        let mut clocks = HostClocks::new([("http://a.example".to_owned(), 70)]);
        let a = "http://a.example";
        assert_eq!(clocks.owner(a), None);
        assert_eq!(clocks.claim_for_robots(a), Cooldown { until_ms: 70, last_request_ms: 0 });
        assert_eq!(clocks.owner(a), Some(HostOwner::RobotsFetch));
        clocks.enqueue(a, 1);
        clocks.enqueue(a, 2);
        assert_eq!(clocks.release(a, Cooldown { until_ms: 90, last_request_ms: 80 }, 80), [1, 2]);
        // Neither time decreases.
        assert!(clocks.release(a, Cooldown { until_ms: 60, last_request_ms: 85 }, 85).is_empty());
        assert_eq!(clocks.claim_for_harvester(a, 5), Cooldown { until_ms: 90, last_request_ms: 85 });
        assert_eq!(clocks.harvester(a), Some(5));
        clocks.release(a, Cooldown::default(), 100);
        assert_eq!(clocks.owner(a), None);
    }

    #[test]
    fn expired_cooldowns_are_removed() {
        let mut clocks: HostClocks<()> = HostClocks::new([]);
        for number in 0..100_000 {
            clocks.release(
                &format!("http://{number}.example"),
                Cooldown { until_ms: number + 100, last_request_ms: 0 },
                number,
            );
        }
        assert!(clocks.cooldowns.len() < 5_000, "{}", clocks.cooldowns.len());
    }
}
