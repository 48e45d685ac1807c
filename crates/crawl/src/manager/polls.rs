//! Polls of robots.txt and sitemaps: times at which a site is contacted although no page of it is due.
//!
//! Both have clocks of their own, with [intervals](frontier::PollIntervals) that follow their yield. A site that disallowed
//! everything would never be asked again otherwise, and neither would a site whose pages are due once a year.

use harvest::item::robots_policy::RobotsPolicy;
use harvest::item::robots_response::RobotsResponse;
use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use model::SiteId;
use store::SiteRecord;

use super::day_budget::DayBudget;
use super::due::{DueTime, EarliestDue};
use super::site_eligibility::{AllowedPages, SiteEligibility};

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

/// Time of the poll of a site, in Unix milliseconds; `None` if it is not to be contacted.
fn poll_time_ms(eligibility: &SiteEligibility) -> Option<u64> {
    let may_contact = matches!(eligibility.allowed, AllowedPages::All | AllowedPages::RevisitsOnly);
    let due_ms = u64::from(eligibility.next_poll_s.filter(|_| may_contact)?) * 1_000;
    Some(due_ms.max(eligibility.back_off_until_ms))
}

/// Sites that are due for a poll, the longest overdue first, up to `max_sites`.
pub(super) fn due_sites(
    eligibilities: &[SiteEligibility],
    day: &DayBudget,
    now_ms: u64,
    max_sites: usize,
) -> Vec<SiteId> {
    let due = eligibilities.iter().enumerate().filter_map(|(number, eligibility)| {
        let (site, time_ms) = (SiteId(number as u32), poll_time_ms(eligibility)?);
        let is_due = time_ms <= now_ms && !eligibility.open && day.remaining_for_site(site) != Some(0);
        is_due.then_some((time_ms, site))
    });
    let mut due: Vec<(u64, SiteId)> = due.collect();
    due.sort_unstable();
    due.truncate(max_sites);
    due.into_iter().map(|(_, site)| site).collect()
}

/// Earliest poll after `after_ms`.
pub(super) fn next_poll(eligibilities: &[SiteEligibility], after_ms: u64) -> Option<DueTime> {
    let mut earliest = EarliestDue::default();
    for time_ms in eligibilities.iter().filter_map(poll_time_ms) {
        earliest.observe(DueTime { time_ms, by_budget: false }, after_ms);
    }
    EarliestDue::merge([earliest])
}

/// Whether the sitemaps of a site are to be fetched with its next batch.
pub(super) fn are_sitemaps_due(settings: &CrawlSettings, site: &SiteRecord, now_ms: u64) -> bool {
    sitemaps_due_s(settings, site).is_some_and(|due_s| due_s <= seconds(now_ms))
}

#[cfg(test)]
mod tests {
    use harvest::settings::crawl_settings::DAY_S;

    use super::*;

    const NOON_S: u32 = crate::test_collection::NOON_S;

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

    #[test]
    fn blocked_sites_are_not_polled_and_the_longest_overdue_come_first() {
        let due = |next_poll_s, allowed, open, back_off_until_ms| SiteEligibility {
            next_poll_s,
            allowed,
            open,
            back_off_until_ms,
            ..SiteEligibility::default()
        };
        let (all, now_ms) = (AllowedPages::All, u64::from(NOON_S) * 1_000);
        let sites = [
            due(Some(NOON_S), all, false, 0),
            due(Some(NOON_S - 9), AllowedPages::RevisitsOnly, false, 0),
            due(Some(NOON_S + 7), all, false, 0),
            due(Some(0), AllowedPages::None, false, 0),
            due(Some(0), AllowedPages::FrontPageOnly, false, 0),
            due(Some(0), all, true, 0),
            due(Some(0), all, false, now_ms + 5),
            due(None, all, false, 0),
        ];
        let day = DayBudget::default();
        assert_eq!(due_sites(&sites, &day, now_ms, 9), [SiteId(1), SiteId(0)]);
        assert_eq!(due_sites(&sites, &day, now_ms, 1), [SiteId(1)]);
        assert_eq!(next_poll(&sites, now_ms).map(|due| due.time_ms), Some(now_ms + 5));
        assert_eq!(next_poll(&sites, now_ms + 5).map(|due| due.time_ms), Some(now_ms + 7_000));
    }
}
