//! Earliest time of the next fetch of a page, and delay between two requests to a site.

use harvest::settings::crawl_settings::{CrawlSettings, DAY_S, RevisitIntervals};
use store::{PageFlags, PageStage, ScanRow, SiteRecord};

/// Earliest time of the next fetch of a page, in Unix seconds. For fetched pages the current settings decide; a page whose sitemap
/// reports a change waits at most a day, and a feed is polled by its change rate. A page whose fetch the user has requested does
/// not wait.
pub fn page_due_s(intervals: &RevisitIntervals, row: &ScanRow) -> u32 {
    if row.flags.has(PageFlags::REFETCH) {
        return 0;
    }
    let reported_stale = row.flags.has(PageFlags::REPORTED_STALE);
    match row.stage {
        PageStage::Fetched if row.flags.has(PageFlags::FEED) => {
            let interval_s = intervals.polls.of_rate_s(row.changes_per_day);
            row.last_visit_s.saturating_add(interval_s.min(intervals.success_s))
        }
        PageStage::Fetched if reported_stale => {
            row.last_visit_s.saturating_add(intervals.success_s.min(DAY_S))
        }
        PageStage::Fetched => row.last_visit_s.saturating_add(intervals.success_s),
        PageStage::Discovered | PageStage::Queued | PageStage::Failed | PageStage::Rejected => {
            row.earliest_visit_s
        }
    }
}

/// Delay between two requests to a site; `override_ms` is the delay that the settings define for this site.
pub fn site_delay_ms(settings: &CrawlSettings, site: &SiteRecord, override_ms: Option<u64>) -> u64 {
    let delay_ms =
        settings.politeness.delay_for_site_ms(site.pages_known, u64::from(site.crawl_delay_ms), override_ms);
    delay_ms.max(u64::from(site.throttle_delay_ms))
}
