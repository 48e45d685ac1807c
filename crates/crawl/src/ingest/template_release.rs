//! Admission of rejected pages after the budgets of their URL groups have grown.

use frontier::UrlGroups;
use model::{PageId, Reason, SiteId};
use store::{Collection, PageColumn, PageStage, Result};

use crate::ingest::page_policy::PagePolicy;

/// Admits the rejected pages of grown sites, as far as their groups have room; returns their number. One scan of all pages, and
/// only if a budget has grown.
pub(crate) fn release(collection: &mut Collection, policy: &PagePolicy) -> Result<u64> {
    let grown = policy.templates.borrow_mut().take_grown();
    if grown.is_empty() {
        return Ok(0);
    }
    let columns = [PageColumn::Site, PageColumn::StageAndFlags];
    let parts = collection.page_state.reader().scan(&columns, |pages: &mut Vec<(PageId, SiteId)>, row| {
        let is_waiting = row.stage == PageStage::Rejected && row.reason == Some(Reason::TemplateBudget);
        if is_waiting && grown.contains(&row.site) {
            pages.push((row.page, row.site));
        }
    })?;
    let mut waiting = parts.concat();
    waiting.sort_unstable();
    let pages: Vec<PageId> = waiting.iter().map(|(page, _)| *page).collect();
    let urls = collection.urls.reader().urls(&pages)?;
    let mut templates = policy.templates.borrow_mut();
    let has_room = |((page, site), url): ((PageId, SiteId), Option<String>)| {
        templates.take(site, UrlGroups::of_url(&url?), 0).then_some(page)
    };
    let released: Vec<PageId> = waiting.into_iter().zip(urls).filter_map(has_room).collect();
    collection
        .page_state
        .update(&released, |_, record| (record.stage, record.reason) = (PageStage::Discovered, None))?;
    Ok(released.len() as u64)
}
