//! Judgement of pages by the number of pages of their site.
//!
//! The pages of a site within its limit are those discovered first, after those that were fetched already.

use std::collections::HashMap;

use harvest::settings::crawl_settings::CrawlSettings;
use model::{PageId, Reason, SiteId};
use store::{PageColumn, PageStage, Result};

use super::Readers;
use super::changes::ChangedReasons;
use super::page_judge::{PageAction, PageChange};

/// Pages of a site that a new limit may concern.
#[derive(Debug, Default)]
struct SitePages {
    /// Number of pages of other stages or reasons, which stay as they are.
    others: u64,
    /// Discovered pages, and pages rejected by the limit.
    judged: Vec<(PageId, bool)>,
}

/// Judges pages by a changed limit.
pub(super) fn judge_pages(
    readers: Readers<'_>,
    settings: &CrawlSettings,
    changed: &ChangedReasons,
) -> Result<Vec<PageChange>> {
    if !changed.contains(Reason::SitePageLimit) {
        return Ok(Vec::new());
    }
    let max_pages = settings.limits.pages_per_site;
    let columns = [PageColumn::Site, PageColumn::StageAndFlags];
    let limit = Some(Reason::SitePageLimit);
    let parts = readers.pages.scan(&columns, |sites: &mut HashMap<SiteId, SitePages>, row| {
        let site = sites.entry(row.site).or_default();
        match (row.stage, row.reason) {
            (PageStage::Rejected, reason) if reason == limit => site.judged.push((row.page, true)),
            (PageStage::Discovered, _) => site.judged.push((row.page, false)),
            _ => site.others += 1,
        }
    })?;
    let mut sites: HashMap<SiteId, SitePages> = HashMap::new();
    for (site, mut pages) in parts.into_iter().flatten() {
        let all = sites.entry(site).or_default();
        all.others += pages.others;
        all.judged.append(&mut pages.judged);
    }
    let mut changes = Vec::new();
    for (site, mut pages) in sites {
        pages.judged.sort_unstable();
        let room = usize::try_from(max_pages.saturating_sub(pages.others)).unwrap_or(usize::MAX);
        for (index, (page, is_rejected)) in pages.judged.into_iter().enumerate() {
            let (action, is_rejection) = match (index < room, is_rejected) {
                (true, true) => (PageAction::Free, false),
                (false, false) => (PageAction::Exclude(Reason::SitePageLimit), true),
                _ => continue,
            };
            changes.push(PageChange {
                page,
                site,
                action,
                effect: Some((is_rejection, Reason::SitePageLimit)),
            });
        }
    }
    Ok(changes)
}
