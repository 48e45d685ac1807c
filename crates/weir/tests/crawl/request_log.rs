//! Was a crawl polite? Judged by the servers' own log, over all requests that ever came.

use std::collections::{BTreeMap, HashMap, HashSet};

use simweb::{LogEntry, RobotsKind, SimWeb, Site};

/// A request that ended so shortly before a kill may have been unheard of by the crawl.
const UNHEARD_US: u64 = 250_000;
/// The clocks of the log and of the crawl are the same; this is for their rounding.
const TOLERANCE_US: u64 = 1_000;

/// Where a redirected robots.txt is.
const MOVED_ROBOTS: &str = "/about/robots.txt";

/// A complete log and the times at which the crawl was killed, in Unix microseconds.
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

    /// No group of requests has two at once, or one sooner than its wait after the one before.
    pub(crate) fn assert_gaps<K: std::hash::Hash + Eq + std::fmt::Debug>(
        &self,
        key: impl Fn(&LogEntry) -> K,
        wait_ms: impl Fn(&LogEntry) -> u64,
    ) {
        let mut last: HashMap<K, &LogEntry> = HashMap::new();
        for entry in &self.entries {
            if let Some(before) = last.insert(key(entry), entry) {
                let wait_us = wait_ms(before) * 1_000;
                assert!(
                    entry.start_us + TOLERANCE_US >= before.end_us + wait_us,
                    "{:?} was asked {} µs after the end of the last answer instead of {wait_us}: {before:?} and {entry:?}, \
                     kills {:?}",
                    key(entry),
                    entry.start_us as i64 - before.end_us as i64,
                    self.kills_in_log_time(),
                );
            }
        }
    }

    /// robots.txt comes first everywhere, and not a second time but where a kill took the answer away.
    pub(crate) fn assert_robots_first_and_once(&self) {
        let mut asked: BTreeMap<&str, Vec<&LogEntry>> = BTreeMap::new();
        for entry in &self.entries {
            let robots = asked.entry(&entry.host).or_default();
            assert!(!robots.is_empty() || &*entry.path == "/robots.txt", "not robots.txt first: {entry:?}");
            if &*entry.path == "/robots.txt" {
                robots.push(entry);
            }
        }
        for (host, robots) in asked {
            let unknown =
                robots.iter().filter(|entry| self.may_be_unheard(entry) || self.leads_nowhere(entry));
            assert!(robots.len() <= 1 + unknown.count(), "{host} was asked for robots.txt again: {robots:?}");
        }
    }

    /// Whether this is a redirect to a robots.txt that the crawl did not get to ask for before it was interrupted.
    fn leads_nowhere(&self, entry: &LogEntry) -> bool {
        let mut later =
            self.entries.iter().filter(|later| later.host == entry.host && later.start_us > entry.start_us);
        entry.status == 301 && later.next().is_none_or(|next| &*next.path != MOVED_ROBOTS)
    }

    /// Whether the crawl may have been killed before it knew the answer.
    pub(crate) fn may_be_unheard(&self, entry: &LogEntry) -> bool {
        let end_us = entry.wall_us + (entry.end_us - entry.start_us);
        self.kills_us.iter().any(|kill_us| entry.wall_us <= *kill_us && *kill_us <= end_us + UNHEARD_US)
    }

    /// Nothing was asked for that a robots.txt forbids.
    pub(crate) fn assert_nothing_forbidden(&self) {
        let mut judged = HashSet::new();
        for entry in &self.entries {
            if judged.insert((&entry.host, &entry.path)) {
                assert!(self.is_allowed(entry), "forbidden: {entry:?}");
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
            Some(page) => world.page_truth(&site, page.page).allowed,
            // Sitemaps and the like.
            None => {
                site.health.lives()
                    && !matches!(site.robots, RobotsKind::DisallowAll | RobotsKind::ServerError)
            }
        }
    }

    fn kills_in_log_time(&self) -> Vec<u64> {
        let zero_us = self.entries.first().map_or(0, |entry| entry.wall_us - entry.start_us);
        self.kills_us.iter().map(|kill_us| kill_us.saturating_sub(zero_us)).collect()
    }
}
