//! Daily limits of page requests, in total and per site, by UTC day.
//!
//! Requests for robots.txt and sitemaps are not counted. The total is counted by the
//! [day counter](crate::state::day_counter) of the committed state; pages in open batches may still become requests, so that they
//! reduce what remains until they are fetched or returned. The requests of a site are counted from its page records by
//! their last fetch, so with a limit per site no page is fetched twice a day.

use std::collections::HashMap;

use harvest::control::budgets::Budgets;
use harvest::settings::crawl_settings::CrawlSettings;
use model::SiteId;
use store::{PageColumn, PageStage, PageStateReader, Result, ScanRow, SiteStateReader};

use crate::state::crawl_state::CrawlState;
use crate::state::day_counter::{DAY_MS, day_number, max_open_pages};

/// Request budget of a day.
#[derive(Debug, Default)]
pub struct DayBudget {
    /// Start of the day, in Unix seconds.
    start_s: u32,
    remaining: Option<usize>,
    /// Pages in open batches; 0 without a limit.
    open_pages: u64,
    per_site: Option<usize>,
    by_site: HashMap<SiteId, usize>,
}

impl DayBudget {
    /// Computes the remaining budget of the day of `now_ms`.
    pub fn load(
        state: &CrawlState,
        pages: &PageStateReader,
        sites: &SiteStateReader,
        settings: &CrawlSettings,
        now_ms: u64,
    ) -> Result<DayBudget> {
        let limit = |max: u32| (max > 0).then_some(max as usize);
        let mut day = DayBudget {
            start_s: harvest::settings::clock::seconds(day_number(now_ms) * DAY_MS),
            remaining: None,
            open_pages: 0,
            per_site: limit(settings.max_requests_per_site_per_day),
            by_site: HashMap::new(),
        };
        if settings.max_requests_per_day > 0 {
            let max_requests = settings.max_requests_per_day;
            let parts = sites.scan(|open: &mut u64, _, site| *open += u64::from(site.pages_queued))?;
            day.open_pages = parts.into_iter().sum();
            let unused = u64::from(max_requests).saturating_sub(state.day_counter.requests(now_ms));
            let remaining = unused.min(max_open_pages(max_requests)).saturating_sub(day.open_pages);
            day.remaining = Some(usize::try_from(remaining).unwrap_or(usize::MAX));
        }
        if day.per_site.is_some() {
            let columns = [PageColumn::Site, PageColumn::StageAndFlags, PageColumn::LastVisit];
            let count = |counts: &mut HashMap<SiteId, usize>, row: &ScanRow| {
                if row.stage == PageStage::Queued || row.last_visit_s >= day.start_s {
                    *counts.entry(row.site).or_default() += 1;
                }
            };
            for (site, count) in pages.scan(&columns, count)?.into_iter().flatten() {
                *day.by_site.entry(site).or_default() += count;
            }
        }
        Ok(day)
    }

    /// Requests that may be added to open batches; `None` is unlimited.
    pub(crate) fn remaining(&self) -> Option<usize> {
        self.remaining
    }

    /// Pages in open batches; 0 without a daily limit.
    pub(crate) fn open_pages(&self) -> u64 {
        self.open_pages
    }

    /// Remaining requests of a site; `None` is unlimited.
    pub fn remaining_for_site(&self, site: SiteId) -> Option<usize> {
        self.per_site.map(|max| max.saturating_sub(self.by_site.get(&site).copied().unwrap_or(0)))
    }

    /// Number of sites at their daily limit.
    pub(crate) fn sites_at_limit(&self) -> u64 {
        let Some(max) = self.per_site else { return 0 };
        self.by_site.values().filter(|requests| **requests >= max).count() as u64
    }

    /// Whether a page that was last fetched at this time may be fetched today.
    pub(super) fn allows_visit(&self, last_visit_s: u32) -> bool {
        self.per_site.is_none() || last_visit_s < self.start_s
    }

    /// End of the day, in Unix milliseconds.
    pub(super) fn end_ms(&self) -> u64 {
        u64::from(self.start_s) * 1_000 + DAY_MS
    }
}

/// Limits of the settings, and their use on the day of `now_ms`.
pub fn daily_budgets(state: &CrawlState, settings: &CrawlSettings, now_ms: u64) -> Budgets {
    let limit = |max: u32| (max > 0).then_some(u64::from(max));
    Budgets {
        requests_today: state.day_counter.requests(now_ms),
        max_requests_per_day: limit(settings.max_requests_per_day),
        day_end_ms: (day_number(now_ms) + 1) * DAY_MS,
        max_requests_per_site_per_day: limit(settings.max_requests_per_site_per_day),
        ..Budgets::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_collection::{MIDNIGHT_MS, NOON_MS, NOON_S, TestCollection};

    #[test]
    fn queued_pages_and_pages_fetched_today_count_against_the_budget_of_their_site() {
        let urls = [1, 2, 3, 4].map(|number| format!("http://a.example/{number}"));
        let mut test = TestCollection::contacted(&urls.each_ref().map(String::as_str));
        let midnight_s = harvest::settings::clock::seconds(MIDNIGHT_MS);
        test.update_page(&urls[0], |page| page.stage = PageStage::Queued);
        test.update_page(&urls[1], |page| (page.stage, page.last_visit_s) = (PageStage::Failed, midnight_s));
        test.update_page(&urls[2], |page| {
            (page.stage, page.last_visit_s) = (PageStage::Fetched, midnight_s - 1);
        });
        let settings = CrawlSettings { max_requests_per_site_per_day: 2, ..CrawlSettings::default() };
        let load = |now_ms| {
            let (pages, sites) = (test.collection.page_state.reader(), test.collection.site_state.reader());
            DayBudget::load(&CrawlState::default(), pages, sites, &settings, now_ms).unwrap()
        };
        let (site, today, tomorrow) =
            (test.site_id("http://a.example"), load(NOON_MS), load(NOON_MS + DAY_MS));
        assert_eq!((today.remaining_for_site(site), today.sites_at_limit()), (Some(0), 1));
        assert_eq!((tomorrow.remaining_for_site(site), tomorrow.sites_at_limit()), (Some(1), 0));
        assert!(!today.allows_visit(NOON_S) && tomorrow.allows_visit(NOON_S));
        assert_eq!(today.remaining(), None);
    }
}
