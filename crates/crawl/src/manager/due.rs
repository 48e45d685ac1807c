//! Due time of pages: their revisit time, the back-off of their site, and the daily request limit.

use harvest::settings::crawl_settings::CrawlSettings;
use store::ScanRow;

use super::day_budget::DayBudget;
use super::site_eligibility::SiteEligibility;
use crate::manager::revisit;

/// Due time of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DueTime {
    /// Unix milliseconds.
    pub(crate) time_ms: u64,
    /// Whether the daily request limit causes the delay.
    pub(crate) by_budget: bool,
}

/// Due time of a page.
pub(super) fn due_time(
    settings: &CrawlSettings,
    eligibility: &SiteEligibility,
    day: &DayBudget,
    row: &ScanRow,
) -> DueTime {
    let time_ms =
        (u64::from(revisit::page_due_s(&settings.revisits, row)) * 1_000).max(eligibility.back_off_until_ms);
    let limit_reached = || {
        day.remaining() == Some(0)
            || day.remaining_for_site(row.site) == Some(0)
            || !day.allows_visit(row.last_visit_s)
    };
    match time_ms < day.end_ms() && limit_reached() {
        true => DueTime { time_ms: day.end_ms(), by_budget: true },
        false => DueTime { time_ms, by_budget: false },
    }
}

/// Earliest due time in the future.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EarliestDue(Option<DueTime>);

impl EarliestDue {
    /// Observes the due time of a page, if it is after `after_ms`.
    pub(super) fn observe(&mut self, due: DueTime, after_ms: u64) {
        if due.time_ms > after_ms && self.0.is_none_or(|earliest| due.time_ms < earliest.time_ms) {
            self.0 = Some(due);
        }
    }

    /// Merges the results of the parts of a scan.
    pub(super) fn merge(parts: impl IntoIterator<Item = EarliestDue>) -> Option<DueTime> {
        parts.into_iter().filter_map(|part| part.0).min_by_key(|due| due.time_ms)
    }
}

#[cfg(test)]
mod tests {
    use store::PageRecord;

    use super::*;
    use crate::state::crawl_state::CrawlState;
    use crate::test_collection::{DAY_MS, MIDNIGHT_MS, NOON_MS, TestCollection};

    #[test]
    fn a_used_daily_budget_postpones_pages_to_midnight_but_no_further() {
        let mut test = TestCollection::contacted(&["http://a.example/"]);
        let settings = CrawlSettings { max_requests_per_day: 1, ..CrawlSettings::default() };
        CrawlState::update(&mut test.collection, |state| state.day_counter.count(NOON_MS, 1)).unwrap();
        let state = CrawlState::load(&test.collection).unwrap();
        let (pages, sites) = (test.collection.page_state.reader(), test.collection.site_state.reader());
        let day = DayBudget::load(&state, pages, sites, &settings, NOON_MS).unwrap();
        let due = |earliest_visit_ms: u64, back_off_until_ms: u64| {
            let earliest_visit_s = harvest::settings::clock::seconds(earliest_visit_ms);
            let record = PageRecord { earliest_visit_s, ..test.page("http://a.example/") };
            let row = ScanRow::from_record(test.page_id("http://a.example/"), &record);
            let eligibility = SiteEligibility { back_off_until_ms, ..SiteEligibility::default() };
            let due = due_time(&settings, &eligibility, &day, &row);
            (due.time_ms, due.by_budget)
        };
        let next_midnight_ms = MIDNIGHT_MS + DAY_MS;
        assert_eq!(due(0, 0), (next_midnight_ms, true));
        assert_eq!(due(NOON_MS, NOON_MS + 1), (next_midnight_ms, true));
        assert_eq!(due(next_midnight_ms + 1_000, 0), (next_midnight_ms + 1_000, false));
        assert_eq!(due(0, next_midnight_ms + 5), (next_midnight_ms + 5, false));
    }

    #[test]
    fn the_earliest_due_time_of_all_parts_ignores_pages_that_are_due_already() {
        let part = |times_ms: &[u64]| {
            let mut earliest = EarliestDue::default();
            for time_ms in times_ms {
                earliest.observe(DueTime { time_ms: *time_ms, by_budget: false }, NOON_MS);
            }
            earliest
        };
        let parts = [part(&[NOON_MS, NOON_MS + 9, NOON_MS + 5]), part(&[]), part(&[NOON_MS + 7])];
        assert_eq!(EarliestDue::merge(parts).map(|due| due.time_ms), Some(NOON_MS + 5));
        assert_eq!(EarliestDue::merge([part(&[NOON_MS - 1])]), None);
    }
}
