//! Times of the polls of a site: when its robots.txt and its sitemaps are fetched again.
//!
//! Both have clocks of their own, with [intervals](frontier::PollIntervals) that follow their yield.

use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use store::SiteRecord;

/// Earliest time at which the sitemaps of a site are fetched, in Unix seconds; `None` if the settings exclude them.
pub fn sitemaps_due_s(settings: &CrawlSettings, site: &SiteRecord) -> Option<u32> {
    let interval_s = settings.revisits.polls.current_s(site.sitemap_interval_s);
    match site.sitemaps_read_s {
        _ if !settings.sitemaps.enabled && !settings.sitemaps.robots_rdf => None,
        0 => Some(0),
        read_s => Some(read_s.saturating_add(interval_s)),
    }
}

/// Earliest time at which the robots.txt of a site is fetched, in Unix seconds; `None` before the first time.
pub fn robots_due_s(settings: &CrawlSettings, site: &SiteRecord) -> Option<u32> {
    // A harvester does not request a file that can still be used.
    let interval_s = settings.revisits.polls.current_s(site.robots_interval_s).max(settings.robots.max_age_s);
    (site.robots_fetched_s != 0).then(|| site.robots_fetched_s.saturating_add(interval_s))
}

/// Time of the next poll of a site, in Unix seconds; `None` for a site that was never contacted. While robots.txt is
/// unreachable, no sitemap is fetched.
pub(super) fn next_poll_s(settings: &CrawlSettings, site: &SiteRecord) -> Option<u32> {
    let robots_s = robots_due_s(settings, site)?;
    let response =
        RobotsResponse { fetched_s: site.robots_fetched_s, status: site.robots_status, text: Vec::new() };
    match RobotsPolicy::from_response(&response, "") {
        RobotsPolicy::Rules(_) => Some(sitemaps_due_s(settings, site).unwrap_or(u32::MAX).min(robots_s)),
        RobotsPolicy::Unreachable => Some(robots_s),
    }
}

/// Whether the sitemaps of a site are to be fetched with its next batch.
pub(super) fn are_sitemaps_due(settings: &CrawlSettings, site: &SiteRecord, now_ms: u64) -> bool {
    sitemaps_due_s(settings, site).is_some_and(|due_s| due_s <= seconds(now_ms))
}

#[cfg(test)]
mod tests {
    use harvest::settings::crawl_settings::DAY_S;

    use super::*;
    use crate::test_collection::NOON_S;

    /// Site whose robots.txt and sitemaps were read at noon, with intervals of polls.
    fn contacted(status: u16, robots_interval_s: u32, sitemap_interval_s: u32) -> SiteRecord {
        let mut site = SiteRecord::new(1);
        (site.robots_fetched_s, site.sitemaps_read_s, site.robots_status) = (NOON_S, NOON_S, status);
        (site.robots_interval_s, site.sitemap_interval_s) = (robots_interval_s, sitemap_interval_s);
        site
    }

    #[test]
    fn the_next_poll_is_that_of_robots_txt_or_of_sitemaps() {
        let settings = CrawlSettings::default();
        let due_days = |site: &SiteRecord| next_poll_s(&settings, site).map(|due_s| (due_s - NOON_S) / DAY_S);
        assert_eq!(due_days(&SiteRecord::new(1)), None, "its first page comes first");
        // Without an estimate, both are polled after a week.
        assert_eq!(due_days(&contacted(200, 0, 0)), Some(7));
        assert_eq!(due_days(&contacted(200, 3 * DAY_S, 0)), Some(3));
        assert_eq!(due_days(&contacted(200, 0, 2 * DAY_S)), Some(2));
        assert_eq!(due_days(&contacted(503, 0, DAY_S)), Some(7));
    }

    #[test]
    fn a_robots_txt_is_not_polled_while_it_can_be_used() {
        let mut settings = CrawlSettings::default();
        settings.revisits.polls.min_s = 60;
        let site = contacted(200, 60, 0);
        assert_eq!(robots_due_s(&settings, &site), Some(NOON_S + DAY_S));
        (settings.sitemaps.enabled, settings.sitemaps.robots_rdf) = (false, false);
        assert_eq!(sitemaps_due_s(&settings, &site), None);
    }
}
