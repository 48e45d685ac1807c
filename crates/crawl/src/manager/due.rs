//! When may a page be asked for? When its time has come, its site is not left alone, and the requests of the day are not used
//! up.

use store::ScanRow;

use super::day::Day;
use super::standing::Standing;
use crate::crawl_settings::CrawlSettings;

/// When pages are due, and why not sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    /// In Unix milliseconds.
    pub(crate) time_ms: u64,
    /// Whether the requests of the day are used up.
    pub(crate) budget: bool,
}

/// When a page is due.
pub(super) fn due(settings: &CrawlSettings, standing: &Standing, day: &Day, row: &ScanRow) -> Due {
    let time_ms = (u64::from(settings.revisits.due_s(row)) * 1_000).max(standing.back_off_until_ms);
    let waits_for_tomorrow =
        || day.left() == Some(0) || day.left_of(row.site) == Some(0) || !day.admits(row.last_visit_s);
    match time_ms < day.end_ms() && waits_for_tomorrow() {
        true => Due { time_ms: day.end_ms(), budget: true },
        false => Due { time_ms, budget: false },
    }
}

/// The soonest that lies ahead.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Soonest(Option<Due>);

impl Soonest {
    /// Takes a page into account that is due after this time.
    pub(super) fn see(&mut self, due: Due, after_ms: u64) {
        if due.time_ms > after_ms && self.0.is_none_or(|soonest| due.time_ms < soonest.time_ms) {
            self.0 = Some(due);
        }
    }

    /// What all parts of a scan have found.
    pub(super) fn of(parts: impl IntoIterator<Item = Soonest>) -> Option<Due> {
        parts.into_iter().filter_map(|part| part.0).min_by_key(|due| due.time_ms)
    }
}
