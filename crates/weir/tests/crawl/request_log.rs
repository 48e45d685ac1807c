//! Checks of the politeness of a crawl by the complete request log of the servers.

use std::collections::{BTreeMap, HashMap, HashSet};

use simweb::{LogEntry, RobotsKind, SimWeb, Site};

/// A response that ended within this time before a kill may not have been processed by the crawl.
const UNPROCESSED_US: u64 = 250_000;
/// Tolerance for rounding; log and crawl use the same clock.
const TOLERANCE_US: u64 = 1_000;

/// Path of a redirected robots.txt.
const MOVED_ROBOTS: &str = "/about/robots.txt";

/// Complete request log, and the times of kills in Unix microseconds.
pub(crate) struct Requests<'w> {
    pub(crate) web: &'w SimWeb,
    pub(crate) entries: Vec<LogEntry>,
    pub(crate) kills_us: Vec<u64>,
}

impl<'w> Requests<'w> {
    pub(crate) fn of(web: &'w SimWeb, kills_us: Vec<u64>) -> Requests<'w> {
        assert_eq!(web.log.dropped(), 0);
        Requests { web, entries: web.log.entries(), kills_us }
    }

    /// Checks that each group of requests has one at a time, and at least the delay between two.
    pub(crate) fn assert_gaps<K: std::hash::Hash + Eq + std::fmt::Debug>(
        &self,
        key: impl Fn(&LogEntry) -> K,
        delay_ms: impl Fn(&LogEntry) -> u64,
    ) {
        let mut last: HashMap<K, &LogEntry> = HashMap::new();
        for entry in &self.entries {
            if let Some(before) = last.insert(key(entry), entry) {
                let delay_us = delay_ms(before) * 1_000;
                assert!(
                    entry.start_us + TOLERANCE_US >= before.end_us + delay_us,
                    "{:?}: request {} µs after the end of the last response instead of {delay_us}: {before:?} and {entry:?}, \
                     kills {:?}",
                    key(entry),
                    entry.start_us as i64 - before.end_us as i64,
                    self.kills_in_log_time(),
                );
            }
        }
    }

    /// Checks that robots.txt is the first request of each host, and repeated only after a kill.
    pub(crate) fn assert_robots_first_and_once(&self) {
        let mut requests: BTreeMap<&str, Vec<&LogEntry>> = BTreeMap::new();
        for entry in &self.entries {
            let robots = requests.entry(&entry.host).or_default();
            assert!(
                !robots.is_empty() || &*entry.path == "/robots.txt",
                "the first request is not robots.txt: {entry:?}"
            );
            if &*entry.path == "/robots.txt" {
                robots.push(entry);
            }
        }
        for (host, robots) in requests {
            let unprocessed = robots
                .iter()
                .filter(|entry| self.may_be_unprocessed(entry) || self.is_unfollowed_redirect(entry));
            assert!(robots.len() <= 1 + unprocessed.count(), "repeated robots.txt of {host}: {robots:?}");
        }
    }

    /// Whether this is a redirect to a robots.txt that was not requested before an interruption.
    fn is_unfollowed_redirect(&self, entry: &LogEntry) -> bool {
        let mut later =
            self.entries.iter().filter(|later| later.host == entry.host && later.start_us > entry.start_us);
        entry.status == 301 && later.next().is_none_or(|next| &*next.path != MOVED_ROBOTS)
    }

    /// Whether the crawl may have been killed before it processed the response.
    pub(crate) fn may_be_unprocessed(&self, entry: &LogEntry) -> bool {
        let end_us = entry.unix_us + (entry.end_us - entry.start_us);
        self.kills_us.iter().any(|kill_us| entry.unix_us <= *kill_us && *kill_us <= end_us + UNPROCESSED_US)
    }

    /// Checks that no disallowed path was requested.
    pub(crate) fn assert_nothing_disallowed(&self) {
        let mut checked = HashSet::new();
        for entry in &self.entries {
            if checked.insert((&entry.host, &entry.path)) {
                assert!(self.is_allowed(entry), "disallowed: {entry:?}");
            }
        }
    }

    fn is_allowed(&self, entry: &LogEntry) -> bool {
        let world = &self.web.world;
        let Some(index) = entry.site else { return true };
        let site: Site = world.site(index);
        let moved = site.robots == RobotsKind::Redirected && &*entry.path == MOVED_ROBOTS;
        if &*entry.path == "/robots.txt" || moved {
            return true;
        }
        let scheme = if entry.tls { "https" } else { "http" };
        let port = if entry.tls { world.ports.https } else { world.ports.http };
        let url = format!("{scheme}://{}:{port}{}", entry.host, entry.path);
        match world.page_by_url(&url) {
            Some(page) => world.page_ground_truth(&site, page.page).allowed,
            // Sitemaps and other files.
            None => {
                site.health.responds()
                    && !matches!(site.robots, RobotsKind::DisallowAll | RobotsKind::ServerError)
            }
        }
    }

    fn kills_in_log_time(&self) -> Vec<u64> {
        let zero_us = self.entries.first().map_or(0, |entry| entry.unix_us - entry.start_us);
        self.kills_us.iter().map(|kill_us| kill_us.saturating_sub(zero_us)).collect()
    }
}
