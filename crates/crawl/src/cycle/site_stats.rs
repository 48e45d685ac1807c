//! Statistics of the slowest and most failing sites of a run, bounded in memory: of many sites, only candidates for either list
//! are retained.

use std::cmp::Reverse;
use std::collections::HashMap;

use harvest::control::live_status::LiveSite;

/// Statistics of the sites of a run, by name.
#[derive(Debug, Default)]
pub(crate) struct SiteStats {
    sites: HashMap<Box<str>, SiteStat>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SiteStat {
    fetches: u64,
    failures: u64,
    responses: u64,
    response_ms: u64,
    consecutive_errors: u16,
    back_off_until_ms: u64,
}

/// Sort key, name and statistics of a site.
type RankedStat<'t> = (Reverse<u64>, &'t str, &'t SiteStat);

/// Maximum number of sites; beyond it, all but the candidates are evicted.
const MAX_SITES: usize = 4_096;
/// Sites of each list that are retained then.
const RETAINED_SITES: usize = 1_024;

impl SiteStats {
    /// Counts a fetch.
    pub(crate) fn count(&mut self, site: &str, response_ms: Option<u32>, success: bool) {
        self.update(site, |stat| {
            stat.fetches += 1;
            stat.failures += u64::from(!success);
            stat.responses += u64::from(response_ms.is_some());
            stat.response_ms += u64::from(response_ms.unwrap_or(0));
        });
    }

    /// Records the failure state of a finished site.
    pub(crate) fn close(&mut self, site: &str, consecutive_errors: u16, back_off_until_ms: u64) {
        // A site without counted fetches matters only if it fails.
        if consecutive_errors > 0 || self.sites.contains_key(site) {
            self.update(site, |stat| {
                (stat.consecutive_errors, stat.back_off_until_ms) = (consecutive_errors, back_off_until_ms);
            });
        }
    }

    fn update(&mut self, site: &str, change: impl FnOnce(&mut SiteStat)) {
        match self.sites.get_mut(site) {
            Some(stat) => change(stat),
            None => {
                self.evict();
                change(self.sites.entry(site.into()).or_default());
            }
        }
    }

    fn evict(&mut self) {
        if self.sites.len() < MAX_SITES {
            return;
        }
        let mut retained = HashMap::with_capacity(MAX_SITES);
        for (site, stat) in self
            .top(RETAINED_SITES, SiteStat::mean_response_ms)
            .into_iter()
            .chain(self.top(RETAINED_SITES, SiteStat::failing))
        {
            retained.insert(site.into(), *stat);
        }
        self.sites = retained;
    }

    /// Sites with the longest mean response time, slowest first.
    pub(crate) fn slowest(&self, limit: usize) -> Vec<LiveSite> {
        self.top(limit, SiteStat::mean_response_ms).into_iter().map(|(site, stat)| stat.live(site)).collect()
    }

    /// Sites with failures, most failures first.
    pub(crate) fn failing(&self, limit: usize) -> Vec<LiveSite> {
        self.top(limit, SiteStat::failing).into_iter().map(|(site, stat)| stat.live(site)).collect()
    }

    /// Sites with the largest measure, without those at zero.
    fn top(&self, limit: usize, measure: fn(&SiteStat) -> u64) -> Vec<(&str, &SiteStat)> {
        let order = |one: &RankedStat<'_>, other: &RankedStat<'_>| (one.0, one.1).cmp(&(other.0, other.1));
        let mut all: Vec<RankedStat<'_>> = self
            .sites
            .iter()
            .map(|(site, stat)| (Reverse(measure(stat)), site.as_ref(), stat))
            .filter(|(measure, ..)| measure.0 > 0)
            .collect();
        if all.len() > limit {
            all.select_nth_unstable_by(limit, order);
            all.truncate(limit);
        }
        all.sort_unstable_by(order);
        all.into_iter().map(|(_, site, stat)| (site, stat)).collect()
    }
}

impl SiteStat {
    /// Mean response time.
    fn mean_response_ms(&self) -> u64 {
        self.response_ms.checked_div(self.responses).unwrap_or(0)
    }

    /// Number of failures; a site whose robots.txt already failed has no page fetches but counts as well.
    fn failing(&self) -> u64 {
        self.failures.max(u64::from(self.consecutive_errors))
    }

    fn live(&self, site: &str) -> LiveSite {
        LiveSite {
            site: site.to_owned(),
            fetches: self.fetches,
            failed_fetches: self.failures,
            mean_duration_ms: self.response_ms.checked_div(self.responses),
            consecutive_failures: self.consecutive_errors,
            back_off_until_ms: Some(self.back_off_until_ms).filter(|until_ms| *until_ms > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sites: &[LiveSite]) -> Vec<&str> {
        sites.iter().map(|site| site.site.as_str()).collect()
    }

    #[test]
    fn sites_are_listed_by_mean_response_time_and_by_failures() {
        let mut stats = SiteStats::default();
        for (site, ms, success) in [("a", 10, true), ("b", 500, true), ("b", 300, false), ("c", 50, false)] {
            stats.count(site, Some(ms), success);
        }
        stats.count("c", None, false);
        stats.close("d", 3, 99);
        stats.close("e", 0, 0);
        assert_eq!(names(&stats.slowest(9)), ["b", "c", "a"]);
        assert_eq!(names(&stats.failing(9)), ["d", "c", "b"]);
        assert_eq!(names(&stats.slowest(1)), ["b"]);
        let slowest = &stats.slowest(1)[0];
        assert_eq!((slowest.fetches, slowest.failed_fetches, slowest.mean_duration_ms), (2, 1, Some(400)));
        assert_eq!(stats.failing(1)[0].back_off_until_ms, Some(99));
        stats.close("d", 0, 0);
        assert_eq!(names(&stats.failing(9)), ["c", "b"]);
    }

    #[test]
    fn eviction_retains_the_slowest_and_most_failing_sites() {
        let mut stats = SiteStats::default();
        for number in 0..100_000u32 {
            stats.count(&format!("site {number}"), Some(1), true);
            if number % 10_000 == 7 {
                (0..5).for_each(|_| stats.count("slow", Some(9_000), true));
                (0..5).for_each(|_| stats.count("bad", Some(1), false));
            }
        }
        assert!(stats.sites.len() <= MAX_SITES);
        assert_eq!(names(&stats.slowest(1)), ["slow"]);
        assert_eq!(names(&stats.failing(9)), ["bad"]);
        assert_eq!(stats.failing(1)[0].fetches, 50, "its counts are complete");
    }
}
