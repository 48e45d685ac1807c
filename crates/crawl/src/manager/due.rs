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
