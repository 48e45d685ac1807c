//! Selection of the front pages of sites that were never contacted.

use frontier::UrlScorer;
use harvest::settings::clock::seconds;
use harvest::settings::crawl_settings::CrawlSettings;
use model::UrlBatch;
use model::{PageId, SiteId};
use store::{Collection, PageFlags, PageRecord, PageStage, Result};

use super::page_check::check_settings;
use super::site_eligibility::{AllowedPages, SiteEligibility};
use super::site_url::front_page;
use crate::manager::domain_budget::DomainRooms;

/// Selects the front pages of sites that were never contacted, up to `max_pages` and the budgets of their domains. If the front page of a site is rejected, all its
/// pages become eligible.
pub(super) fn front_pages(
    collection: &mut Collection,
    settings: &CrawlSettings,
    eligibilities: &mut [SiteEligibility],
    domains: &mut DomainRooms,
    max_pages: usize,
    now_ms: u64,
) -> Result<Vec<PageId>> {
    let mut urls = UrlBatch::new();
    for (number, eligibility) in eligibilities.iter_mut().enumerate() {
        let site = SiteId(number as u32);
        let is_new = eligibility.allowed == AllowedPages::FrontPageOnly;
        if is_new && urls.len() < max_pages && domains.has_room(site) {
            match front_page(collection.urls.reader(), settings, site) {
                Some(url) if check_settings(settings, &url, 0, PageFlags::default()).is_ok() => {
                    domains.take(site);
                    urls.push(&url);
                }
                _ => eligibility.allowed = AllowedPages::All,
            }
        }
    }
    let url_scorer = UrlScorer::new(&settings.url_patterns);
    let resolved = collection.resolve(&urls, seconds(now_ms), |new| PageRecord {
        url_score: url_scorer.score(urls.url(new.link_index as usize)),
        ..PageRecord::new(new.site, 0, PageFlags::default())
    })?;
    let new: Vec<SiteId> = resolved.new_pages.iter().map(|new| new.site).collect();
    collection.site_state.update(&new, |_, record| {
        record.pages_known += 1;
        record.pages_static += 1;
    })?;
    let mut pages = resolved.pages;
    pages.sort_unstable();
    let records = collection.page_state.reader().get_many(&pages)?;
    let mut due = Vec::with_capacity(pages.len());
    for (page, record) in pages.into_iter().zip(records) {
        match record.stage {
            PageStage::Discovered => due.push(page),
            _ => eligibilities[record.site.index()].allowed = AllowedPages::All,
        }
    }
    Ok(due)
}
