//! Sites that are polled: contacted for robots.txt and sitemaps although no page of them is due.
//!
//! A site that disallowed everything would never be asked again otherwise, and neither would a site whose pages are due once a
//! year.

use model::SiteId;

use super::day_budget::DayBudget;
use super::due::{DueTime, EarliestDue};
use super::site_eligibility::{AllowedPages, SiteEligibility};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::NOON_S;

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
